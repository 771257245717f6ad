//! Why something could not be done with a disk.

use std::io;
use std::path::PathBuf;

/// Why something could not be done with a disk.
#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    /// Mounting is for root, and so is everything here.
    #[error("a slow disk needs root: it is a filesystem that is mounted, on a loop device")]
    NotRoot,
    /// The kernel has no FUSE, or this container is not given it.
    #[error("a slow disk needs /dev/fuse: {0}")]
    NoFuse(io::Error),
    /// The name is not one.
    #[error("{0:?} cannot be a disk's name: letters, digits, - and _ are expected, at most 40")]
    Name(String),
    /// There is one of this name.
    #[error("there is a disk {0} already")]
    Exists(String),
    /// There is none of this name.
    #[error("there is no disk {0}")]
    Unknown(String),
    /// The daemon is gone, and the disk with it.
    #[error("the daemon of disk {0} is gone: it was killed, or has just been told to end")]
    Gone(String),
    /// Nothing can be mounted there.
    #[error("nothing can be mounted at {}: {why}", path.display())]
    MountPoint {
        /// The file or directory.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// Its bytes are to be in memory, and there is less of it.
    #[error(
        "a disk of {size} MiB in memory needs a machine with more than {memory} MiB; its bytes can be in a directory too"
    )]
    TooLarge {
        /// Of the disk, in MiB.
        size: u64,
        /// Of the machine, in MiB.
        memory: u64,
    },
    /// The daemon says why it could not do it.
    #[error("{0}")]
    Refused(String),
    /// Its room cannot be taken.
    #[error("the filesystem cannot be filled: {0}")]
    NotFilled(String),
    /// The disk cannot be taken away.
    #[error("what disk {name} has left cannot be cleared: {why}")]
    Stuck {
        /// The disk that does not run.
        name: String,
        /// Why not.
        why: String,
    },
    /// A file of the disk's, or one on it.
    #[error("{doing}: {why}")]
    Io {
        /// What was tried.
        doing: &'static str,
        /// What came of it.
        why: io::Error,
    },
}

/// For an error of the system's: what was tried when it came.
pub(super) fn io_error(doing: &'static str) -> impl Fn(io::Error) -> DiskError {
    move |why| DiskError::Io { doing, why }
}
