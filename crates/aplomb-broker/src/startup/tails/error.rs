//! Why old tails cannot be dealt with.

use std::error::Error;
use std::io;

use aplomb_log::recovery::forget::ForgetError;
use aplomb_log::recovery::restore::RestoreError;
use aplomb_log::tail::UnreadableReason;

use super::record::RecordError;

/// Old tails that cannot be dealt with. They are as they were.
#[derive(Debug, thiserror::Error)]
pub enum OldTailError<E: Error + 'static> {
    /// A tail's file cannot be opened or removed.
    #[error("aplomb.tail.dir: {0}")]
    File(#[source] E),
    /// What a log directory says of its tail.
    #[error("log directory {directory}: {error}")]
    Record {
        /// The log directory.
        directory: String,
        /// What is wrong with it.
        error: RecordError,
    },
    /// A log directory.
    #[error("log directory {directory} cannot be looked at: {error}")]
    Look {
        /// The log directory.
        directory: String,
        /// What the system says.
        error: io::Error,
    },
    /// There may be something in it.
    #[error(
        "{path} may hold acknowledged records and cannot be read back: {reason}; to give them up, delete it"
    )]
    Unreadable {
        /// The tail.
        path: String,
        /// What is wrong with it.
        reason: UnreadableReason,
    },
    /// The files do not have it.
    #[error("{path} cannot be written to log directory {directory}: {error}")]
    Restore {
        /// The tail.
        path: String,
        /// The log directory.
        directory: String,
        /// What stood in the way.
        error: RestoreError,
    },
    /// It cannot be given up.
    #[error("{path} holds {bytes} bytes of log directories that are not there")]
    Left {
        /// The tail.
        path: String,
        /// Bytes that are nowhere else.
        bytes: u64,
    },
    /// Its records would be taken for those of deleted topics.
    #[error(
        "{path} holds {bytes} bytes of topics, and {home} has no metadata log that knows them: name the directory that has it in metadata.log.dir, or first in log.dirs; to give the records up, delete the file"
    )]
    WithoutMetadata {
        /// The tail.
        path: String,
        /// Bytes that are nowhere else.
        bytes: u64,
        /// Where the metadata log should be.
        home: String,
    },
}

impl<E: Error + 'static> OldTailError<E> {
    /// Whether a log directory's disk failed.
    #[must_use]
    pub fn is_of_the_disk(&self) -> bool {
        match self {
            Self::Restore { error, .. } => {
                matches!(error, RestoreError::Disk(_) | RestoreError::Checkpoint(ForgetError::Disk(_)))
            }
            Self::Record { error, .. } => matches!(error, RecordError::Disk(_)),
            Self::File(_)
            | Self::Look { .. }
            | Self::Unreadable { .. }
            | Self::Left { .. }
            | Self::WithoutMetadata { .. } => false,
        }
    }
}
