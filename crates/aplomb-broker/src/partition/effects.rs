//! What a partition wants done after it was called: answers, wake-ups, work for its disk.

use aplomb_disk_api::DiskIndex;
use aplomb_log::cold::{ColdPlan, TimeLookup};
use aplomb_model::Offset;

use crate::calls::{Answer, Asker, FindOffset, PartitionKey, ReadCall};
use crate::limits::LimitHit;
use crate::ports::WaitedFor;

/// Collected while partitions are called, then carried out by the shard.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// Answers to whoever asked, in the order in which they were given.
    pub(crate) answers: Vec<(Asker, Answer)>,
    /// Askers whose watch has come true.
    pub(crate) woken: Vec<Asker>,
    /// Partitions whose appends wait for memory.
    pub(crate) starved: Vec<PartitionKey>,
    /// Partitions that now have something for their disk.
    pub(crate) dirty: Vec<PartitionKey>,
    /// Bytes that were appended, by disk.
    pub(crate) appended: Vec<(DiskIndex, u64)>,
    /// Partitions of which an acknowledgement waits for the disk.
    pub(crate) hurried: Vec<PartitionKey>,
    /// Reads that only the disk can answer.
    pub(crate) cold: Vec<ColdWish>,
    /// Places in segments that do not hold what they should: partition, segment, position.
    pub(crate) damaged: Vec<(PartitionKey, Offset, u64)>,
    /// Partitions whose log start offset was moved by a client.
    pub(crate) trimmed: Vec<PartitionKey>,
    /// Partitions that this broker leads from here on, or in a newer epoch.
    pub(crate) elected: Vec<PartitionKey>,
    /// Partitions that are gone.
    pub(crate) resigned: Vec<PartitionKey>,
    /// Batches that are validated in turns.
    pub(crate) checking: Vec<(PartitionKey, Asker)>,
    /// Bytes that were decompressed to validate batches.
    pub(crate) decompressed: u64,
    /// Bounds that clients have met.
    pub(crate) limits: Vec<LimitHit>,
}

impl Effects {
    pub(crate) fn answer(&mut self, asker: Asker, answer: Answer) {
        self.answers.push((asker, answer));
    }

    /// Who asked begins to wait for this. Only clients are told: theirs is the time that counts.
    pub(crate) fn waits(&mut self, asker: Asker, what: WaitedFor) {
        if matches!(asker, Asker::Client(..)) {
            self.answers.push((asker, Answer::Waits(what)));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        let Self {
            answers,
            woken,
            starved,
            dirty,
            appended,
            hurried,
            cold,
            damaged,
            trimmed,
            elected,
            resigned,
            checking,
            decompressed,
            limits,
        } = self;
        answers.is_empty()
            && woken.is_empty()
            && starved.is_empty()
            && dirty.is_empty()
            && appended.is_empty()
            && hurried.is_empty()
            && cold.is_empty()
            && damaged.is_empty()
            && trimmed.is_empty()
            && elected.is_empty()
            && resigned.is_empty()
            && checking.is_empty()
            && *decompressed == 0
            && limits.is_empty()
    }
}

/// A part of a request that needs the disk, or memory that readers of its records hold.
#[derive(Debug)]
pub(crate) struct ColdWish {
    pub(crate) key: PartitionKey,
    pub(crate) asker: Asker,
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
