//! The producers of one partition and their transactions
//! (`org.apache.kafka.storage.internals.log.ProducerStateManager`).
//!
//! A leader calls [`ProducerState::check`] and, once the batch has its offsets,
//! [`ProducerState::apply`]. Replication and recovery only apply, or let [`ProducerState::replay`]
//! sort batches and markers out. Holds: an entry's open transaction is in `open`, and nothing else
//! is. Next: `check.rs` for the rules, `snapshot.rs` for the file.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use aplomb_model::batch::{BatchHeader, EndTxnMarker};
use aplomb_model::{Offset, ProducerEpoch, ProducerId, Timestamp};
use bytes::Bytes;

use super::check::{check_batch, check_marker};
use super::{
    Admission, AppendOrigin, CompletedTransaction, MarkerEpochRule, MarkerError, OpenTransaction,
    ProducerBatch, ProducerEntry, RetainedBatch, SequenceError, TransactionMarker, encode_snapshot,
};

/// What a partition remembers of its producers, up to [`Self::end`].
#[derive(Debug, Default)]
pub struct ProducerState {
    // Boxed, and in a map that starts without memory: most partitions have no producer or one.
    producers: BTreeMap<ProducerId, Box<ProducerEntry>>,
    open: BTreeSet<(Offset, ProducerId)>,
    /// First and last offset of transactions whose markers may not be replicated yet.
    unreplicated: BTreeSet<(Offset, Offset)>,
    end: Offset,
    snapshot_at: Offset,
}

impl ProducerState {
    /// No producers, in a log that begins (or is truncated fully and begins again) at `start`.
    #[must_use]
    pub fn starting_at(start: Offset) -> Self {
        Self { end: start, snapshot_at: start, ..Self::default() }
    }

    /// The state of a snapshot taken at `at`, without the producers that have been idle for
    /// `expire_after` (`producer.id.expiration.ms`). The batches from `at` on are to be replayed.
    #[must_use]
    pub fn restore(
        at: Offset,
        entries: Vec<(ProducerId, ProducerEntry)>,
        now: Timestamp,
        expire_after: Duration,
    ) -> Self {
        let producers = entries.into_iter().map(|(producer, entry)| (producer, Box::new(entry)));
        let mut state = Self { producers: producers.collect(), ..Self::starting_at(at) };
        for (producer, entry) in &state.producers {
            state.open.extend(entry.open_transaction().map(|first| (first, *producer)));
        }
        state.expire(now, expire_after);
        state
    }

    /// Says whether a leader may append a batch, or has it already.
    ///
    /// # Errors
    /// [`SequenceError`] if it does not follow what the producer has written before.
    pub fn check(&self, batch: &ProducerBatch, origin: AppendOrigin) -> Result<Admission, SequenceError> {
        match self.producers.get(&batch.producer) {
            Some(entry) => check_batch(entry, batch, origin),
            None => check_batch(&ProducerEntry::unknown(), batch, origin),
        }
    }

    /// Says whether a leader may append a transaction marker.
    ///
    /// # Errors
    /// [`MarkerError`] if the marker comes from before something that is in the log already.
    pub fn check_marker(&self, marker: &TransactionMarker, rule: MarkerEpochRule) -> Result<(), MarkerError> {
        match self.producers.get(&marker.producer) {
            Some(entry) => check_marker(entry, marker, rule),
            None => check_marker(&ProducerEntry::unknown(), marker, rule),
        }
    }

    /// Takes note of a batch of records that was appended at `base_offset`. Nothing is checked
    /// here: what is in the log is true.
    pub fn apply(&mut self, batch: &ProducerBatch, base_offset: Offset, max_timestamp: Timestamp) {
        let last_offset = base_offset.plus(u64::from(batch.last_offset_delta));
        let entry = self.entry(batch.producer);
        let retained = RetainedBatch {
            last_sequence: batch.last_sequence(),
            last_offset,
            offset_delta: batch.last_offset_delta,
            timestamp: max_timestamp,
        };
        entry.remember(batch.epoch, retained);
        if batch.transactional && entry.open_transaction().is_none() {
            entry.open(base_offset);
            self.open.insert((base_offset, batch.producer));
        }
        self.advance_to(last_offset.next());
    }

    /// Takes note of a transaction marker that was appended. `None` if no transaction was open:
    /// such a marker changes nothing for readers.
    pub fn complete(&mut self, marker: &TransactionMarker) -> Option<CompletedTransaction> {
        let TransactionMarker { producer, epoch, end, offset, timestamp } = *marker;
        self.advance_to(offset.next());
        let first_offset = self.entry(producer).end_transaction(epoch, end.coordinator_epoch, timestamp)?;
        self.open.remove(&(first_offset, producer));
        self.unreplicated.insert((first_offset, offset));
        Some(CompletedTransaction {
            producer,
            first_offset,
            last_offset: offset,
            committed: end.committed,
            last_stable_offset: self.open.first().map_or(offset.next(), |(first, _)| *first),
        })
    }

    /// Takes note of any batch found in the log. `marker` is a control batch's record, if it is a
    /// transaction marker; a compacted log may have emptied the batch.
    pub fn replay(
        &mut self,
        header: &BatchHeader,
        marker: Option<EndTxnMarker>,
    ) -> Option<CompletedTransaction> {
        let completed = match (header.producer(), marker) {
            (Some(stamp), Some(end)) if header.is_control() => self.complete(&TransactionMarker {
                producer: stamp.id,
                epoch: stamp.epoch,
                end,
                offset: header.base_offset(),
                timestamp: header.max_timestamp(),
            }),
            _ => {
                if let Some(batch) = ProducerBatch::of(header) {
                    self.apply(&batch, header.base_offset(), header.max_timestamp());
                }
                None
            }
        };
        self.advance_to(header.last_offset().next());
        completed
    }

    /// Everything below `end` has been seen, by `apply` or because it has no producer.
    pub fn advance_to(&mut self, end: Offset) {
        self.end = self.end.max(end);
    }

    /// Up to where the log has been seen, exclusive.
    #[must_use]
    pub fn end(&self) -> Offset {
        self.end
    }

    /// The first offset that READ_COMMITTED readers must not see yet: of a transaction that is
    /// open, or whose marker is not replicated. `None` if everything is decided. May lie below the
    /// log's start.
    #[must_use]
    pub fn first_unstable_offset(&self) -> Option<Offset> {
        let open = self.open.first().map(|(first, _)| *first);
        let unreplicated = self.unreplicated.first().map(|(first, _)| *first);
        open.into_iter().chain(unreplicated).min()
    }

    /// The high watermark has moved: markers below it are replicated.
    pub fn on_high_watermark(&mut self, high_watermark: Offset) {
        self.unreplicated.retain(|(_, last)| *last >= high_watermark);
    }

    /// The log now starts at `start`. Producers are kept, although their batches may be gone:
    /// sequence numbers go on.
    pub fn on_log_start(&mut self, start: Offset) {
        self.on_high_watermark(start);
        if self.end < start {
            self.end = start;
            self.snapshot_at = self.snapshot_at.max(start);
        }
    }

    /// Forgets producers that have been idle for `idle_for`, but none with an open transaction.
    /// Returns how many.
    pub fn expire(&mut self, now: Timestamp, idle_for: Duration) -> usize {
        let before = self.producers.len();
        self.producers.retain(|_, entry| {
            let idle = now.0.saturating_sub(entry.last_timestamp().0);
            let expired = u128::try_from(idle).is_ok_and(|idle| idle >= idle_for.as_millis());
            entry.open_transaction().is_some() || !expired
        });
        before - self.producers.len()
    }

    /// The file to be written at a roll, a close or after recovery: producer state up to the offset
    /// in its name ([`crate::layout::SegmentFile::Snapshot`]), and its bytes. `None` if there is
    /// one at that offset.
    pub fn take_snapshot(&mut self) -> Option<(Offset, Bytes)> {
        if self.end <= self.snapshot_at {
            return None;
        }
        self.snapshot_at = self.end;
        Some((self.end, encode_snapshot(self.producers()).into()))
    }

    /// The snapshots that were taken lie elsewhere: the next is taken even if nothing has changed.
    pub(crate) fn forget_snapshots(&mut self) {
        self.snapshot_at = Offset::ZERO;
    }

    /// Whether nothing is remembered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.producers.is_empty() && self.unreplicated.is_empty()
    }

    /// How many producers are remembered.
    #[must_use]
    pub fn producer_count(&self) -> usize {
        self.producers.len()
    }

    /// The producers, by id.
    pub fn producers(&self) -> impl ExactSizeIterator<Item = (ProducerId, &ProducerEntry)> {
        self.producers.iter().map(|(producer, entry)| (*producer, entry.as_ref()))
    }

    /// What is known of a producer.
    #[must_use]
    pub fn producer(&self, producer: ProducerId) -> Option<&ProducerEntry> {
        self.producers.get(&producer).map(Box::as_ref)
    }

    /// Whether that incarnation of a producer has a transaction open here, so that its next batch
    /// need not be verified with the transaction coordinator.
    #[must_use]
    pub fn has_open_transaction(&self, producer: ProducerId, epoch: ProducerEpoch) -> bool {
        self.producer(producer)
            .is_some_and(|entry| entry.open_transaction().is_some() && entry.epoch() == epoch)
    }

    /// The open transaction that holds readers back; one that stays for long was left hanging.
    #[must_use]
    pub fn oldest_open_transaction(&self) -> Option<OpenTransaction> {
        let (first_offset, producer) = *self.open.first()?;
        let last_timestamp = self.producers[&producer].last_timestamp();
        Some(OpenTransaction { producer, first_offset, last_timestamp })
    }

    fn entry(&mut self, producer: ProducerId) -> &mut ProducerEntry {
        self.producers.entry(producer).or_insert_with(|| Box::new(ProducerEntry::unknown()))
    }
}

#[cfg(test)]
mod tests {
    use aplomb_model::ErrorCode;

    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);

    fn id(raw: i64) -> ProducerId {
        ProducerId::from_wire(raw).unwrap()
    }

    /// Ten records of producer 7.
    fn ten(epoch: i16, base_sequence: i32) -> ProducerBatch {
        let epoch = ProducerEpoch(epoch);
        ProducerBatch { producer: id(7), epoch, base_sequence, last_offset_delta: 9, transactional: false }
    }

    fn in_transaction(producer: i64) -> ProducerBatch {
        ProducerBatch { producer: id(producer), transactional: true, ..ten(0, 0) }
    }

    fn marker(producer: i64, epoch: i16, offset: u64, committed: bool) -> TransactionMarker {
        TransactionMarker {
            producer: id(producer),
            epoch: ProducerEpoch(epoch),
            end: EndTxnMarker { committed, coordinator_epoch: 3 },
            offset: Offset::new(offset),
            timestamp: Timestamp(offset as i64),
        }
    }

    fn apply(state: &mut ProducerState, batch: ProducerBatch, at: u64) {
        state.apply(&batch, Offset::new(at), Timestamp(at as i64));
    }

    fn asked(state: &ProducerState, batch: ProducerBatch) -> Result<Admission, SequenceError> {
        state.check(&batch, AppendOrigin::Client)
    }

    #[test]
    fn a_producer_that_is_not_known_may_begin_anywhere() {
        assert_eq!(asked(&ProducerState::default(), ten(4, 1230)), Ok(Admission::Append));
    }

    #[test]
    fn the_last_five_batches_are_recognised_and_older_ones_are_out_of_order() {
        let mut state = ProducerState::default();
        (0..6).for_each(|n| apply(&mut state, ten(0, n * 10), n as u64 * 10));
        for n in 1..6_u64 {
            let known = Admission::Duplicate {
                base_offset: Offset::new(n * 10),
                last_offset: Offset::new(n * 10 + 9),
                timestamp: Timestamp(n as i64 * 10),
            };
            assert_eq!(asked(&state, ten(0, n as i32 * 10)), Ok(known));
        }
        let too_old = SequenceError::OutOfOrder { producer: id(7), sequence: 0, last: 59 };
        assert_eq!(asked(&state, ten(0, 0)), Err(too_old));
        assert_eq!(ErrorCode::from(&too_old), ErrorCode::OutOfOrderSequenceNumber);
        assert_eq!(asked(&state, ten(0, 60)), Ok(Admission::Append));
        assert!(asked(&state, ten(0, 61)).is_err());
        assert!(asked(&state, ten(0, 55)).is_err(), "part of one batch, part of none");
    }

    #[test]
    fn a_new_epoch_begins_at_0_and_ends_the_old_one() {
        let mut state = ProducerState::default();
        apply(&mut state, ten(1, 0), 0);
        let not_at_zero =
            SequenceError::NewEpochNotAtZero { producer: id(7), epoch: ProducerEpoch(2), sequence: 10 };
        assert_eq!(asked(&state, ten(2, 10)), Err(not_at_zero));
        assert_eq!(asked(&state, ten(2, 0)), Ok(Admission::Append));
        apply(&mut state, ten(2, 0), 10);
        let old =
            SequenceError::OldEpoch { producer: id(7), epoch: ProducerEpoch(1), current: ProducerEpoch(2) };
        assert_eq!(asked(&state, ten(1, 10)), Err(old));
        assert_eq!(ErrorCode::from(&old), ErrorCode::InvalidProducerEpoch);
        assert_eq!(state.producer(id(7)).unwrap().retained().len(), 1);
    }

    #[test]
    fn sequence_numbers_wrap() {
        let mut state = ProducerState::default();
        apply(&mut state, ten(0, i32::MAX - 9), 0);
        assert_eq!(asked(&state, ten(0, 0)), Ok(Admission::Append));
        apply(&mut state, ten(0, i32::MAX - 4), 10);
        assert_eq!(asked(&state, ten(0, 5)), Ok(Admission::Append));
        assert!(matches!(asked(&state, ten(0, i32::MAX - 4)), Ok(Admission::Duplicate { .. })));
    }

    #[test]
    fn of_what_a_coordinator_writes_only_the_epoch_is_checked() {
        let mut state = ProducerState::default();
        let offsets = in_transaction(7);
        apply(&mut state, offsets, 0);
        assert_eq!(state.check(&offsets, AppendOrigin::Coordinator), Ok(Admission::Append));
        apply(&mut state, ProducerBatch { epoch: ProducerEpoch(1), ..offsets }, 10);
        assert!(state.check(&offsets, AppendOrigin::Coordinator).is_err());
    }

    #[test]
    fn readers_wait_for_open_transactions_and_for_markers_to_be_replicated() {
        let mut state = ProducerState::default();
        apply(&mut state, in_transaction(1), 0);
        apply(&mut state, in_transaction(2), 10);
        apply(&mut state, ProducerBatch { base_sequence: 10, ..in_transaction(1) }, 20);
        assert_eq!(state.first_unstable_offset(), Some(Offset::ZERO));
        let oldest = state.oldest_open_transaction().unwrap();
        assert_eq!((oldest.producer, oldest.last_timestamp), (id(1), Timestamp(20)));

        let first = state.complete(&marker(1, 0, 30, false)).unwrap();
        assert_eq!((first.first_offset, first.last_stable_offset), (Offset::ZERO, Offset::new(10)));
        let aborted = first.aborted().unwrap();
        assert_eq!((aborted.producer, aborted.last_offset), (id(1), Offset::new(30)));
        assert_eq!(state.first_unstable_offset(), Some(Offset::ZERO));
        state.on_high_watermark(Offset::new(30));
        assert_eq!(state.first_unstable_offset(), Some(Offset::ZERO), "the marker itself is not below 30");
        state.on_high_watermark(Offset::new(31));
        assert_eq!(state.first_unstable_offset(), Some(Offset::new(10)));

        let second = state.complete(&marker(2, 0, 31, true)).unwrap();
        assert_eq!((second.aborted(), second.last_stable_offset), (None, Offset::new(32)));
        state.on_high_watermark(Offset::new(32));
        assert_eq!((state.first_unstable_offset(), state.end()), (None, Offset::new(32)));
        assert_eq!(state.complete(&marker(2, 0, 32, true)), None, "nothing was open");
    }

    #[test]
    fn a_batch_outside_of_the_open_transaction_is_refused() {
        let mut state = ProducerState::default();
        apply(&mut state, in_transaction(7), 5);
        assert!(state.has_open_transaction(id(7), ProducerEpoch(0)));
        let outside = SequenceError::OutsideTransaction { producer: id(7), open_since: Offset::new(5) };
        assert_eq!(asked(&state, ten(0, 10)), Err(outside));
        assert_eq!(ErrorCode::from(&outside), ErrorCode::InvalidTxnState);
        assert_eq!(
            asked(&state, ProducerBatch { base_sequence: 10, ..in_transaction(7) }),
            Ok(Admission::Append)
        );
    }

    #[test]
    fn markers_of_old_epochs_and_old_coordinators_are_refused() {
        use MarkerEpochRule::{Above, NotBelow};
        let mut state = ProducerState::default();
        assert_eq!(state.check_marker(&marker(7, 0, 0, true), Above), Ok(()));
        apply(&mut state, ProducerBatch { epoch: ProducerEpoch(1), ..in_transaction(7) }, 0);
        let old_epoch = state.check_marker(&marker(7, 0, 10, true), NotBelow).unwrap_err();
        assert_eq!(ErrorCode::from(&old_epoch), ErrorCode::InvalidProducerEpoch);
        assert_eq!(state.check_marker(&marker(7, 1, 10, true), NotBelow), Ok(()));
        assert!(state.check_marker(&marker(7, 1, 10, true), Above).is_err());
        assert_eq!(state.check_marker(&marker(7, 2, 10, true), Above), Ok(()));
        state.complete(&marker(7, 2, 10, true));
        assert_eq!(state.check_marker(&marker(7, 2, 11, true), Above), Ok(()), "a repetition");

        let mut late = marker(7, 2, 11, true);
        late.end.coordinator_epoch = 2;
        let old_coordinator = state.check_marker(&late, NotBelow).unwrap_err();
        assert_eq!(ErrorCode::from(&old_coordinator), ErrorCode::TransactionCoordinatorFenced);
    }

    #[test]
    fn idle_producers_are_forgotten_unless_a_transaction_is_open() {
        let mut state = ProducerState::default();
        apply(&mut state, in_transaction(1), 0);
        apply(&mut state, ten(0, 0), 10);
        let day = DAY.as_millis() as i64;
        assert_eq!(state.expire(Timestamp(day + 9), DAY), 0);
        assert_eq!(state.expire(Timestamp(day + 10), DAY), 1);
        assert!(state.producer(id(1)).is_some());
        state.complete(&marker(1, 0, 20, true));
        assert_eq!(state.expire(Timestamp(day + 20), DAY), 1);
        assert_eq!(state.producer_count(), 0);
    }

    #[test]
    fn a_snapshot_is_taken_once_per_offset_and_restores_what_matters() {
        let mut state = ProducerState::starting_at(Offset::new(100));
        assert_eq!(state.take_snapshot(), None);
        apply(&mut state, ten(3, 40), 100);
        apply(&mut state, in_transaction(8), 110);
        state.advance_to(Offset::new(125));
        let (at, bytes) = state.take_snapshot().unwrap();
        assert_eq!((at, state.take_snapshot()), (Offset::new(125), None));

        let entries = super::super::parse_snapshot(&bytes).unwrap();
        let mut restored = ProducerState::restore(at, entries, Timestamp(120), DAY);
        assert_eq!((restored.end(), restored.take_snapshot()), (at, None));
        assert_eq!(restored.first_unstable_offset(), Some(Offset::new(110)));
        assert!(matches!(asked(&restored, ten(3, 40)), Ok(Admission::Duplicate { .. })));
        assert_eq!(asked(&restored, ten(3, 50)), Ok(Admission::Append));
        let entries = super::super::parse_snapshot(&bytes).unwrap();
        let late = ProducerState::restore(at, entries, Timestamp(i64::MAX), DAY);
        assert_eq!(late.producers().map(|(producer, _)| producer).collect::<Vec<_>>(), [id(8)]);
    }

    #[test]
    fn replay_tells_records_and_markers_apart() {
        use aplomb_model::LeaderEpoch;
        use aplomb_model::batch::{BatchBuilder, ProducerStamp};

        let stamp = ProducerStamp { id: id(7), epoch: ProducerEpoch(0), base_sequence: 5 };
        let data = BatchBuilder::new(Offset::new(40))
            .producer(stamp)
            .transactional()
            .append(Timestamp(1), None, Some(b"a"), &[])
            .append(Timestamp(2), None, Some(b"b"), &[])
            .build();
        let end = EndTxnMarker { committed: false, coordinator_epoch: 1 };
        let producer = (id(7), ProducerEpoch(0));
        let control = end.to_batch(Offset::new(42), LeaderEpoch::ZERO, producer, Timestamp(3));
        let plain = BatchBuilder::new(Offset::new(43)).append(Timestamp(4), None, None, &[]).build();

        let mut state = ProducerState::starting_at(Offset::new(40));
        let header = |bytes: &[u8]| BatchHeader::parse(bytes).unwrap();
        assert_eq!(state.replay(&header(&data), None), None);
        assert_eq!(state.producer(id(7)).unwrap().last_sequence(), 6);
        assert_eq!(state.replay(&header(&control), None), None, "an emptied marker");
        assert_eq!(state.first_unstable_offset(), Some(Offset::new(40)));
        let completed = state.replay(&header(&control), Some(end)).unwrap();
        assert_eq!((completed.first_offset, completed.last_offset), (Offset::new(40), Offset::new(42)));
        assert_eq!(state.replay(&header(&plain), None), None);
        assert_eq!((state.end(), state.producer_count()), (Offset::new(44), 1));
    }

    #[test]
    fn a_log_start_beyond_the_end_carries_the_state_along() {
        let mut state = ProducerState::default();
        apply(&mut state, in_transaction(1), 0);
        state.complete(&marker(1, 0, 10, true));
        state.on_log_start(Offset::new(50));
        assert_eq!((state.end(), state.first_unstable_offset()), (Offset::new(50), None));
        assert_eq!(state.take_snapshot(), None);
        assert_eq!(state.producer_count(), 1);
    }

    #[test]
    fn ten_thousand_partitions_without_producers_cost_next_to_nothing() {
        assert!(size_of::<ProducerState>() <= 96);
        assert!(size_of::<ProducerEntry>() <= 176);
    }
}
