//! Requests that wait: for partitions, for records, for replicas, for a disk.
//!
//! An operation lives on the shard of its connection from the request to the reply. It has a deadline, after which it is answered with
//! what there is.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use aplomb_model::Instant;
use aplomb_protocol::EncodeError;
use aplomb_protocol::messages as m;

use crate::api::describe_log_dirs::LogDirsOp;
use crate::api::fetch::FetchOp;
use crate::api::produce::ProduceOp;
use crate::api::scatter::Scatter;
use crate::message::{PartitionAnswer, Slot};
use crate::ports::RequestId;

/// A request that waits.
#[derive(Debug)]
pub(crate) struct Parked {
    pub(crate) request: RequestId,
    pub(crate) what: Waiting,
}

/// What it waits for.
#[derive(Debug)]
pub(crate) enum Waiting {
    Produce(ProduceOp),
    Fetch(Box<FetchOp>),
    ListOffsets(Scatter<m::ListOffsetsResponse>),
    EpochEnds(Scatter<m::OffsetForLeaderEpochResponse>),
    DeleteRecords(Scatter<m::DeleteRecordsResponse>),
    LogDirs(LogDirsOp),
    Producers(Scatter<m::DescribeProducersResponse>),
    Moves(Scatter<m::AlterReplicaLogDirsResponse>),
}

/// All operations of a shard.
#[derive(Debug, Default)]
pub(crate) struct Operations {
    parked: HashMap<u64, Parked>,
    deadlines: BinaryHeap<Reverse<(Instant, u64)>>,
    next: u64,
    fetches: usize,
    produces: usize,
}

impl Operations {
    /// Takes an operation in; it is asked about again at `deadline`, if there is one.
    pub(crate) fn park(&mut self, parked: Parked, deadline: Option<Instant>) -> u64 {
        let number = self.next;
        self.next += 1;
        if let Some(count) = self.counter(&parked.what) {
            *count += 1;
        }
        self.parked.insert(number, parked);
        if let Some(deadline) = deadline {
            self.deadlines.push(Reverse((deadline, number)));
        }
        number
    }

    pub(crate) fn get_mut(&mut self, number: u64) -> Option<&mut Parked> {
        self.parked.get_mut(&number)
    }

    pub(crate) fn remove(&mut self, number: u64) -> Option<Parked> {
        let parked = self.parked.remove(&number)?;
        if let Some(count) = self.counter(&parked.what) {
            *count -= 1;
        }
        Some(parked)
    }

    /// How many fetches and how many produce requests are parked.
    pub(crate) fn parked(&self) -> (usize, usize) {
        (self.fetches, self.produces)
    }

    fn counter(&mut self, what: &Waiting) -> Option<&mut usize> {
        match what {
            Waiting::Fetch(_) => Some(&mut self.fetches),
            Waiting::Produce(_) => Some(&mut self.produces),
            _ => None,
        }
    }

    /// Asks about the operation again at `deadline`.
    pub(crate) fn remind(&mut self, number: u64, deadline: Instant) {
        self.deadlines.push(Reverse((deadline, number)));
    }

    /// The next deadline of an operation that still waits.
    pub(crate) fn wake_at(&mut self) -> Option<Instant> {
        while let Some(Reverse((deadline, number))) = self.deadlines.peek() {
            if self.parked.contains_key(number) {
                return Some(*deadline);
            }
            self.deadlines.pop();
        }
        None
    }

    /// An operation whose deadline has come.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<u64> {
        while self.wake_at()? <= now {
            let Reverse((_, number)) = self.deadlines.pop()?;
            if self.parked.contains_key(&number) {
                return Some(number);
            }
        }
        None
    }

    /// The operations of a connection.
    pub(crate) fn numbers_where(&self, mut test: impl FnMut(&Parked) -> bool) -> Vec<u64> {
        let mut numbers: Vec<u64> =
            self.parked.iter().filter(|(_, parked)| test(parked)).map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        numbers
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.parked.is_empty()
    }
}

impl Waiting {
    /// Takes a partition's answer.
    pub(crate) fn on_answer(&mut self, slot: Slot, answer: PartitionAnswer) {
        match self {
            Self::Produce(op) => op.on_answer(slot, answer),
            Self::Fetch(op) => match answer {
                PartitionAnswer::Read(answer) => op.on_answer(slot, answer, false),
                PartitionAnswer::ReadLater(nothing_yet) => op.on_answer(slot, Ok(nothing_yet), true),
                other => panic!("a read is answered by records, not by {other:?}"),
            },
            Self::ListOffsets(op) => op.on_answer(slot, answer),
            Self::EpochEnds(op) => op.on_answer(slot, answer),
            Self::DeleteRecords(op) => op.on_answer(slot, answer),
            Self::LogDirs(op) => op.on_answer(slot, answer),
            Self::Producers(op) => op.on_answer(slot, answer),
            Self::Moves(op) => op.on_answer(slot, answer),
        }
    }
}

/// A reply that cannot be written is a fault of ours; the connection is closed and the fault logged.
pub(crate) type Replied = Result<crate::ports::Reply, EncodeError>;
