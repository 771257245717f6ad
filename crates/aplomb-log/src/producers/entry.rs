//! What is known of one producer: its epoch, its last five batches, its open transaction
//! (`org.apache.kafka.storage.internals.log.ProducerStateEntry`).
//!
//! Five, because a producer has at most five requests under way to a broker, and any of them may be
//! sent again. Next: `check.rs` for what follows from it.

use aplomb_model::batch::BatchHeader;
use aplomb_model::{Offset, ProducerEpoch, ProducerId, Timestamp};

const RETAINED: usize = 5;

/// The sequence number of batches that have none.
pub(super) const NO_SEQUENCE: i32 = -1;
/// The epoch of a producer of which nothing is known.
pub(super) const NO_EPOCH: ProducerEpoch = ProducerEpoch(-1);
/// The coordinator epoch of a producer that has had no transaction marker.
pub(super) const NO_COORDINATOR: i32 = -1;

/// The facts of a batch of records that has a producer id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProducerBatch {
    /// Which producer wrote it.
    pub producer: ProducerId,
    /// The producer's incarnation, which fences earlier ones.
    pub epoch: ProducerEpoch,
    /// The first record's sequence number; -1 if it has none.
    pub base_sequence: i32,
    /// The last offset, counted from the first.
    pub last_offset_delta: u32,
    /// Whether it belongs to a transaction.
    pub transactional: bool,
}

impl ProducerBatch {
    /// Reads the facts from a header; `None` without a producer id, and for control batches.
    #[must_use]
    pub fn of(header: &BatchHeader) -> Option<Self> {
        let stamp = header.producer().filter(|_| !header.is_control())?;
        Some(Self {
            producer: stamp.id,
            epoch: stamp.epoch,
            base_sequence: stamp.base_sequence,
            last_offset_delta: header.last_offset_delta(),
            transactional: header.is_transactional(),
        })
    }

    /// The last record's sequence number; -1 if the batch has none.
    #[must_use]
    pub fn last_sequence(&self) -> i32 {
        match u32::try_from(self.base_sequence) {
            Ok(base) => wrapped(base.wrapping_add(self.last_offset_delta)),
            Err(_) => NO_SEQUENCE,
        }
    }
}

/// Sequence numbers count modulo 2^31.
const fn wrapped(sequence: u32) -> i32 {
    (sequence & i32::MAX.unsigned_abs()).cast_signed()
}

/// A batch that is remembered to recognise its repetition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetainedBatch {
    /// The last record's sequence number; -1 if the batch had none.
    pub last_sequence: i32,
    /// The last record's offset.
    pub last_offset: Offset,
    /// The last offset, counted from the first; not above `last_offset`.
    pub offset_delta: u32,
    /// The batch's greatest timestamp.
    pub timestamp: Timestamp,
}

impl RetainedBatch {
    /// The first record's offset.
    #[must_use]
    pub fn base_offset(&self) -> Offset {
        Offset::new(self.last_offset.get() - u64::from(self.offset_delta))
    }

    /// The first record's sequence number.
    #[must_use]
    pub fn first_sequence(&self) -> i32 {
        wrapped(self.last_sequence.cast_unsigned().wrapping_sub(self.offset_delta))
    }
}

/// What is known of one producer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProducerEntry {
    epoch: ProducerEpoch,
    coordinator_epoch: i32,
    last_timestamp: Timestamp,
    open_transaction: Option<Offset>,
    /// Oldest first; only the first `retained_len` count.
    retained: [RetainedBatch; RETAINED],
    retained_len: u8,
}

impl ProducerEntry {
    /// A producer that was never met.
    pub(super) fn unknown() -> Self {
        Self::restored(NO_EPOCH, NO_COORDINATOR, Timestamp::NONE, None)
    }

    /// A producer as a snapshot has it, before its last batch.
    pub(super) fn restored(
        epoch: ProducerEpoch,
        coordinator_epoch: i32,
        last_timestamp: Timestamp,
        open_transaction: Option<Offset>,
    ) -> Self {
        Self {
            epoch,
            coordinator_epoch,
            last_timestamp,
            open_transaction,
            retained: [RetainedBatch::default(); RETAINED],
            retained_len: 0,
        }
    }

    /// The same with these batches, oldest first; `None` if they are more than are remembered.
    pub(super) fn with_retained(mut self, batches: &[RetainedBatch]) -> Option<Self> {
        self.retained.get_mut(..batches.len())?.copy_from_slice(batches);
        self.retained_len = u8::try_from(batches.len()).ok()?;
        Some(self)
    }

    /// Whether this is the same, perhaps with older batches. The timestamp of a batch is no matter:
    /// a snapshot has the last of a marker in its place.
    #[cfg(debug_assertions)]
    pub(crate) fn has_all_of(&self, other: &Self) -> bool {
        let rest = |entry: &Self| Self { retained: Default::default(), retained_len: 0, ..entry.clone() };
        let batches = |entry: &Self| -> Vec<RetainedBatch> {
            entry
                .retained()
                .iter()
                .map(|batch| RetainedBatch { timestamp: Timestamp::NONE, ..*batch })
                .collect()
        };
        rest(self) == rest(other) && batches(self).ends_with(&batches(other))
    }

    /// The producer's latest incarnation.
    #[must_use]
    pub fn epoch(&self) -> ProducerEpoch {
        self.epoch
    }

    /// The epoch of the coordinator that wrote the last marker; -1 before the first.
    #[must_use]
    pub fn coordinator_epoch(&self) -> i32 {
        self.coordinator_epoch
    }

    /// When the producer was last heard of: its last batch's greatest timestamp, or its last
    /// marker's.
    #[must_use]
    pub fn last_timestamp(&self) -> Timestamp {
        self.last_timestamp
    }

    /// Where its open transaction begins, if it has one.
    #[must_use]
    pub fn open_transaction(&self) -> Option<Offset> {
        self.open_transaction
    }

    /// The last batches of the current epoch, oldest first.
    #[must_use]
    pub fn retained(&self) -> &[RetainedBatch] {
        &self.retained[..usize::from(self.retained_len)]
    }

    /// The last batch of the current epoch; `None` if only markers are known.
    #[must_use]
    pub fn last_batch(&self) -> Option<&RetainedBatch> {
        self.retained().last()
    }

    /// The last sequence number; -1 if there is none.
    #[must_use]
    pub fn last_sequence(&self) -> i32 {
        self.last_batch().map_or(NO_SEQUENCE, |batch| batch.last_sequence)
    }

    /// Whether a batch of the current epoch that begins at this sequence number leaves some out: it
    /// is less than half of all numbers ahead of the one that is due.
    #[must_use]
    pub fn leaves_gap(&self, base_sequence: i32) -> bool {
        let due = self.last_sequence().wrapping_add(1);
        let ahead = wrapped(base_sequence.wrapping_sub(due).cast_unsigned());
        ahead > 0 && ahead < i32::MAX / 2
    }

    /// The remembered batch of which `batch` is a repetition.
    pub(super) fn find_duplicate(&self, batch: &ProducerBatch) -> Option<&RetainedBatch> {
        self.retained().iter().find(|retained| {
            batch.epoch == self.epoch
                && batch.base_sequence == retained.first_sequence()
                && batch.last_sequence() == retained.last_sequence
        })
    }

    /// Remembers a batch; those of another epoch are forgotten.
    pub(super) fn remember(&mut self, epoch: ProducerEpoch, batch: RetainedBatch) {
        self.enter(epoch);
        self.last_timestamp = batch.timestamp;
        if usize::from(self.retained_len) == RETAINED {
            self.retained.rotate_left(1);
        } else {
            self.retained_len += 1;
        }
        self.retained[usize::from(self.retained_len) - 1] = batch;
    }

    pub(super) fn open(&mut self, first_offset: Offset) {
        self.open_transaction = Some(first_offset);
    }

    /// Ends the transaction, if there is one, and returns where it began.
    pub(super) fn end_transaction(
        &mut self,
        epoch: ProducerEpoch,
        coordinator_epoch: i32,
        at: Timestamp,
    ) -> Option<Offset> {
        self.enter(epoch);
        self.coordinator_epoch = coordinator_epoch;
        self.last_timestamp = at;
        self.open_transaction.take()
    }

    fn enter(&mut self, epoch: ProducerEpoch) {
        if self.epoch != epoch {
            self.epoch = epoch;
            self.retained_len = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(base_sequence: i32, last_offset_delta: u32) -> ProducerBatch {
        let producer = ProducerId::from_wire(7).unwrap();
        let epoch = ProducerEpoch(0);
        ProducerBatch { producer, epoch, base_sequence, last_offset_delta, transactional: false }
    }

    #[test]
    fn sequence_numbers_go_on_at_0_after_the_greatest() {
        assert_eq!(batch(i32::MAX, 0).last_sequence(), i32::MAX);
        assert_eq!(batch(i32::MAX, 1).last_sequence(), 0);
        assert_eq!(batch(i32::MAX - 1, 4).last_sequence(), 2);
        assert_eq!(batch(-1, 4).last_sequence(), -1);
    }

    #[test]
    fn what_is_ahead_of_what_is_due_leaves_a_gap() {
        let mut entry = ProducerEntry::unknown();
        assert_eq!([0, 1, 5].map(|base| entry.leaves_gap(base)), [false, true, true]);
        for (last, due) in [(0, 1), (6, 7), (i32::MAX, 0), (i32::MAX - 1, i32::MAX)] {
            entry.remember(
                ProducerEpoch(3),
                RetainedBatch { last_sequence: last, ..RetainedBatch::default() },
            );
            let next = if due == i32::MAX { 0 } else { due + 1 };
            assert_eq!([last, due, next].map(|base| entry.leaves_gap(base)), [false, false, true]);
        }
    }

    #[test]
    fn the_first_sequence_number_follows_from_the_last() {
        for (first, delta) in [(0, 0), (10, 4), (i32::MAX, 0), (i32::MAX, 1), (i32::MAX - 1, 4)] {
            let retained = RetainedBatch {
                last_sequence: batch(first, delta).last_sequence(),
                last_offset: Offset::new(100),
                offset_delta: delta,
                timestamp: Timestamp(0),
            };
            assert_eq!(retained.first_sequence(), first);
            assert_eq!(retained.base_offset(), Offset::new(100 - u64::from(delta)));
        }
    }
}
