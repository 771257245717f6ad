//! How commands end.

use std::sync::Arc;

use bytes::Bytes;

use crate::DiskIndex;

/// Names a submitted command to whoever submitted it. Unique per queue handle; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// A command's end. Every accepted command gets exactly one, even when its disk is lost.
#[derive(Clone, Debug)]
pub struct Completion {
    /// The disk that was asked.
    pub disk: DiskIndex,
    /// What `try_submit` gave.
    pub ticket: Ticket,
    /// What came of it.
    pub result: Result<Done, DiskError>,
}

/// A command that was carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// Write, sync, publish, truncate, rename or delete: it is as asked.
    Done,
    /// The bytes that were there.
    Read(Bytes),
    /// The file system's size and what is free of it for us, in bytes.
    Space {
        /// Size.
        total: u64,
        /// Free to use.
        usable: u64,
    },
}

/// A command that was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiskError {
    /// A named thing is not there. The disk itself is well.
    #[error("{name} does not exist")]
    NotFound {
        /// The file or directory.
        name: Arc<str>,
    },
    /// The disk could not do it: an I/O error, a full disk, a read-only file system. The disk counts as lost from then on.
    #[error("{what} failed: {reason}")]
    Failed {
        /// The operation and the file.
        what: Arc<str>,
        /// The operating system's words.
        reason: Arc<str>,
    },
    /// The disk was lost before this command's turn came; nothing was done.
    #[error("the log directory is offline")]
    Offline,
}

impl DiskError {
    /// Whether the disk is gone with this error.
    #[must_use]
    pub fn is_loss(&self) -> bool {
        !matches!(self, Self::NotFound { .. })
    }
}
