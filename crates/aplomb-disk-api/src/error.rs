//! Why a command was not carried out.

use std::sync::Arc;

/// A command that was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiskError {
    /// A named thing is not there. The disk itself is well.
    #[error("{name} does not exist")]
    NotFound {
        /// The file or directory.
        name: Arc<str>,
    },
    /// The disk could not do it: an I/O error, a full disk, a read-only file system. The disk
    /// counts as lost from then on.
    #[error("{what} failed: {reason}")]
    Failed {
        /// The operation and the file.
        what: Arc<str>,
        /// The operating system's words.
        reason: Arc<str>,
    },
    /// The disk was lost before this command's turn came, and nothing was done; or before a job's
    /// last step, or it was stopped then.
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
