//! From log directories to shards. Runs before the first request, on threads that may wait for a disk.
//!
//! The order, which the caller keeps: [`examine()`] everything, which changes nothing and refuses what is not ours; [`survey()`] each directory; write back what an earlier process had only in memory
//! ([`aplomb_log::recovery::restore`]), the metadata log first; [`MetadataFound::read`] it, which gives the names for the rest; write that back as well; then
//! [`load()`].

mod examine;
mod lead;
mod load;
mod metadata;
mod survey;

use aplomb_disk_api::{DiskError, FileName};
use aplomb_log::layout::NotAPartition;
use aplomb_log::recovery::LoadError;

pub use examine::{Examined, ExaminedDirectory, Refusal, examine};
pub use load::{Executor, Job, LoadInput, Loaded, Ready, ShardStart, load};
pub use metadata::{Damage, MetadataFound};
pub use survey::{Directory, Surveyed, survey};

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
