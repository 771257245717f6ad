//! The tail's memory, opened anew.
//!
//! The order at start, which holds against a crash at any step: what the run before left is written
//! to the files and synced (`startup::OldTails`); then the old memory is given up, or kept to be
//! formatted anew in its place; then the log directories are told where the tail is from now on.
//! Until it is given up the old memory stays as it is, and writing it to the files once more is
//! harmless.
//!
//! Most of the time of a start goes into pages for a large tail, so all but the first of them come
//! while the broker serves already.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use aplomb_broker::config::StorageConfig;
use aplomb_broker::startup::{RecordError, Room, TailRecord};
use aplomb_disk::memory::{FileState, MappedFile, MemoryError};
use aplomb_log::tail::{
    Arena, ArenaMemory, DEFAULT_CHUNK_SIZE, GeometryError, Reserve, TailShare, open_shares, renew_shares,
};
use aplomb_server::log::Log;

use super::directories::LogDirectories;
use super::tail_files::{OldTailError, Tmpfs, arena_memory};

/// The value of `aplomb.tail.dir` for memory without a file. It does not survive the process.
const WITHOUT_FILE: &str = "memory";

/// Where the tail's file is to be; `None` without one.
pub(super) fn directory(storage: &StorageConfig) -> Option<&Path> {
    (storage.tail_dir != WITHOUT_FILE).then(|| Path::new(&storage.tail_dir))
}

/// So many bytes of a new tail are there before the broker serves.
const READY_BYTES: usize = 16 << 20;

/// A tail that cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TailError {
    #[error("aplomb.tail.dir: {0}")]
    Memory(#[from] MemoryError),
    #[error("aplomb.tail.bytes={bytes}: {error}")]
    Geometry { bytes: u64, error: GeometryError },
    #[error("log directory {}: {error}", directory.display())]
    Record { directory: PathBuf, error: RecordError },
    #[error(transparent)]
    Old(#[from] OldTailError),
    #[error("aplomb.tail.bytes={bytes}: no memory for it: {error}")]
    Pages { bytes: u64, error: io::Error },
    #[error("no thread for the tail's memory: {0}")]
    Thread(io::Error),
}

/// The tail of this run.
pub(super) struct Tail {
    /// Each log directory's share, in the order of the directories.
    pub(super) shares: Vec<Arc<TailShare>>,
    /// Its memory.
    mapped: Mutex<Arc<MappedFile>>,
    /// Its file; `None` without one.
    pub(super) path: Option<PathBuf>,
}

impl Tail {
    /// Opens it, and tells the log directories where it is.
    pub(super) fn open(
        room: Room<Arc<MappedFile>>,
        directories: &LogDirectories,
        storage: &StorageConfig,
        log: &Log,
    ) -> Result<Self, TailError> {
        let Room { place, memory } = room;
        let wanted = storage.tail_bytes.0;
        let (mapped, memory, generation) = match (memory, &place) {
            (Some(memory), _) => memory,
            (None, Some(path)) => fresh(MappedFile::open(path, wanted)?),
            (None, None) => fresh(MappedFile::anonymous(wanted)?),
        };
        let name = place.as_ref().map_or(WITHOUT_FILE.to_owned(), |path| path.display().to_string());
        log.info("wiring/tail", format!("the tail has {} bytes in {name}", memory.size()));
        // Before the first store, which would bring them one at a time.
        let ready = READY_BYTES.min(mapped.len());
        let not_locked =
            mapped.fault_in(0..ready).map_err(|error| TailError::Pages { bytes: wanted, error })?;
        if let Some(why) = &not_locked {
            warn_of_swapping(why, log);
        }
        let shares = open_shares(memory, DEFAULT_CHUNK_SIZE, &directories.ids(), generation + 1, None)
            .map_err(|error| TailError::Geometry { bytes: wanted, error })?;
        for (directory, share) in directories.directories.iter().zip(&shares) {
            let (path, disk) = (&directory.path, &*directory.disk);
            let told = match &place {
                Some(place) => TailRecord::name(share, path, disk, place, &Tmpfs),
                None => TailRecord::remove(disk).map_err(RecordError::from),
            };
            told.map_err(|error| TailError::Record { directory: path.clone(), error })?;
        }
        let reserve = Reserve::all_but(ready, &shares);
        let pages = Arc::clone(&mapped);
        fault_in_the_rest(pages, reserve, not_locked.is_some(), log.clone()).map_err(TailError::Thread)?;
        Ok(Self { shares, mapped: Mutex::new(mapped), path: place })
    }

    /// Its memory.
    pub(super) fn mapped(&self) -> Arc<MappedFile> {
        self.mapped.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Goes on in a new file of the same name, when the file has lost its own. Gives the arena
    /// before, which is to be dropped here: taking its pages away is some work.
    pub(super) fn renew(&self, path: &Path) -> Result<Arc<Arena>, MemoryError> {
        let (mapped, memory, _) = fresh(MappedFile::open(path, self.mapped().len() as u64)?);
        let pages = mapped.fault_in(0..mapped.len());
        pages.map_err(|source| MemoryError::Io { what: format!("memory for {}", path.display()), source })?;
        let before = renew_shares(&self.shares, memory, None);
        *self.mapped.lock().unwrap_or_else(PoisonError::into_inner) = mapped;
        Ok(before)
    }

    /// The process has stopped: log directories that have all of their records in their files
    /// forget the tail. Its file goes, unless it is `needed` for others, which are lost.
    pub(super) fn close(&self, directories: &LogDirectories, needed: bool) {
        let mapped = self.mapped();
        if !needed && matches!(mapped.state(), Ok(FileState::Whole)) {
            // What is left is written back once more, which is harmless.
            let _ = mapped.unlink();
        }
        for (directory, share) in directories.directories.iter().zip(&self.shares) {
            if !needed || share.stats().waiting == 0 {
                // What is left is looked for in vain, or is written back once more.
                let _ = TailRecord::remove(&*directory.disk);
            }
        }
    }
}

/// Brings the pages of the reserve, chunk by chunk, on a thread of its own, which ends with the
/// last one.
fn fault_in_the_rest(
    mapped: Arc<MappedFile>,
    mut reserve: Reserve,
    mut warned: bool,
    log: Log,
) -> io::Result<()> {
    let work = move || {
        while let Some(range) = reserve.next() {
            match mapped.fault_in(range.clone()) {
                Err(error) => {
                    let text = format!(
                        "the tail stays smaller than it was to be: no memory for bytes {range:?}: {error}"
                    );
                    return log.error("wiring/tail", text);
                }
                Ok(Some(why)) if !warned => {
                    warn_of_swapping(&why, &log);
                    warned = true;
                }
                Ok(_) => {}
            }
            reserve.release();
        }
    };
    std::thread::Builder::new().name("aplomb-tail".to_owned()).spawn(work).map(drop)
}

fn warn_of_swapping(why: &str, log: &Log) {
    let text = format!("the tail's memory may be swapped out, and a request may wait for that: {why}");
    log.warn("wiring/tail", text);
}

fn fresh(mapped: MappedFile) -> (Arc<MappedFile>, ArenaMemory, u64) {
    let mapped = Arc::new(mapped);
    let memory = arena_memory(&mapped);
    (mapped, memory, 0)
}
