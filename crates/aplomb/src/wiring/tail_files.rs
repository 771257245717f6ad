//! The tails' files on tmpfs, and log directories as the file system knows them: what start-up asks
//! for to find the tails of runs before ([`aplomb_broker::startup::OldTails`]).
#![expect(unsafe_code, reason = "mapped memory becomes an arena's here")]

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use aplomb_broker::ports::{Event, Severity};
use aplomb_broker::startup::{DirectoryHome, TailFiles};
use aplomb_disk::memory::{MappedFile, MemoryError};
use aplomb_log::tail::{ArenaMemory, DEFAULT_CHUNK_SIZE};
use aplomb_server::log::Log;

use super::directories::patiently;

/// The tails of runs before.
pub(super) type OldTails = aplomb_broker::startup::OldTails<Tmpfs>;

/// Why they cannot be dealt with.
pub(crate) type OldTailError = aplomb_broker::startup::OldTailError<MemoryError>;

/// The files of this machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tmpfs;

impl TailFiles for Tmpfs {
    type File = Arc<MappedFile>;
    type Failure = MemoryError;

    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }

    /// The file keeps its own length.
    fn open(&self, path: &Path) -> Result<(Arc<MappedFile>, ArenaMemory), MemoryError> {
        let mapped = patiently(|| MappedFile::open(path, DEFAULT_CHUNK_SIZE.into()), Self::is_in_use)?;
        let mapped = Arc::new(mapped);
        let memory = arena_memory(&mapped);
        Ok((mapped, memory))
    }

    fn is_in_use(failure: &MemoryError) -> bool {
        matches!(failure, MemoryError::InUse { .. })
    }

    fn remove(&self, file: &Arc<MappedFile>) -> Result<(), MemoryError> {
        file.unlink()
    }

    fn boot(&self) -> Option<String> {
        let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        Some(id.trim().to_owned())
    }

    fn home(&self, directory: &Path) -> io::Result<DirectoryHome> {
        let path = std::fs::canonicalize(directory)?;
        let found = std::fs::metadata(&path)?;
        let born = found.created().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let born = born.map_or(0, |age| u64::try_from(age.as_nanos()).unwrap_or(0));
        Ok(DirectoryHome { path, inode: found.ino(), born })
    }

    fn place(&self, directory: &Path) -> io::Result<(u64, u64)> {
        let found = std::fs::metadata(directory)?;
        Ok((found.dev(), found.ino()))
    }
}

pub(super) fn arena_memory(mapped: &Arc<MappedFile>) -> ArenaMemory {
    let keep = Box::new(Arc::clone(mapped));
    // SAFETY: the mapping is readable, writable and filled with bytes, stays until `keep` is
    // dropped, and nothing else in this process touches it: `MappedFile` gives out its address and
    // never follows it.
    unsafe { ArenaMemory::from_raw(mapped.as_ptr(), mapped.len(), keep) }
}

/// Puts what start-up has to say of tails into the log.
pub(super) fn tell(log: &Log) -> impl FnMut(Severity, String) + '_ {
    |severity, text| log.event(aplomb_server::clock::wall(), Event { severity, room: "wiring/tail", text })
}

#[cfg(test)]
mod tests;
