//! What a producer has under way to one partition.
//!
//! What always holds: batches wait in the order in which their first records were due, which is the
//! order of their sequence numbers; a batch that has a sequence number of the producer's present id
//! keeps it.

use std::collections::VecDeque;
use std::time::Duration;

use aplomb_model::batch::{Codec, ProducerStamp};
use aplomb_model::{Instant, ProducerEpoch, ProducerId, Timestamp};

use crate::batch::{Batch, OpenBatch};

/// A partition that is written to.
#[derive(Debug)]
pub(super) struct PartitionQueue {
    compression: Codec,
    open: Option<OpenBatch>,
    ready: VecDeque<Batch>,
    in_flight: usize,
    next_sequence: i32,
    rests_until: Option<Instant>,
}

impl PartitionQueue {
    pub(super) fn new(compression: Codec) -> Self {
        Self {
            compression,
            open: None,
            ready: VecDeque::new(),
            in_flight: 0,
            next_sequence: 0,
            rests_until: None,
        }
    }

    /// Whether nothing waits here, and nothing is under way.
    pub(super) fn is_empty(&self) -> bool {
        self.in_flight == 0 && self.ready.is_empty() && self.open.is_none()
    }

    /// Adds a record to the open batch. Returns how much the batch has grown, and its size.
    pub(super) fn append(
        &mut self,
        due: Instant,
        time: Timestamp,
        key: Option<&[u8]>,
        value: &[u8],
    ) -> (usize, usize) {
        let open = self.open.get_or_insert_with(|| OpenBatch::new(self.compression));
        let before = open.size();
        open.append(due, time, key, value);
        (open.size() - before, open.size())
    }

    /// When the first record of the open batch was due.
    pub(super) fn open_since(&self) -> Option<Instant> {
        self.open.as_ref().and_then(OpenBatch::first_due)
    }

    /// Closes the open batch. Returns whether there was one.
    pub(super) fn seal(&mut self) -> bool {
        let Some(open) = self.open.take() else { return false };
        let mut batch = open.seal();
        // The header was not counted while the batch was open.
        batch.held -= OpenBatch::new(self.compression).size();
        self.ready.push_back(batch);
        true
    }

    /// Whether batches may be sent, after an error.
    pub(super) fn is_awake(&self, now: Instant) -> bool {
        self.rests_until.is_none_or(|until| now >= until)
    }

    /// The batch that is next.
    pub(super) fn peek(&self) -> Option<&Batch> {
        self.ready.front()
    }

    /// Takes the batch that is next to be sent, with a sequence number where there is an id.
    pub(super) fn take(&mut self, identity: Option<(ProducerId, ProducerEpoch)>) -> Option<Batch> {
        let mut batch = self.ready.pop_front()?;
        if let Some((id, epoch)) = identity
            && batch.stamp.is_none_or(|stamp| (stamp.id, stamp.epoch) != (id, epoch))
        {
            let base_sequence = self.next_sequence;
            batch.stamp(ProducerStamp { id, epoch, base_sequence });
            self.next_sequence = sequence_after(base_sequence, batch.count());
        }
        self.rests_until = None;
        self.in_flight += 1;
        Some(batch)
    }

    /// Takes the batch that is next if it is older than `limit`.
    pub(super) fn take_expired(&mut self, limit: Duration, now: Instant) -> Option<Batch> {
        let is_old = self.ready.front().is_some_and(|batch| batch.is_older_than(limit, now));
        if is_old { self.ready.pop_front() } else { None }
    }

    /// A batch that was taken is answered, or its answer is lost.
    pub(super) fn ended(&mut self) {
        self.in_flight -= 1;
    }

    /// A batch that was taken has to be sent again, when the partition has rested.
    pub(super) fn again(&mut self, batch: Batch, rests_until: Instant) {
        self.rests_until = Some(rests_until);
        let place = self.ready.partition_point(|other| other.due[0] < batch.due[0]);
        self.ready.insert(place, batch);
    }

    /// Whether a broken sequence cannot come from a batch that goes again: nothing that has a
    /// sequence number is under way or waits here.
    pub(super) fn is_out_of_step(&self) -> bool {
        self.in_flight == 0 && self.ready.front().is_none_or(|next| next.stamp.is_none())
    }

    /// Sequence numbers begin anew, with a new id.
    pub(super) fn restart_sequence(&mut self) {
        self.next_sequence = 0;
    }

    /// The moments at which something changes by time alone.
    pub(super) fn wakes(&self, linger: Duration, limit: Duration) -> impl Iterator<Item = Instant> {
        let lingered = self.open_since().map(|due| due + linger);
        let rested = self.rests_until.filter(|_| !self.ready.is_empty());
        let expired = self.ready.front().map(|batch| batch.due[0] + limit);
        lingered.into_iter().chain(rested).chain(expired)
    }

    /// The run is over: all batches that wait, and nothing is under way any more.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Batch> {
        self.in_flight = 0;
        self.ready.drain(..).chain(self.open.take().map(OpenBatch::seal))
    }
}

/// The sequence number after `count` records from `first`; after 2^31-1 comes 0.
fn sequence_after(first: i32, count: usize) -> i32 {
    ((i64::from(first) + count as i64) & i64::from(i32::MAX)) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_numbers_begin_anew_after_the_largest() {
        assert_eq!(sequence_after(5, 3), 8);
        assert_eq!(sequence_after(i32::MAX, 1), 0);
        assert_eq!(sequence_after(i32::MAX - 1, 3), 1);
    }
}
