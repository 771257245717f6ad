//! Why a command was not carried out.

use std::sync::Arc;

/// A command that was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiskError {
    /// A named thing is not there. Whether it should be is the owner's to know; for all that the
    /// disk can tell, it is well.
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
    /// The process has no descriptor left, or the machine no memory. That is no fault of the disk:
    /// asked again later, it can do it. Nothing was done, or nothing that cannot be done again.
    #[error("{what} failed for now: {reason}")]
    Shortage {
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
        match self {
            Self::Failed { .. } | Self::Offline => true,
            Self::NotFound { .. } | Self::Shortage { .. } => false,
        }
    }
}
