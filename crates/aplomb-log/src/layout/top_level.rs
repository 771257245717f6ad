//! What a log directory holds besides partitions, and how to tell the one from the other.
//!
//! Only these files are Aplomb's or Apache Kafka's; other plain files are left alone, other
//! directories are reported (see `directory.rs` for why).

use super::{NotAPartition, PartitionDir};

/// Files are written under their name with this behind it, synced, and renamed.
pub const TMP_SUFFIX: &str = ".tmp";

/// Cluster, node and directory id ([`crate::state_files::MetaProperties`]).
pub const META_PROPERTIES: &str = "meta.properties";
/// Per partition: everything below is on the disk ([`crate::checkpoint`]).
pub const RECOVERY_POINT_CHECKPOINT: &str = "recovery-point-offset-checkpoint";
/// Where logs begin that begin above their first segment ([`crate::checkpoint`]).
pub const LOG_START_CHECKPOINT: &str = "log-start-offset-checkpoint";
/// High watermarks ([`crate::checkpoint`]).
pub const REPLICATION_CHECKPOINT: &str = "replication-offset-checkpoint";
/// First dirty offsets of compacted logs ([`crate::checkpoint`]).
pub const CLEANER_CHECKPOINT: &str = "cleaner-offset-checkpoint";
/// There after a clean stop ([`crate::state_files::CleanShutdown`]).
pub const CLEAN_SHUTDOWN: &str = ".kafka_cleanshutdown";
/// There after a clean stop of Aplomb's ([`crate::state_files::ClosedLogs`]).
pub const CLOSED_LOGS: &str = ".aplomb-closed-logs";
/// Held with an exclusive lock of the operating system by the broker that owns the directory.
pub const LOCK: &str = ".lock";
/// Written by Apache Kafka's `kafka-storage format` up to 4.3 for controllers. Never deleted.
pub const BOOTSTRAP_CHECKPOINT: &str = "bootstrap.checkpoint";
/// The cache of tiered storage; not a partition, in spite of its name.
pub const REMOTE_INDEX_CACHE: &str = "remote-log-index-cache";
/// The directory of the KRaft metadata log.
pub const CLUSTER_METADATA_DIR: &str = "__cluster_metadata-0";
/// A voter's memory inside [`CLUSTER_METADATA_DIR`] ([`crate::state_files::QuorumState`]).
pub const QUORUM_STATE: &str = "quorum-state";

/// A directory found in a log directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogDirEntry {
    /// A partition's log, in one of its roles.
    Partition(PartitionDir),
    /// The KRaft metadata log.
    ClusterMetadata,
    /// Tiered storage's cache, which no log loader looks at.
    RemoteIndexCache,
}

impl LogDirEntry {
    /// Says what a directory of that name is.
    ///
    /// # Errors
    /// [`NotAPartition`] if it is nothing known: the broker must not start on it, as Apache Kafka
    /// would not.
    pub fn of_directory(name: &str) -> Result<Self, NotAPartition> {
        match name {
            CLUSTER_METADATA_DIR => Ok(Self::ClusterMetadata),
            REMOTE_INDEX_CACHE => Ok(Self::RemoteIndexCache),
            _ => PartitionDir::parse(name).map(Self::Partition),
        }
    }
}

#[cfg(test)]
mod tests {
    use aplomb_model::TopicPartition;

    use super::*;

    #[test]
    fn directories_are_told_apart() {
        let orders = PartitionDir::serving(TopicPartition::new("orders", 0));
        assert_eq!(LogDirEntry::of_directory("orders-0"), Ok(LogDirEntry::Partition(orders)));
        assert_eq!(LogDirEntry::of_directory("__cluster_metadata-0"), Ok(LogDirEntry::ClusterMetadata));
        assert_eq!(LogDirEntry::of_directory("remote-log-index-cache"), Ok(LogDirEntry::RemoteIndexCache));
        assert_eq!(LogDirEntry::of_directory("lost+found"), Err(NotAPartition("lost+found".to_owned())));
    }
}
