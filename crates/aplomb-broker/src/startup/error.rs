//! Why a broker does not start.

use aplomb_disk_api::{DiskError, FileName};
use aplomb_log::layout::NotAPartition;
use aplomb_log::recovery::LoadError;
use aplomb_model::Offset;

/// Why a broker does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A disk.
    #[error("{path}: {error}")]
    Disk {
        /// The log directory.
        path: String,
        /// Its error.
        error: DiskError,
    },
    /// A file that says what cannot be.
    #[error("{path}/{file}: {reason}")]
    File {
        /// The log directory.
        path: String,
        /// The file.
        file: FileName,
        /// What is wrong with it.
        reason: String,
    },
    /// A directory of which nobody knows what it is.
    #[error("{path}: {error}")]
    Directory {
        /// The log directory.
        path: String,
        /// What is wrong.
        error: NotAPartition,
    },
    /// A partition's log.
    #[error("{path}: {error}")]
    Log {
        /// The log directory.
        path: String,
        /// What is wrong.
        error: LoadError,
    },
    /// The metadata log has lost something.
    #[error("the metadata log in {path} is damaged: {damage}")]
    Damaged {
        /// Its directory.
        path: String,
        /// How.
        damage: Damage,
    },
    /// The metadata log.
    #[error("the metadata log cannot be used: {0}")]
    Metadata(String),
}

/// What a metadata log can suffer from that a power cut does not do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// A snapshot gets its name when it is complete and synced.
    #[error("{file} is not whole: {why} at byte {position}")]
    Snapshot {
        /// The file.
        file: String,
        /// Where.
        position: u64,
        /// What is wrong there.
        why: String,
    },
    /// Bytes that are no batch in a log that was closed cleanly, or with something behind them that
    /// was written later.
    #[error("{file} has no batch at byte {position} ({why}), and {how}")]
    Segment {
        /// The file.
        file: String,
        /// Where.
        position: u64,
        /// What is there.
        why: String,
        /// How one knows that there was one.
        how: &'static str,
    },
    /// Offsets are missing.
    #[error("{file} goes on at offset {found}, and what was before it ends at offset {expected}")]
    Gap {
        /// The file.
        file: String,
        /// Where it goes on.
        found: Offset,
        /// Where it had to.
        expected: Offset,
    },
}
