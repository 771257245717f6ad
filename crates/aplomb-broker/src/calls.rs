//! What partitions are asked, by whom, and what they answer.
//!
//! A request lives on the shard of its connection as an operation. Each partition's part of it runs
//! on the shard that owns the partition, and its answer goes back to the [`Asker`].

use std::any::Any;
use std::sync::Arc;

use aplomb_coordinator::group::{GroupAsk, GroupReply};
use aplomb_coordinator::runtime::MarkerWish;
use aplomb_coordinator::txn::{TxnAsk, TxnReply};
use aplomb_log::Reader;
use aplomb_log::cold::TimeWanted;
use aplomb_log::producers::MarkerEpochRule;
use aplomb_log::tail::Claim;
use aplomb_model::batch::{BatchHeader, ProducerStamp};
use aplomb_model::{ErrorCode, Instant, LeaderEpoch, Offset, PartitionIndex, ProducerId, Timestamp, TopicId};
use bytes::Bytes;

use crate::figures::PartitionFigures;
use crate::ports::{ConnectionId, ShardId, WaitedFor};

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

    /// The shard that owns the partition. The metadata log is shard 0's, as the controller is, and
    /// all others are the other shards'.
    ///
    /// # Panics
    /// If shard 0 is alone.
    #[must_use]
    pub fn owner(self, shards: u16) -> ShardId {
        assert!(shards > 1, "a shard beside the controller's");
        if self == Self::METADATA {
            return ShardId(0);
        }
        // A topic's partitions go to the shards in turn, beginning with any of them.
        let start = u64::from_be_bytes(self.topic.0[8..].try_into().expect("eight bytes"));
        let n = start.wrapping_add(self.partition.0.unsigned_abs().into());
        let owners = u64::from(shards) - 1;
        ShardId(u16::try_from(1 + n % owners).expect("below the number of shards"))
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

/// Who asked; an answer goes back there and nowhere else. Also the key by which whatever waits is
/// cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Asker {
    /// A part of a client's request.
    Client(OpId, Slot),
    /// The metadata log's writer: the decision with this number.
    Head(u64),
    /// The coordinator of this partition.
    Coordinator(PartitionKey, CoordinatorPart),
}

/// What a coordinator asks its partition for. Coordinators of a partition are numbered: one that
/// is loaded anew is another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CoordinatorPart {
    /// A piece of the log, to be loaded by this one.
    Load(u64),
    /// To keep a batch: this one's, with this number.
    Write(u64, u64),
    /// The controller, and not its partition, for a producer id.
    ProducerId(u64),
    /// A partition of a transaction for the marker with this number.
    Marker(u64),
}

/// What a partition's coordinator is asked.
#[derive(Debug)]
pub(crate) enum CoordinatorAsk {
    /// The group coordinator.
    Group(GroupAsk),
    /// The same, for a producer in a transaction that may write to its log.
    InTransaction(InTransaction, GroupAsk),
    /// The transaction coordinator.
    Txn(TxnAsk),
}

/// A producer that writes in a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InTransaction {
    /// As it says it is.
    pub(crate) stamp: ProducerStamp,
    /// What its partition gave ([`AppendRefusal::unverified`]) before the transaction's coordinator
    /// said that it is in the transaction; `None`: it was not asked.
    pub(crate) guard: Option<Offset>,
    /// Each transaction has an epoch of its own, so that the first batch of each begins at
    /// sequence 0 (KIP-890).
    pub(crate) has_epoch_each: bool,
}

/// The end of a transaction, for one of its partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MarkerCall {
    pub(crate) marker: MarkerWish,
    /// What its epoch has to be beside those of the producer's batches.
    pub(crate) rule: MarkerEpochRule,
}

/// What must have happened before an append is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Promise {
    /// The batch is in the memory tail: it survives the process.
    InMemory,
    /// The batch is synced: it survives a power cut.
    Durable,
}

/// A batch on its way to its partition.
#[derive(Debug)]
pub(crate) enum AppendCall {
    /// A client's. The topic's settings say what is promised.
    Produced(Produced),
    /// This broker's.
    Own(OwnBatch),
    /// The end of a transaction.
    Marker(MarkerCall),
}

/// A whole batch that this broker made for a log of its own.
#[derive(Clone, Debug)]
pub(crate) struct OwnBatch {
    pub(crate) batch: Bytes,
    /// What is promised for it; `None`: as the topic's settings say.
    pub(crate) promise: Option<Promise>,
    /// Up to where the one who made it had read the log, and all behind that is its own: it is void
    /// where a client has written there since.
    pub(crate) known_end: Offset,
}

impl OwnBatch {
    /// One for the metadata log, where no client may write.
    pub(crate) fn of_controller(batch: Bytes) -> Self {
        Self { batch, promise: Some(Promise::Durable), known_end: Offset::ZERO }
    }
}

/// A batch of a produce request.
#[derive(Clone, Debug)]
pub(crate) struct Produced {
    /// The records field: one batch, as the client sent it.
    pub(crate) records: Bytes,
    /// Batches of one connection keep their order, whatever it takes to validate them.
    pub(crate) from: ConnectionId,
    /// What validating it may cost.
    pub(crate) allowance: Allowance,
    /// How much of the memory it may take that disks have not got yet.
    pub(crate) claim: Claim,
    /// It is part of a transaction, and is to be looked at as such.
    pub(crate) transaction: Option<InTransaction>,
}

impl Produced {
    /// Who produced it and as which of theirs, as far as it says so.
    pub(crate) fn producer(&self) -> Option<ProducerStamp> {
        BatchHeader::parse(&self.records).ok()?.producer()
    }
}

/// What validating a batch may cost, in bytes that are decompressed (`partition/checks.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Allowance {
    /// As soon as it comes.
    pub(crate) at_once: usize,
    /// In turns, before batches that cost more.
    pub(crate) near: usize,
    /// In all. A batch that stands for more is refused.
    pub(crate) in_all: usize,
}

/// Whole batches that are wanted of one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadCall {
    /// The first wanted offset, as the wire has it.
    pub(crate) from: i64,
    /// The epoch that the client believes the leader to be in.
    pub(crate) current_epoch: Option<LeaderEpoch>,
    /// The epoch of the last record that the client has, for divergence.
    pub(crate) last_fetched_epoch: Option<LeaderEpoch>,
    /// At most so many bytes; a single batch may be larger. 0: no records at all, only where the
    /// log is.
    pub(crate) max_bytes: u32,
    /// Whether to stop before transactions that are undecided, and to list aborted ones.
    pub(crate) committed_only: bool,
    /// When the client stops waiting.
    pub(crate) deadline: Instant,
    /// Whether it waits for memory that clients have.
    pub(crate) reader: Reader,
}

/// Which offset is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FindOffset {
    /// The epoch that the client believes the leader to be in.
    pub(crate) current_epoch: Option<LeaderEpoch>,
    /// Which one.
    pub(crate) wanted: WantedOffset,
    /// Whether only decided transactions count.
    pub(crate) committed_only: bool,
}

/// Ways to name an offset (`ListOffsetsRequest`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WantedOffset {
    /// The next one to be written that consumers may see (-1).
    Latest,
    /// The log's start (-2), which is also the start of what is here (-4).
    Earliest,
    /// By timestamp.
    Time(TimeWanted),
    /// What only tiered storage has (-5, -6): nothing.
    Tiered,
}

/// The answer to a part of a request.
#[derive(Debug)]
pub enum Answer {
    /// To an append.
    Append(Result<Appended, AppendRefusal>),
    /// To a read.
    Read(Result<ReadRecords, ReadRefusal>),
    /// To a read, and not the last word: the disk was asked for the records.
    ReadLater(ReadRecords),
    /// To a lookup of an offset.
    Offset(Result<FoundOffset, ErrorCode>),
    /// To a question of an API's own: a `Result<A, ErrorCode>`, where `A` is what it asks for.
    Told(Box<dyn Any + Send>),
    /// To a question to a group coordinator; a code alone where there is none, or what it had
    /// answered was not kept.
    Coordinated(Result<Box<GroupReply>, ErrorCode>),
    /// The same of a transaction coordinator.
    Transacted(Result<Box<TxnReply>, ErrorCode>),
    /// Whether a coordinator's log has the end of a transaction.
    Marked(Result<(), ErrorCode>),
    /// To a decision of the controller: it is durable, and every shard has applied it.
    Decided(Result<(), ErrorCode>),
    /// No answer yet, to anything: the part waits for this. For the flight recorder.
    Waits(WaitedFor),
    /// To a request for producer ids: there are some, or it has to be asked again.
    Ids(Result<ProducerId, ErrorCode>),
}

impl Answer {
    /// Whether a partition has the end of a transaction.
    pub(crate) fn into_marked(self) -> Result<(), ErrorCode> {
        match self {
            Self::Append(appended) => appended.map(drop).map_err(|refusal| refusal.error),
            Self::Marked(marked) => marked,
            other => panic!("a marker is kept or refused, not {other:?}"),
        }
    }
}

/// A batch that is in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The offset of its first record.
    pub base: Offset,
    /// When it was appended, where the topic says so (LogAppendTime); of a duplicate, the greatest
    /// timestamp of what is stored.
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
    /// It is this broker's own, and clients wrote to the log before it that its maker has not read.
    pub is_overtaken: bool,
    /// It is part of a transaction that has nothing here yet: its coordinator is to be asked, and
    /// the batch may come again with this.
    pub unverified: Option<Offset>,
    /// As much waits already as may: the asker is woken when there is room, and does well not to
    /// try before.
    pub is_turned_away: bool,
}

impl AppendRefusal {
    /// A refusal that says nothing but its code.
    pub(crate) fn new(error: ErrorCode) -> Self {
        Self {
            error,
            message: None,
            records: Vec::new(),
            log_start: None,
            is_overtaken: false,
            unverified: None,
            is_turned_away: false,
        }
    }
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
    /// How many bytes had become visible since the partition was loaded.
    pub seen: u64,
    /// Where the bytes are counted that go out.
    pub figures: Arc<PartitionFigures>,
}

/// To be told once when there is more: so many bytes, or something else than records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Watch {
    /// How much had come when it was read ([`ReadRecords::seen`]).
    pub seen: u64,
    /// Where the log started then.
    pub start: Offset,
    /// How many bytes more are worth a word.
    pub more: u64,
}

/// Why a read found nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadRefusal {
    /// Kafka's code, and where the log starts, if there is one. Clients are told the code alone.
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
