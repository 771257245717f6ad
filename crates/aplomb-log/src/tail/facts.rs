//! What the tail remembers of each batch, so that lookups never parse the arena.

use aplomb_model::batch::BatchHeader;
use aplomb_model::{LeaderEpoch, Offset, Timestamp};

/// What is remembered of one batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TailBatch {
    /// Offset of the first record.
    pub base_offset: Offset,
    /// Offset of the last record.
    pub last_offset: Offset,
    /// The highest timestamp in the batch, as its header has it.
    pub max_timestamp: Timestamp,
    /// Bytes, header included.
    pub size: u32,
    /// The epoch that is stamped into the batch.
    pub leader_epoch: Option<LeaderEpoch>,
    /// Whether it is part of a transaction.
    pub transactional: bool,
    /// Whether it is a control batch, which consumers do not see.
    pub control: bool,
}

impl TailBatch {
    /// The facts that a batch's header states.
    #[must_use]
    pub fn of(header: &BatchHeader) -> Self {
        Self {
            base_offset: header.base_offset(),
            last_offset: header.last_offset(),
            max_timestamp: header.max_timestamp(),
            size: u32::try_from(header.size()).expect("a batch's size fits 32 bits"),
            leader_epoch: header.leader_epoch(),
            transactional: header.is_transactional(),
            control: header.is_control(),
        }
    }
}

/// A batch and where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchAt {
    /// What is remembered of it.
    pub batch: TailBatch,
    /// Base offset of its segment.
    pub segment_base: Offset,
    /// Where it begins in the segment's `.log`, in bytes.
    pub at: u64,
}

/// A batch as it is kept: 40 bytes, since a full tail may remember millions.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeldBatch {
    base_offset: Offset,
    max_timestamp: Timestamp,
    last_offset_delta: u32,
    size: u32,
    leader_epoch: i32,
    /// Where the batch begins, from the start of its chunk.
    at: u32,
    transactional: bool,
    control: bool,
}

const _: () = assert!(size_of::<HeldBatch>() == 40);

impl HeldBatch {
    /// # Panics
    /// If the batch spans more offsets than any batch can.
    pub(super) fn new(batch: &TailBatch, at: u32) -> Self {
        let delta = batch.last_offset.distance_from(batch.base_offset);
        Self {
            base_offset: batch.base_offset,
            max_timestamp: batch.max_timestamp,
            last_offset_delta: u32::try_from(delta).expect("lastOffsetDelta fits 32 bits"),
            size: batch.size,
            leader_epoch: batch.leader_epoch.map_or(-1, LeaderEpoch::to_wire),
            at,
            transactional: batch.transactional,
            control: batch.control,
        }
    }

    pub(super) fn batch(&self) -> TailBatch {
        TailBatch {
            base_offset: self.base_offset,
            last_offset: self.last_offset(),
            max_timestamp: self.max_timestamp,
            size: self.size,
            leader_epoch: LeaderEpoch::from_wire(self.leader_epoch),
            transactional: self.transactional,
            control: self.control,
        }
    }

    pub(super) fn last_offset(&self) -> Offset {
        self.base_offset.plus(u64::from(self.last_offset_delta))
    }

    pub(super) fn max_timestamp(&self) -> Timestamp {
        self.max_timestamp
    }

    pub(super) fn at(&self) -> u32 {
        self.at
    }

    /// The byte behind the batch, from the start of the chunk in which it begins.
    pub(super) fn end(&self) -> u64 {
        u64::from(self.at) + u64::from(self.size)
    }
}
