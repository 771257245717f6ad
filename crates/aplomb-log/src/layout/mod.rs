//! What the files and directories of a log are called.
//!
//! One type owns each name, in both directions, so a test can close the circle: a name that parses
//! is written again letter by letter. Nothing here touches a file. Next: [`crate::index`] for what
//! the index files hold.

mod directory;
mod names;
pub mod top_level;

pub use directory::{DirectoryRole, NotAPartition, PartitionDir};
pub use names::{FileSuffix, LEADER_EPOCH_CHECKPOINT, PARTITION_METADATA, SegmentFile, with_suffix};
pub use top_level::LogDirEntry;
