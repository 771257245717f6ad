//! The lock on a log directory: `.lock`, as Apache Kafka takes it, so that it and we exclude each
//! other.
//!
//! Java's `FileChannel.tryLock` is `fcntl(F_SETLK)` with a write lock over the whole file. Ours is
//! an open-file-description lock, which the kernel holds against those of other processes and
//! against our own second attempt, and which no other descriptor's close can undo.
#![expect(unsafe_code, reason = "open-file-description locks have no safe wrapper")]

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::errors::uninterrupted;

/// The lock file's name in a log directory.
pub const LOCK_FILE: &str = ".lock";

/// A lock that could not be had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another broker, ours or Apache Kafka, holds it.
    #[error("{} is already in use by another broker", path.display())]
    InUse {
        /// The log directory.
        path: PathBuf,
    },
    /// The file cannot be opened or locked.
    #[error("{} cannot be locked: {source}", path.display())]
    Io {
        /// The log directory.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

/// A log directory that is ours until this is dropped or the process ends.
#[derive(Debug)]
pub struct DirectoryLock {
    _file: OwnedFd,
}

impl DirectoryLock {
    /// Takes the lock, or fails at once. The file stays when the lock is given up, as Apache Kafka
    /// leaves it.
    ///
    /// # Errors
    /// [`LockError::InUse`] if another broker has it.
    pub fn acquire(directory: &Path) -> Result<Self, LockError> {
        let failed = |source| LockError::Io { path: directory.to_owned(), source };
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o644);
        let file =
            uninterrupted(|| rustix::fs::open(directory.join(LOCK_FILE), flags, mode)).map_err(failed)?;
        match lock_exclusively(&file) {
            Ok(true) => Ok(Self { _file: file }),
            Ok(false) => Err(LockError::InUse { path: directory.to_owned() }),
            Err(source) => Err(failed(source)),
        }
    }
}

/// Locks a whole file against all other descriptors, without waiting. False if one of them has it.
pub(crate) fn lock_exclusively(file: impl AsFd) -> io::Result<bool> {
    let whole = libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0, // to the end, wherever that is
        l_pid: 0, // required by this kind of lock
    };
    // SAFETY: the descriptor is open and the structure is whole; the kernel only reads it.
    let result = unsafe { libc::fcntl(file.as_fd().as_raw_fd(), libc::F_OFD_SETLK, &raw const whole) };
    if result == 0 {
        return Ok(true);
    }
    match io::Error::last_os_error() {
        error if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(false),
        error => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_locked_once_and_free_again_after_the_drop() {
        let directory = tempfile::tempdir().expect("a directory for the test");
        let lock = DirectoryLock::acquire(directory.path()).expect("nobody has it");
        let second = DirectoryLock::acquire(directory.path());
        assert!(matches!(second, Err(LockError::InUse { .. })), "{second:?}");
        drop(lock);
        DirectoryLock::acquire(directory.path()).expect("it was given up");
    }

    #[test]
    fn a_directory_that_is_not_there_is_an_error_with_its_name() {
        let error = DirectoryLock::acquire(Path::new("/nowhere/at-all")).expect_err("it is not there");
        assert!(error.to_string().contains("/nowhere/at-all"), "{error}");
    }
}
