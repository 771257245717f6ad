//! What is known of a transactional id.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use aplomb_model::{ErrorCode, Timestamp};

/// Topics by name, with partitions of theirs.
pub type TxnPartitions = BTreeMap<Arc<str>, BTreeSet<i32>>;

/// The version of transactions that a client speaks: 2 when its request says so by its own version
/// (KIP-890), else 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClientVersion(pub i16);

impl ClientVersion {
    /// The first in which each transaction has an epoch of its own.
    pub const EPOCH_EACH: Self = Self(2);

    pub(super) fn has_epoch_each(self) -> bool {
        self >= Self::EPOCH_EACH
    }
}

/// No producer id, in the log.
pub(super) const NO_PRODUCER: i64 = -1;

/// When a transaction began that has not.
pub(super) const NOT_BEGUN: i64 = -1;

/// What a topic takes beside its name, and a partition of it, in bytes.
const TOPIC_BYTES: usize = 96;
const PARTITION_BYTES: usize = 12;

/// From this epoch on a producer gets another id: the coordinator needs the last one to fence
/// (`TransactionMetadata#isEpochExhausted`).
const LAST_EPOCH: i16 = i16::MAX - 1;

/// A producer, as a request names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incarnation {
    /// The transactional id.
    pub id: Arc<str>,
    /// Its producer id.
    pub producer_id: i64,
    /// Its producer epoch.
    pub epoch: i16,
}

/// How far a transaction has come. The numbers are the log's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TxnState {
    /// None has begun.
    Empty = 0,
    /// It has partitions.
    Ongoing = 1,
    /// It is to be committed.
    PrepareCommit = 2,
    /// It is to be aborted.
    PrepareAbort = 3,
    /// All partitions know that it is committed.
    CompleteCommit = 4,
    /// All partitions know that it is aborted.
    CompleteAbort = 5,
}

impl TxnState {
    /// All of them, in the order of the log's numbers.
    pub const ALL: [Self; 6] = [
        Self::Empty,
        Self::Ongoing,
        Self::PrepareCommit,
        Self::PrepareAbort,
        Self::CompleteCommit,
        Self::CompleteAbort,
    ];

    pub(super) fn from_log(raw: i8) -> Option<Self> {
        Self::ALL.into_iter().find(|state| *state as i8 == raw)
    }

    /// All names that Apache Kafka has for states. In the last two none is here.
    pub const NAMES: [&str; 8] = [
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    ];

    /// As operators see it (`TransactionState#stateName`).
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::Ongoing => "Ongoing",
            Self::PrepareCommit => "PrepareCommit",
            Self::PrepareAbort => "PrepareAbort",
            Self::CompleteCommit => "CompleteCommit",
            Self::CompleteAbort => "CompleteAbort",
        }
    }

    /// What it ends in when it is decided.
    pub(super) fn decided(is_committed: bool) -> Self {
        if is_committed { Self::PrepareCommit } else { Self::PrepareAbort }
    }

    /// Committed or aborted, if that is decided and its partitions are not known to know.
    pub(super) fn outcome(self) -> Option<bool> {
        match self {
            Self::PrepareCommit => Some(true),
            Self::PrepareAbort => Some(false),
            _ => None,
        }
    }

    /// Whether no transaction is under way.
    pub(super) fn is_over(self) -> bool {
        matches!(self, Self::Empty | Self::CompleteCommit | Self::CompleteAbort)
    }

    /// Whether this state may follow that one (`TransactionState#validPreviousStates`).
    fn may_follow(self, before: Self) -> bool {
        match self {
            Self::Empty => before.is_over(),
            Self::Ongoing => before.is_over() || before == Self::Ongoing,
            Self::PrepareCommit => before == Self::Ongoing,
            // In version 2 also without a partition.
            Self::PrepareAbort => before.is_over() || before == Self::Ongoing,
            Self::CompleteCommit => before == Self::PrepareCommit,
            Self::CompleteAbort => before == Self::PrepareAbort,
        }
    }
}

/// What the log has of a transactional id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Txn {
    pub(super) producer_id: i64,
    /// The producer id before the last write: another one where the producer has just got this.
    pub(super) previous_id: i64,
    /// The one after it, once its transaction is complete.
    pub(super) next_id: i64,
    pub(super) epoch: i16,
    pub(super) timeout: i32,
    pub(super) state: TxnState,
    pub(super) partitions: TxnPartitions,
    /// When the transaction began; [`NOT_BEGUN`].
    pub(super) began: i64,
    pub(super) updated: i64,
    /// Of the client that decided last.
    pub(super) version: ClientVersion,
}

/// What is remembered beside the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Remembered {
    /// Its last write is not kept yet.
    pub(super) is_pending: bool,
    /// The epoch before the present one, if the producer itself has asked for that: should the
    /// answer have been lost, it asks again by this.
    pub(super) last_epoch: Option<i16>,
}

impl Txn {
    /// A producer's first.
    pub(super) fn new(producer_id: i64, timeout: i32, now: Timestamp) -> Self {
        Self {
            producer_id,
            previous_id: producer_id,
            next_id: NO_PRODUCER,
            epoch: 0,
            timeout,
            state: TxnState::Empty,
            partitions: TxnPartitions::new(),
            began: NOT_BEGUN,
            updated: now.0,
            version: ClientVersion(0),
        }
    }

    /// What its partitions take in memory, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.partitions
            .iter()
            .map(|(topic, ids)| TOPIC_BYTES + topic.len() + PARTITION_BYTES * ids.len())
            .sum()
    }

    pub(super) fn is_exhausted(&self) -> bool {
        is_last(self.epoch)
    }

    /// How long the transaction may still last.
    pub(super) fn time_left(&self, now: Timestamp) -> Duration {
        let ends = self.began.saturating_add(self.timeout.into());
        Duration::from_millis(u64::try_from(ends.saturating_sub(now.0)).unwrap_or(0))
    }

    /// Whether a request names the present producer.
    pub(super) fn check_producer(&self, of: &Incarnation) -> Result<(), ErrorCode> {
        if of.producer_id != self.producer_id {
            Err(ErrorCode::InvalidProducerIdMapping)
        } else if of.epoch != self.epoch {
            Err(ErrorCode::ProducerFenced)
        } else {
            Ok(())
        }
    }

    /// As it is written behind what was known before: the record says which id the producer had.
    pub(super) fn behind(self, before: Option<&Self>) -> Self {
        let Some(before) = before else { return Self { previous_id: self.producer_id, ..self } };
        before.check_next(&self);
        Self { previous_id: before.producer_id, ..self }
    }

    /// What must be so of what follows.
    fn check_next(&self, next: &Self) {
        assert!(next.state.may_follow(self.state), "{:?} after {:?}", next.state, self.state);
        let is_newer = next.producer_id != self.producer_id || next.epoch >= self.epoch;
        assert!(is_newer, "epoch {} after {}", next.epoch, self.epoch);
        let has_begun = next.state == TxnState::Ongoing || next.state.outcome().is_some();
        assert!(!has_begun || next.began != NOT_BEGUN, "it has begun at some time");
    }
}

/// Whether a producer with this epoch gets another id.
pub(super) fn is_last(epoch: i16) -> bool {
    epoch >= LAST_EPOCH
}
