//! Small files that say whose a directory is: `meta.properties`, `partition.metadata`, the
//! clean-shutdown marker and what is noted with it, and a voter's `quorum-state`.
//!
//! Bytes in, values out, and back. All but the marker are written under another name, synced and
//! renamed. Next: [`crate::layout::top_level`] for where they lie.

mod clean_shutdown;
mod closed_logs;
mod identity;
mod partition;
mod properties;
mod quorum_state;

pub use clean_shutdown::CleanShutdown;
pub use closed_logs::{ClosedLogNote, ClosedLogs, ClosedLogsError};
pub use identity::{MetaProperties, MetaPropertiesError, MetaVersion};
pub use partition::{PartitionMetadata, PartitionMetadataError};
pub use properties::{MalformedEscape, PropertiesText};
pub use quorum_state::{QuorumState, QuorumStateError, QuorumStateFormat, Vote};
