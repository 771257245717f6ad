//! What shards say to each other.
//!
//! A request lives on the shard of its connection as an *operation*; each partition's part of it is a [`PartitionCall`] to the shard that owns the
//! partition, and comes back as a [`PartitionAnswer`]. Calls of one shard to another arrive in the order they were made in, so a
//! client's pipelined batches keep theirs.

use std::sync::Arc;

use aplomb_disk_api::DiskIndex;
use aplomb_log::cold::TimeWanted;
use aplomb_log::producers::ProducerEntry;
use aplomb_model::{
    DirectoryId, ErrorCode, Instant, LeaderEpoch, Offset, PartitionIndex, ProducerId, Timestamp, TopicId,
    TopicPartition,
};
use bytes::Bytes;

use crate::figures::PartitionFigures;
use crate::metadata::{Delta, MetadataImage};
use crate::ports::{Request, ShardId};

/// A partition by its topic's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartitionKey {
    /// The topic.
    pub topic: TopicId,
    /// The partition's number.
    pub partition: PartitionIndex,
}

impl PartitionKey {
    /// The metadata log.
    pub const METADATA: Self = Self { topic: TopicId::ONE, partition: PartitionIndex(0) };

    /// The shard that owns the partition. The metadata log is shard 0's, as the controller is.
    #[must_use]
    pub fn owner(self, shards: u16) -> ShardId {
        if self == Self::METADATA {
            return ShardId(0);
        }
        // A topic's partitions go to the shards in turn, beginning with any of them.
        let start = u64::from_be_bytes(self.topic.0[8..].try_into().expect("eight bytes"));
        let n = start.wrapping_add(self.partition.0.unsigned_abs().into());
        ShardId(u16::try_from(n % u64::from(shards.max(1))).expect("below the number of shards"))
    }
}

/// An operation on the shard that its connection lives on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpId {
    /// The shard.
    pub shard: ShardId,
    /// Its number there; numbers are not used twice.
    pub number: u64,
}

/// Which of an operation's parts.
pub type Slot = u32;

/// What is asked of a partition.
#[derive(Clone, Debug)]
pub enum PartitionCall {
    /// Append a produced batch.
    Append(AppendCall),
    /// Read records.
    Read(ReadCall),
    /// Say once when there is more to see than `seen`, or something else than records to say.
    Watch {
        /// What the reader may see ends here, as far as it knows.
        seen: Offset,
        /// The log starts here, as far as it knows.
        start: Offset,
    },
    /// Forget the watch of this operation.
    Unwatch,
    /// Look an offset up.
    FindOffset(FindOffset),
    /// Where an epoch ends.
    EpochEnd {
        /// The epoch that the client believes the leader to be in.
        current: Option<LeaderEpoch>,
        /// The epoch asked for.
        epoch: LeaderEpoch,
    },
    /// Delete the records before an offset; all that there are if `None`.
    DeleteRecords {
        /// The new log start.
        before: Option<Offset>,
    },
    /// How large the log is, and where.
    Size,
    /// Who writes to it.
    Producers,
    /// Move to a log directory, or stay in it.
    Move {
        /// The log directory.
        to: DiskIndex,
    },
}

/// A produced batch on its way to its partition.
#[derive(Clone, Debug)]
pub struct AppendCall {
    /// The records field of the request: one batch, as the client sent it.
    pub records: Bytes,
    /// When the client stops waiting.
    pub deadline: Instant,
}

/// A read for a consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadCall {
    /// The first wanted offset, as the wire has it.
    pub from: i64,
    /// The epoch that the client believes the leader to be in.
    pub current_epoch: Option<LeaderEpoch>,
    /// The epoch of the last record that the client has, for divergence.
    pub last_fetched_epoch: Option<LeaderEpoch>,
    /// At most so many bytes; a single batch may be larger.
    pub max_bytes: u32,
    /// Whether to stop before transactions that are undecided, and to list aborted ones.
    pub committed_only: bool,
    /// When the client stops waiting.
    pub deadline: Instant,
}

/// Which offset is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FindOffset {
    /// The epoch that the client believes the leader to be in.
    pub current_epoch: Option<LeaderEpoch>,
    /// Which one.
    pub wanted: WantedOffset,
    /// Whether only decided transactions count.
    pub committed_only: bool,
}

/// Ways to name an offset (`ListOffsetsRequest`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WantedOffset {
    /// The next one to be written that consumers may see (-1).
    Latest,
    /// The log's start (-2), which is also the start of what is here (-4).
    Earliest,
    /// By timestamp.
    Time(TimeWanted),
    /// What only tiered storage has (-5, -6): nothing.
    Tiered,
}

/// What a partition says.
#[derive(Clone, Debug)]
pub enum PartitionAnswer {
    /// To [`PartitionCall::Append`].
    Append(Result<Appended, AppendRefusal>),
    /// To [`PartitionCall::Read`].
    Read(Result<ReadRecords, ReadRefusal>),
    /// To [`PartitionCall::Read`], but not the last word: the records are asked of the disk.
    ReadLater(ReadRecords),
    /// To [`PartitionCall::FindOffset`].
    Offset(Result<FoundOffset, ErrorCode>),
    /// To [`PartitionCall::EpochEnd`].
    EpochEnd(Result<Option<(LeaderEpoch, Offset)>, ErrorCode>),
    /// To [`PartitionCall::DeleteRecords`]: the new log start.
    DeleteRecords(Result<Offset, ErrorCode>),
    /// To [`PartitionCall::Size`].
    Size(Option<PartitionSize>),
    /// To [`PartitionCall::Producers`]: those that the log remembers, by id.
    Producers(Result<Vec<(ProducerId, ProducerEntry)>, ErrorCode>),
    /// To [`PartitionCall::Move`].
    Move(Result<(), ErrorCode>),
}

/// A batch that is in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The offset of its first record.
    pub base: Offset,
    /// When it was appended, where the topic says so (LogAppendTime).
    pub log_append_time: Option<Timestamp>,
    /// Where the log starts.
    pub log_start: Offset,
}

/// Why a batch is not in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppendRefusal {
    /// Kafka's code.
    pub error: ErrorCode,
    /// The reason in words.
    pub message: Option<String>,
    /// Reasons for single records: (index in the batch, words).
    pub records: Vec<(i32, Option<String>)>,
    /// Where the log starts, if there is one.
    pub log_start: Option<Offset>,
}

/// What a read found; `records` may be empty.
#[derive(Clone, Debug)]
pub struct ReadRecords {
    /// Whole batches, in slices of memory.
    pub records: Vec<Bytes>,
    /// The offset after the last record that is safe.
    pub high_watermark: Offset,
    /// The offset of the first record of an undecided transaction, or the high watermark.
    pub last_stable: Offset,
    /// Where the log starts.
    pub log_start: Offset,
    /// Aborted transactions among the records: (producer id, first offset).
    pub aborted: Vec<(i64, Offset)>,
    /// What this reader may see ends here.
    pub visible_end: Offset,
    /// Where the bytes are counted that go out.
    pub figures: Arc<PartitionFigures>,
}

/// Why a read found nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadRefusal {
    /// Kafka's code, and the log start where the client can use it.
    Error {
        /// The code.
        error: ErrorCode,
        /// Where the log starts.
        log_start: Option<Offset>,
    },
    /// The client's log and ours part: its last epoch ends here in ours.
    Diverging {
        /// The largest epoch not above the client's.
        epoch: Option<LeaderEpoch>,
        /// Where it ends.
        end: Option<Offset>,
        /// The offset after the last record that is safe.
        high_watermark: Offset,
        /// Where the log starts.
        log_start: Offset,
    },
}

/// An offset that was looked up. Offset `None`: no such record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundOffset {
    /// The offset.
    pub offset: Option<Offset>,
    /// The record's timestamp, if the lookup was by time.
    pub timestamp: Option<Timestamp>,
    /// The epoch of the leader that wrote it.
    pub leader_epoch: Option<LeaderEpoch>,
}

/// How large a partition's log is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionSize {
    /// The disk that it is on.
    pub disk: DiskIndex,
    /// Bytes in its segments, those that only memory has included.
    pub bytes: u64,
    /// The copy that is to take its place, while it moves.
    pub future: Option<FutureSize>,
}

/// How far a partition has moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FutureSize {
    /// The disk that it moves to.
    pub disk: DiskIndex,
    /// Bytes of it that are there.
    pub bytes: u64,
    /// Offsets that are not.
    pub lag: u64,
}

/// Offsets of one partition that are kept in a log directory's checkpoint files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointEntry {
    /// The partition, by name.
    pub name: TopicPartition,
    /// Everything below is durable, with its indexes and producer state.
    pub recovery_point: Offset,
    /// Everything below is safe.
    pub high_watermark: Offset,
    /// The log start, unless it is 0. Also where the first segment says the same: until the segments below it have other names, a kill
    /// brings them back.
    pub log_start: Option<Offset>,
}

/// A change to what the checkpoint files say; `None` removes the partition.
pub type CheckpointChange = (PartitionKey, Option<CheckpointEntry>);

/// One message from shard to shard.
#[derive(Debug)]
pub enum ShardMessage {
    /// Answer this request: it is for the controller, which lives where you are.
    Request(Request),
    /// Topics that a client asked the metadata of, and that are to be created for that.
    AutoCreate(Vec<String>),
    /// Parts of an operation for partitions that you own.
    Calls {
        /// The operation to answer to.
        op: OpId,
        /// The parts, in order.
        calls: Vec<(Slot, PartitionKey, PartitionCall)>,
    },
    /// Answers to calls of yours.
    Answers {
        /// The operation.
        op: OpId,
        /// The parts.
        answers: Vec<(Slot, PartitionAnswer)>,
    },
    /// A partition that the operation watches has something to say.
    Woken {
        /// The operation.
        op: OpId,
        /// Which of its parts.
        slot: Slot,
    },
    /// The metadata changed.
    Image {
        /// The whole of it.
        image: Arc<MetadataImage>,
        /// What is different.
        delta: Arc<Delta>,
        /// Counts the images of this process.
        generation: u64,
    },
    /// All that a change of metadata asks of my partitions is done.
    ImageApplied {
        /// Which image.
        generation: u64,
    },
    /// For the keeper of a log directory's checkpoint files.
    Checkpoints {
        /// The log directory.
        disk: DiskIndex,
        /// What changed.
        changes: Vec<CheckpointChange>,
    },
    /// The directory of a deleted partition has another name: the checkpoint files are to forget the partition.
    Left {
        /// The log directory.
        disk: DiskIndex,
        /// Which partition.
        key: PartitionKey,
        /// Its name.
        name: TopicPartition,
    },
    /// Nothing on any disk is a deleted partition's any more: its name is free.
    Gone {
        /// Which partition.
        key: PartitionKey,
        /// Its name.
        name: TopicPartition,
    },
    /// The checkpoint files of a log directory are to say this of a partition, `None`: nothing, and I am to know when they do.
    Keep {
        /// The log directory.
        disk: DiskIndex,
        /// Which partition.
        key: PartitionKey,
        /// What.
        entry: Option<CheckpointEntry>,
    },
    /// The checkpoint files say what they were to say of your partition.
    Kept {
        /// The log directory.
        disk: DiskIndex,
        /// Which partition.
        key: PartitionKey,
    },
    /// A partition of mine is in this log directory now: the metadata is to say so.
    Assign {
        /// Which partition.
        key: PartitionKey,
        /// The log directory.
        directory: DirectoryId,
    },
    /// A partition that is not there yet is to be made in this log directory.
    Prefer {
        /// Its name.
        name: TopicPartition,
        /// The log directory.
        disk: DiskIndex,
    },
    /// A log directory failed.
    DiskLost {
        /// Which.
        disk: DiskIndex,
        /// The error.
        why: Arc<str>,
    },
    /// Memory is short that the disk has, and that only you can give back.
    GiveBack,
    /// All my partitions are closed, or given up.
    Closed {
        /// For each log directory, whether everything in it was closed cleanly.
        clean: Vec<bool>,
    },
}
