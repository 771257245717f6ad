//! What the storage rooms of shards say to each other, and what they want of the other rooms.

use std::sync::Arc;

use aplomb_disk_api::{DiskError, DiskIndex, Done};
use aplomb_model::{DirectoryId, TopicPartition};

use super::at_rest::LogAtRest;
use super::checkpoints::{CheckpointChange, CheckpointEntry};
use crate::calls::PartitionKey;
use crate::ports::{Event, ShardId};

/// The shard that keeps the checkpoint files.
pub(super) const CHECKPOINTS_SHARD: ShardId = ShardId(0);

/// What the storage rooms of shards say to each other.
#[derive(Debug)]
pub enum StorageMessage {
    /// The checkpoint files of a log directory are to say this.
    Record {
        /// The log directory.
        disk: DiskIndex,
        /// What changed.
        changes: Vec<CheckpointChange>,
    },
    /// Logs of a log directory are closed, and this is how the next start would find them.
    AtRest {
        /// The log directory.
        disk: DiskIndex,
        /// Some of its logs.
        logs: Vec<LogAtRest>,
    },
    /// The same as `Record` of one partition (`None`: nothing), as soon as can be; answered by
    /// `Recorded`.
    RecordNow {
        /// The log directory.
        disk: DiskIndex,
        /// Which partition.
        key: PartitionKey,
        /// What the files are to say.
        entry: Option<CheckpointEntry>,
    },
    /// The checkpoint files say what they were to say of a partition of yours.
    Recorded {
        /// The log directory.
        disk: DiskIndex,
        /// Which partition.
        key: PartitionKey,
    },
    /// The directory of a deleted partition has another name: the checkpoint files are to forget
    /// it, and then its name is free.
    Forget {
        /// The log directory.
        disk: DiskIndex,
        /// Which partition.
        key: PartitionKey,
        /// Its name.
        name: TopicPartition,
    },
    /// A log directory failed.
    DirectoryLost {
        /// Which.
        disk: DiskIndex,
        /// The error.
        why: Arc<str>,
    },
    /// Memory is short that the disk has, and that only you can give back.
    GiveBack,
}

/// What storage wants of others.
#[derive(Debug)]
pub(crate) enum StorageEffect {
    /// Say this to the storage of a shard, which may be this one.
    Tell(ShardId, StorageMessage),
    /// Nothing on any disk is a deleted partition's any more: its name is free.
    NameFree(PartitionKey, TopicPartition),
    /// A log directory is lost; the other shards do not know yet if `first`.
    Lost { disk: DiskIndex, why: Arc<str>, first: bool },
    /// Partitions are in these log directories: the metadata is to say so.
    Assign(Vec<(PartitionKey, DirectoryId)>),
    /// A job that loads logs has ended.
    Loaded { job: u64, result: Result<Done, DiskError> },
    /// The metadata snapshot that was under way is on the disk, or never will be.
    SnapshotWritten(bool),
    /// A clean shutdown marker is written, or never will be.
    MarkerEnded,
    /// A line for the log.
    Event(Event),
}
