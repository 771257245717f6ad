//! How bytes get onto a disk: one trait, two engines.
//!
//! [`threads`] uses plain system calls, [`uring`] keeps many in flight through io_uring, and
//! [`adaptive`] uses the one or the other. All carry out a [`FileRun`], the neighbouring writes of
//! one file, as few vectored writes as the kernel allows, in order; [`cursor`] cuts them.

mod adaptive;
mod cursor;
#[cfg(test)]
mod placed;
mod threads;
mod uring;

use std::io;
use std::sync::Arc;

use bytes::Bytes;

use crate::errors::EngineError;
use crate::open_file::OpenFile;
pub(crate) use cursor::Cursor;

/// How bytes get onto the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineKind {
    /// io_uring for all that waits for the device, if the kernel has it and allows it, and plain
    /// calls for the rest.
    #[default]
    Auto,
    /// io_uring for all, or an error.
    IoUring,
    /// Plain calls for all.
    Threads,
}

/// Writes of one file in the order of their submission.
pub(crate) struct FileRun<W> {
    pub(crate) file: Arc<OpenFile>,
    pub(crate) writes: Vec<W>,
}

/// Bytes and their place.
pub(crate) trait Write: Send {
    /// Where the first byte goes.
    fn at(&self) -> u64;

    /// The bytes, in order.
    fn data(&self) -> &[Bytes];
}

/// How a run ended.
pub(crate) enum RunEnd {
    /// All bytes are where they belong.
    Done,
    /// Some may be.
    Failed(io::Error),
    /// It was not begun, because another one failed.
    Skipped,
}

/// A way to sync.
pub(crate) trait Syncs: Send {
    /// Makes the content of all these files durable. When it returns, nothing is under way any
    /// more, also after an error.
    fn sync(&mut self, files: &[Arc<OpenFile>]) -> Result<(), SyncFailed>;
}

/// A way to write and to sync.
pub(crate) trait Backend<W>: Syncs {
    /// Carries out the runs, perhaps several at once, and reports each as soon as it ends. Once one
    /// has failed, no other is begun.
    fn write(&mut self, runs: Vec<FileRun<W>>, ended: &mut dyn FnMut(FileRun<W>, RunEnd));
}

/// A sync that failed, and of which file.
#[derive(Debug)]
pub(crate) struct SyncFailed {
    pub(crate) file: Arc<OpenFile>,
    pub(crate) error: io::Error,
}

/// Which engine to use: what was asked for, or what the kernel allows of it.
pub(crate) fn choose(kind: EngineKind) -> Result<EngineKind, EngineError> {
    match kind {
        EngineKind::Threads => Ok(EngineKind::Threads),
        EngineKind::IoUring => match uring::probe() {
            Ok(()) => Ok(EngineKind::IoUring),
            Err(source) => Err(EngineError::IoUring { source }),
        },
        EngineKind::Auto => Ok(if uring::probe().is_ok() { EngineKind::Auto } else { EngineKind::Threads }),
    }
}

/// Syncs at start-up.
pub(crate) fn plain_syncs() -> Box<dyn Syncs> {
    Box::new(threads::Threads::default())
}

/// A backend of a kind that [`choose`] gave. Each disk thread has its own.
pub(crate) fn backend<W: Write + 'static>(kind: EngineKind) -> Result<Box<dyn Backend<W>>, EngineError> {
    let ring = || uring::Uring::new().map_err(|source| EngineError::IoUring { source });
    Ok(match kind {
        EngineKind::Auto => Box::new(adaptive::Adaptive::new(ring()?)),
        EngineKind::IoUring => Box::new(ring()?),
        EngineKind::Threads => Box::new(threads::Threads::default()),
    })
}
