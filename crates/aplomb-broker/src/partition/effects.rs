//! What a partition wants done after a turn: answers, wake-ups, work for its disk.

use aplomb_disk_api::DiskIndex;
use aplomb_log::cold::{ColdPlan, TimeLookup};
use aplomb_model::Offset;

use crate::message::{FindOffset, OpId, PartitionAnswer, PartitionKey, ReadCall, Slot};

/// Collected over a turn of the shard's loop, then carried out.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// Answers to operations, wherever they live.
    pub(crate) answers: Vec<(OpId, Slot, PartitionAnswer)>,
    /// Operations whose watch has come true.
    pub(crate) woken: Vec<(OpId, Slot)>,
    /// Partitions that now have something for their disk.
    pub(crate) dirty: Vec<PartitionKey>,
    /// Bytes that were appended, by disk.
    pub(crate) appended: Vec<(DiskIndex, u64)>,
    /// Partitions of which an acknowledgement waits for the disk.
    pub(crate) hurried: Vec<PartitionKey>,
    /// Partitions whose batches wait for memory.
    pub(crate) starved: Vec<PartitionKey>,
    /// Reads that only the disk can answer.
    pub(crate) cold: Vec<ColdWish>,
    /// Places in segments that do not hold what they should: partition, segment, position.
    pub(crate) damaged: Vec<(PartitionKey, Offset, u64)>,
    /// Partitions whose log start was moved by a client.
    pub(crate) trimmed: Vec<PartitionKey>,
}

/// A part of an operation that needs the disk, or memory that readers of its records hold.
#[derive(Debug)]
pub(crate) struct ColdWish {
    pub(crate) key: PartitionKey,
    pub(crate) op: OpId,
    pub(crate) slot: Slot,
    pub(crate) what: ColdKind,
}

/// What the disk is needed for.
#[derive(Debug)]
pub(crate) enum ColdKind {
    /// Old records.
    Read { plan: Box<ColdPlan>, call: ReadCall },
    /// Nothing yet: memory for readers is used up.
    Wait { call: ReadCall },
    /// An old offset.
    Time { lookup: Box<TimeLookup>, find: FindOffset },
}
