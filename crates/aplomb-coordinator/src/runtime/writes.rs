//! What a coordinator has written and its log has not kept yet.
//!
//! What always holds: batches lie behind each other without gaps, and `end` is where the last one
//! ends; what was decided on the ground of a refused batch is refused with it.

use std::collections::VecDeque;

use aplomb_model::{Offset, ProducerId};

use super::machine::{Machine, Ticket};

/// One turn's records and who waits for them.
#[derive(Debug)]
pub(super) struct Unit<M: Machine + ?Sized> {
    /// The records that take back what is applied, in the order in which it was applied.
    pub(super) undo: Vec<M::Record>,
    pub(super) answers: Vec<(Ticket, M::Reply)>,
    pub(super) after: Vec<M::After>,
    /// It is the end of a transaction.
    pub(super) marker: Option<Marker>,
}

/// The end of a producer's transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Marker {
    pub(super) ticket: Ticket,
    pub(super) producer: ProducerId,
    pub(super) is_committed: bool,
}

/// A batch that the log has not answered for.
#[derive(Debug)]
pub(super) struct Batch<M: Machine + ?Sized> {
    number: u64,
    /// Where it was written for.
    pub(super) base: Offset,
    bytes: usize,
    pub(super) units: Vec<Unit<M>>,
}

/// Batches that the log has not answered for, oldest first.
#[derive(Debug)]
pub(super) struct Writes<M: Machine + ?Sized> {
    batches: VecDeque<Batch<M>>,
    end: Offset,
    next: u64,
    bytes: usize,
}

impl<M: Machine + ?Sized> Writes<M> {
    pub(super) fn new(end: Offset) -> Self {
        Self { batches: VecDeque::new(), end, next: 0, bytes: 0 }
    }

    /// Where the log will end when all of it is kept.
    pub(super) fn end(&self) -> Offset {
        self.end
    }

    pub(super) fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    /// Bytes of all batches.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The last unit that was written, if it is not kept yet.
    pub(super) fn last(&mut self) -> Option<&mut Unit<M>> {
        self.batches.back_mut()?.units.last_mut()
    }

    /// Takes a batch of so many records. Gives the number by which the log answers.
    pub(super) fn push(&mut self, records: u32, bytes: usize, units: Vec<Unit<M>>) -> u64 {
        assert!(records > 0 && !units.is_empty(), "a batch without records is none");
        let (number, base) = (self.next, self.end);
        self.next += 1;
        self.end = Offset::new(base.get() + u64::from(records));
        self.bytes += bytes;
        self.batches.push_back(Batch { number, base, bytes, units });
        number
    }

    /// The log has kept a batch. `None`: it had been given up.
    pub(super) fn on_kept(&mut self, number: u64) -> Option<Batch<M>> {
        let kept = self.batches.pop_front_if(|first| first.number == number)?;
        self.bytes -= kept.bytes;
        Some(kept)
    }

    /// The log has refused a batch: gives it and all behind it, oldest first. Empty: it had been
    /// given up.
    pub(super) fn on_refused(&mut self, number: u64) -> Vec<Batch<M>> {
        let Some(place) = self.batches.iter().position(|batch| batch.number == number) else {
            return Vec::new();
        };
        self.end = self.batches[place].base;
        let refused: Vec<_> = self.batches.drain(place..).collect();
        self.bytes -= refused.iter().map(|batch| batch.bytes).sum::<usize>();
        refused
    }

    /// Gives up all of them: whatever the log says of them is about nothing.
    pub(super) fn clear(&mut self) -> Vec<Batch<M>> {
        self.bytes = 0;
        self.batches.drain(..).collect()
    }
}
