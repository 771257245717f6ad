//! The producers of one partition and their transactions
//! (`org.apache.kafka.storage.internals.log.ProducerStateManager`).
//!
//! A leader calls [`ProducerState::check`] and, once the batch has its offsets,
//! [`ProducerState::apply`]. Replication and recovery only apply, or let [`ProducerState::replay`]
//! sort batches and markers out. Holds: an entry's open transaction is in `open`, and nothing else
//! is. Next: `check.rs` for the rules, `snapshot.rs` for the file.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::time::Duration;

use aplomb_model::batch::{BatchHeader, EndTxnMarker};
use aplomb_model::{Offset, ProducerEpoch, ProducerId, Timestamp};
use bytes::Bytes;

use super::check::{check_batch, check_marker};
use super::transaction::LastMarkers;
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
    /// Where a producer's last marker lies, of those since the log was opened.
    ended: LastMarkers,
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
        let (last_sequence, offset_delta) = (batch.last_sequence(), batch.last_offset_delta);
        let retained = RetainedBatch { last_sequence, last_offset, offset_delta, timestamp: max_timestamp };
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
        self.ended.note(producer, offset);
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
        self.ended.forget(|producer| !self.producers.contains_key(&producer));
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

    /// The producers with higher ids than this one, by id.
    pub fn producers_after(
        &self,
        id: Option<ProducerId>,
    ) -> impl Iterator<Item = (ProducerId, &ProducerEntry)> {
        let from = id.map_or(Bound::Unbounded, Bound::Excluded);
        self.producers.range((from, Bound::Unbounded)).map(|(id, entry)| (*id, entry.as_ref()))
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

    /// Whether a transaction of the producer has ended from this offset on, in this process.
    #[must_use]
    pub fn has_ended_since(&self, producer: ProducerId, offset: Offset) -> bool {
        self.ended.of(producer).is_some_and(|at| at >= offset)
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
mod tests;
