//! What the operating system said.

use std::io;
use std::path::PathBuf;

use rustix::io::Errno;

/// An engine that could not be started.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The log directory cannot be opened.
    #[error("{} cannot be opened: {source}", path.display())]
    Directory {
        /// The log directory's path.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// io_uring was asked for and is not to be had.
    #[error("io_uring is not available: {source}")]
    IoUring {
        /// What the operating system said.
        source: io::Error,
    },
    /// A thread could not be started.
    #[error("a disk thread cannot be started: {source}")]
    Thread {
        /// What the operating system said.
        source: io::Error,
    },
}

/// Whether the error says that there is no such file: it is missing, or something on its way is not
/// a directory.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Whether the process or the machine has run out of something that others may give back:
/// descriptors, memory.
pub(crate) fn is_shortage(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM))
}

/// Repeats a system call that a signal interrupted.
pub(crate) fn uninterrupted<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            other => return other.map_err(io::Error::from),
        }
    }
}
