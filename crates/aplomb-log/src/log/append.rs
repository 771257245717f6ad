//! Appending: a batch is admitted to the memory tail, and the disk is owed the work.
//!
//! An append is whole or not at all: what can refuse it comes before the first change, but that a
//! full segment may have been closed.

use aplomb_model::batch::{AppendBytes, BatchHeader, EndTxnMarker, HEADER_SIZE};
use aplomb_model::{ByteCount, ErrorCode, LeaderEpoch, Offset, ProducerEpoch, ProducerId, Timestamp};

use super::Log;
use crate::index::{BatchPosition, SegmentIndexes};
use crate::producers::{
    Admission, AppendOrigin, MarkerEpochRule, MarkerError, ProducerBatch, SequenceError, TransactionMarker,
    marker_of,
};
use crate::segments::ActiveSegment;
use crate::tail::{Claim, TailBatch, TailFull};

/// As [`AppendError::TooLarge`] names it: a batch that no tail holds has an error code of its own.
const TAIL: &str = "the memory tail";

/// A batch that was admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The offset of its first record.
    pub base: Offset,
    /// The offset of its last record.
    pub last: Offset,
    /// If it had been appended before, so that nothing was done now: its greatest timestamp as it
    /// was stored.
    pub duplicate: Option<Timestamp>,
}

/// Why a batch was not admitted. The log is as it was, except that a full segment may have been
/// closed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// The producer's sequence is broken.
    #[error(transparent)]
    Sequence(#[from] SequenceError),
    /// The disk has not written enough of what fills its share of memory.
    #[error("the memory tail is full: {waiting} wait for the disk")]
    TailFull {
        /// Bytes that wait for the disk.
        waiting: ByteCount,
    },
    /// It fits into no tail, or into no segment.
    #[error("batch of {size} is larger than {limit}, the most that {what} can hold")]
    TooLarge {
        /// Bytes of the batch, header included.
        size: ByteCount,
        /// The most that fits.
        limit: ByteCount,
        /// Which of the two it does not fit.
        what: &'static str,
    },
    /// A transaction marker that came too late.
    #[error(transparent)]
    Marker(#[from] MarkerError),
}

impl From<&AppendError> for ErrorCode {
    fn from(error: &AppendError) -> Self {
        match error {
            AppendError::Sequence(error) => error.into(),
            AppendError::Marker(error) => error.into(),
            AppendError::TailFull { .. } => Self::RequestTimedOut, // the client retries here
            AppendError::TooLarge { what: TAIL, .. } => Self::MessageTooLarge,
            AppendError::TooLarge { .. } => Self::RecordListTooLarge,
        }
    }
}

impl Log {
    /// Admits a produced batch to the memory tail, of which it may take what `claim` says, and
    /// leaves the disk its share of the work.
    ///
    /// # Errors
    /// [`AppendError`]. A full tail is the only way in which a slow disk is felt here.
    pub fn append(
        &mut self,
        batch: AppendBytes,
        claim: Claim,
        epoch: LeaderEpoch,
        now: Timestamp,
    ) -> Result<Appended, AppendError> {
        let AppendBytes { mut header, records } = batch;
        let producer = ProducerBatch::of(&header);
        if let Some(batch) = &producer
            && let Admission::Duplicate { base_offset, last_offset, timestamp } =
                self.producers.check(batch, AppendOrigin::Client)?
        {
            return Ok(Appended { base: base_offset, last: last_offset, duplicate: Some(timestamp) });
        }
        header.stamp_base_offset(self.end());
        header.stamp_leader_epoch(epoch);
        self.append_stamped(claim, &header, &records, now)
    }

    /// Whether the marker that ends a producer's transaction may be appended.
    ///
    /// # Errors
    /// [`MarkerError`] if the producer or its coordinator has gone on since.
    pub fn check_marker(
        &self,
        producer: (ProducerId, ProducerEpoch),
        end: EndTxnMarker,
        rule: MarkerEpochRule,
    ) -> Result<(), MarkerError> {
        let (offset, timestamp) = (self.end(), Timestamp::NONE);
        let marker = TransactionMarker { producer: producer.0, epoch: producer.1, end, offset, timestamp };
        self.producers.check_marker(&marker, rule)
    }

    /// Admits the marker that ends a producer's transaction, as its coordinator decided.
    ///
    /// # Errors
    /// [`AppendError::Marker`] if the producer or its coordinator has gone on since, and as for
    /// [`Self::append_own`].
    pub fn append_marker(
        &mut self,
        producer: (ProducerId, ProducerEpoch),
        end: EndTxnMarker,
        rule: MarkerEpochRule,
        epoch: LeaderEpoch,
        now: Timestamp,
    ) -> Result<Appended, AppendError> {
        self.check_marker(producer, end, rule)?;
        let batch = end.to_batch(self.end(), epoch, producer, now);
        let header = BatchHeader::parse(&batch).expect("a marker's batch is one");
        self.append_stamped(Claim::Ordinary, &header, &batch[HEADER_SIZE..], now)
    }

    /// Admits a batch of this broker's own, control batches included, at the log end offset.
    ///
    /// # Errors
    /// As for [`Self::append`], sequences apart.
    pub fn append_own(
        &mut self,
        mut header: BatchHeader,
        records: &[u8],
        epoch: LeaderEpoch,
        now: Timestamp,
    ) -> Result<Appended, AppendError> {
        header.stamp_base_offset(self.end());
        header.stamp_leader_epoch(epoch);
        self.append_stamped(Claim::Ordinary, &header, records, now)
    }

    fn append_stamped(
        &mut self,
        claim: Claim,
        header: &BatchHeader,
        records: &[u8],
        now: Timestamp,
    ) -> Result<Appended, AppendError> {
        let size = header.size() as u64;
        self.check_size(size)?;
        if self.must_roll(header, now) {
            self.roll(now);
        }
        let at = self.segments.active().size;
        let facts = TailBatch::of(header);
        self.tail
            .push_with(claim, at, &[&header.as_bytes()[..HEADER_SIZE], records], facts)
            .map_err(|TailFull { waiting }| AppendError::TailFull { waiting })?;
        if let Some(epoch) = header.leader_epoch() {
            self.assign_epoch(epoch, header.base_offset());
        }
        let active = self.segments.active_mut();
        active.first_timestamp.get_or_insert(header.max_timestamp());
        active.size += size;
        active.indexes.on_append(BatchPosition {
            last_offset: header.last_offset(),
            max_timestamp: header.max_timestamp(),
            position: u32::try_from(at).expect("a segment has less than 4 GiB"),
            size: facts.size,
        });
        if let Some(completed) = self.producers.replay(header, marker_of(header, records)) {
            completed.aborted().into_iter().for_each(|aborted| active.aborted.push(aborted));
        }
        self.owed.on_append();
        Ok(Appended { base: header.base_offset(), last: header.last_offset(), duplicate: None })
    }

    fn check_size(&self, size: u64) -> Result<(), AppendError> {
        let tail = self.tail.share().largest_batch();
        let segment = ByteCount(self.config.segment_bytes.into());
        for (limit, what) in [(tail, TAIL), (segment, "a segment")] {
            if size > limit.0 {
                return Err(AppendError::TooLarge { size: ByteCount(size), limit, what });
            }
        }
        Ok(())
    }

    /// Whether the active segment is to be closed before this batch (`LogSegment.shouldRoll`).
    fn must_roll(&self, header: &BatchHeader, now: Timestamp) -> bool {
        let active = self.segments.active();
        if active.size == 0 {
            return active.indexes.must_roll(header.last_offset());
        }
        let is_full = active.size + header.size() as u64 > u64::from(self.config.segment_bytes);
        is_full || self.is_old(header.max_timestamp(), now) || active.indexes.must_roll(header.last_offset())
    }

    /// By the records' own time, where they have one; otherwise by the clock since the segment was
    /// made.
    fn is_old(&self, newest: Timestamp, now: Timestamp) -> bool {
        let active = self.segments.active();
        let age = match active.first_timestamp {
            Some(first) if first.0 >= 0 => newest.millis_since(first),
            _ => now.millis_since(active.created),
        };
        age > self.config.segment_age_ms
    }

    /// Closes the active segment and begins the next at the log's end. A decision in memory:
    /// producers wait for the new segment, and what the old one still needs of the disk is asked
    /// for later (the lab's incident `roll` is what waiting here costs).
    pub(super) fn roll(&mut self, now: Timestamp) {
        let base = self.end();
        if base == self.segments.active().base {
            // An empty segment cannot be followed by another of the same name. Its index limits are
            // the only reason to get here, and they are those of the next one as well.
            return;
        }
        self.segments.active_mut().indexes.on_close();
        self.owed.on_roll(&mut self.segments, &mut self.producers);
        let indexes = SegmentIndexes::new(base, self.config.indexes);
        self.segments.roll(ActiveSegment::empty(base, indexes, now), now);
        self.tail.roll(base);
    }
}
