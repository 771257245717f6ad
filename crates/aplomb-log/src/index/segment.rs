//! The offset index and the time index of one segment, as a log drives them: batch by batch, then a
//! roll, a close, or a truncation.
//!
//! The rule is Apache Kafka's (`LogSegment.append`): when more than `index.interval.bytes` were
//! appended since the last entry, the next batch gets one: its last offset and its start. The time
//! index gets the greatest timestamp so far with it, and once more when the segment is rolled or
//! closed. Next: `offset.rs` and `time.rs` for the bytes.

use aplomb_model::{Offset, Timestamp};

use super::entries::relative;
use super::{OffsetIndex, OffsetIndexBuilder, OffsetPosition, TimeIndex, TimeIndexBuilder, TimestampOffset};

/// The topic's settings for indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexLimits {
    /// `index.interval.bytes`: how many bytes lie at least between two entries.
    pub interval_bytes: u32,
    /// `segment.index.bytes`: how long an index may become before its segment rolls.
    pub max_bytes: u32,
}

/// A batch that was appended, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchPosition {
    /// The offset of its last record.
    pub last_offset: Offset,
    /// The greatest timestamp of its records.
    pub max_timestamp: Timestamp,
    /// Where it starts in the segment file, in bytes.
    pub position: u32,
    /// Its length in bytes.
    pub size: u32,
}

/// The ends of index files that are sound, from which to continue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResumeFrom {
    /// The length of the offset index in bytes, up to and with its last entry.
    pub offset_len: u64,
    /// The last entry of the offset index.
    pub last_offset: Option<OffsetPosition>,
    /// The length of the time index in bytes, up to and with its last entry.
    pub time_len: u64,
    /// The last entry of the time index.
    pub last_time: Option<TimestampOffset>,
}

/// The state of a segment's indexes when all of both is in their files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexesAtRest {
    /// The ends of the files.
    pub from: ResumeFrom,
    /// Bytes of the batches from the one with the last offset entry on, or of all.
    pub since_last_entry: u64,
    /// The greatest timestamp in the segment, and the last offset of its batch.
    pub greatest: Option<TimestampOffset>,
}

impl IndexesAtRest {
    /// Whether the indexes of a segment that begins at `base` and has `size` bytes can be so.
    #[must_use]
    pub fn is_sound(&self, base: Offset, size: u64) -> bool {
        let ResumeFrom { offset_len, last_offset, time_len, last_time } = self.from;
        let fits = |offset: Offset| relative(base, offset).is_some();
        offset_len.is_multiple_of(OffsetIndex::ENTRY_LEN as u64)
            && time_len.is_multiple_of(TimeIndex::ENTRY_LEN as u64)
            && (offset_len == 0) == last_offset.is_none()
            && (time_len == 0) == last_time.is_none()
            && last_offset.is_none_or(|last| fits(last.offset) && u64::from(last.position) < size)
            && last_time.is_none_or(|last| fits(last.offset))
            && self.greatest.is_none_or(|greatest| fits(greatest.offset))
            && self.since_last_entry <= size
            && match (last_time, self.greatest) {
                (Some(last), Some(greatest)) => {
                    last.timestamp <= greatest.timestamp && last.offset <= greatest.offset
                }
                (last, _) => last.is_none(),
            }
    }
}

/// The two indexes of the segment that is being appended to.
#[derive(Debug)]
pub struct SegmentIndexes {
    /// To be written to [`crate::layout::SegmentFile::OffsetIndex`].
    pub offsets: OffsetIndexBuilder,
    /// To be written to [`crate::layout::SegmentFile::TimeIndex`].
    pub times: TimeIndexBuilder,
    interval_bytes: u32,
    since_last_entry: u64,
    greatest: Option<TimestampOffset>,
}

impl SegmentIndexes {
    /// The indexes of a new segment, or of one that is indexed again from its start.
    #[must_use]
    pub fn new(base: Offset, limits: IndexLimits) -> Self {
        Self::resume(base, limits, ResumeFrom::default())
    }

    /// Continues indexes of which the given parts exist: after a clean stop, or after a truncation.
    ///
    /// Batches that lie behind the last time entry and stay in the segment are to be shown to
    /// [`Self::observe`], or a greater timestamp among them is missed.
    ///
    /// # Panics
    /// If a length does not fit its last entry (see the builders' `resume`).
    #[must_use]
    pub fn resume(base: Offset, limits: IndexLimits, from: ResumeFrom) -> Self {
        Self {
            offsets: OffsetIndexBuilder::resume(base, limits.max_bytes, from.offset_len, from.last_offset),
            times: TimeIndexBuilder::resume(base, limits.max_bytes, from.time_len, from.last_time),
            interval_bytes: limits.interval_bytes,
            since_last_entry: 0,
            greatest: from.last_time,
        }
    }

    /// Their state; `None` as long as something is to be written.
    #[must_use]
    pub fn at_rest(&self) -> Option<IndexesAtRest> {
        let (offsets, times) = (&self.offsets, &self.times);
        let is_written =
            offsets.file_len() == offsets.written_len() && times.file_len() == times.written_len();
        is_written.then(|| IndexesAtRest {
            from: ResumeFrom {
                offset_len: offsets.file_len(),
                last_offset: offsets.last(),
                time_len: times.file_len(),
                last_time: times.last(),
            },
            since_last_entry: self.since_last_entry,
            greatest: self.greatest,
        })
    }

    /// The indexes that came to rest so.
    ///
    /// # Panics
    /// If they are not sound ([`IndexesAtRest::is_sound`]).
    #[must_use]
    pub fn reopen(base: Offset, limits: IndexLimits, at_rest: IndexesAtRest) -> Self {
        let IndexesAtRest { from, since_last_entry, greatest } = at_rest;
        Self { since_last_entry, greatest, ..Self::resume(base, limits, from) }
    }

    /// Takes note of a batch's timestamp without indexing the batch.
    pub fn observe(&mut self, max_timestamp: Timestamp, last_offset: Offset) {
        if self.greatest.map_or(Timestamp::NONE, |greatest| greatest.timestamp) < max_timestamp {
            self.greatest = Some(TimestampOffset { timestamp: max_timestamp, offset: last_offset });
        }
    }

    /// Takes note of a batch that was appended, or found by a recovery scan.
    ///
    /// # Panics
    /// If it does not lie behind the batches before it, or its offset does not fit
    /// ([`Self::must_roll`]).
    pub fn on_append(&mut self, batch: BatchPosition) {
        self.observe(batch.max_timestamp, batch.last_offset);
        // A full index takes nothing more. That is met only where several batches arrive in one
        // append; the entries that exist stay true, and the segment rolls before the next append.
        if self.since_last_entry > u64::from(self.interval_bytes) && !self.is_full() {
            self.offsets.push(OffsetPosition { offset: batch.last_offset, position: batch.position });
            self.push_greatest();
            self.since_last_entry = 0;
        }
        self.since_last_entry += u64::from(batch.size);
    }

    /// The segment ends here, by a roll or a clean close: adds the last time entry. What remains
    /// unwritten is to be taken after this.
    pub fn on_close(&mut self) {
        self.push_greatest();
    }

    /// The file of the time index has an entry more than is known. Takes it over if it is the one
    /// that a close would add now, behind the batches so far; `false` if it is not.
    #[must_use]
    pub fn adopt_close(&mut self, found: TimestampOffset) -> bool {
        self.greatest == Some(found) && self.times.last() != Some(found) && self.times.adopt(found)
    }

    /// Whether an index is full.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.offsets.is_full() || self.times.is_full()
    }

    /// Whether the segment has to roll before a batch that ends with `last_offset` is appended: an
    /// index is full, or the offset is too far from the base.
    #[must_use]
    pub fn must_roll(&self, last_offset: Offset) -> bool {
        self.is_full() || !self.offsets.fits(last_offset)
    }

    /// The greatest timestamp in the segment, and the last offset of its batch; `None` if no batch
    /// has one.
    #[must_use]
    pub fn greatest_timestamp(&self) -> Option<TimestampOffset> {
        self.greatest
    }

    fn push_greatest(&mut self) {
        if let Some(greatest) = self.greatest {
            self.times.push(greatest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: IndexLimits = IndexLimits { interval_bytes: 4096, max_bytes: 10 << 20 };

    fn batch(last_offset: u64, timestamp: i64, position: u32, size: u32) -> BatchPosition {
        let last_offset = Offset::new(last_offset);
        BatchPosition { last_offset, max_timestamp: Timestamp(timestamp), position, size }
    }

    fn time(timestamp: i64, offset: u64) -> TimestampOffset {
        TimestampOffset { timestamp: Timestamp(timestamp), offset: Offset::new(offset) }
    }

    #[test]
    fn a_batch_gets_an_entry_when_more_than_the_interval_lies_before_it() {
        let mut indexes = SegmentIndexes::new(Offset::ZERO, LIMITS);
        indexes.on_append(batch(9, 1000, 0, 4096));
        indexes.on_append(batch(19, 900, 4096, 1));
        assert_eq!(indexes.offsets.last(), None, "4096 bytes are not more than 4096");
        indexes.on_append(batch(29, 950, 4097, 100));
        let entry = OffsetPosition { offset: Offset::new(29), position: 4097 };
        assert_eq!(indexes.offsets.last(), Some(entry));
        assert_eq!(indexes.times.last(), Some(time(1000, 9)));
        indexes.on_append(batch(39, 2000, 4197, 100));
        assert_eq!(indexes.offsets.last(), Some(entry));
    }

    #[test]
    fn closing_adds_the_greatest_timestamp_once() {
        let mut indexes = SegmentIndexes::new(Offset::ZERO, LIMITS);
        indexes.on_append(batch(9, 1000, 0, 100));
        indexes.on_close();
        indexes.on_close();
        assert_eq!((indexes.times.last(), indexes.times.file_len()), (Some(time(1000, 9)), 12));
    }

    #[test]
    fn the_entry_of_an_earlier_close_is_taken_over_where_it_was_the_greatest() {
        let mut indexes = SegmentIndexes::new(Offset::ZERO, LIMITS);
        indexes.on_append(batch(9, 1000, 0, 100));
        assert!(!indexes.adopt_close(time(1001, 9)), "no batch has that time");
        assert!(indexes.adopt_close(time(1000, 9)));
        assert!(!indexes.adopt_close(time(1000, 9)), "it is there");
        indexes.on_append(batch(19, 900, 100, 5000));
        indexes.on_append(batch(29, 2000, 5100, 100));
        assert!(!indexes.adopt_close(time(2000, 29)), "one that is to be written stands in its place");
        assert_eq!(indexes.times.written_len(), 12);
        let (at, bytes) = indexes.times.take_unwritten().expect("an entry");
        assert_eq!((at, bytes.len()), (12, 12));
    }

    #[test]
    fn without_timestamps_the_time_index_stays_empty() {
        let mut indexes = SegmentIndexes::new(Offset::ZERO, LIMITS);
        indexes.on_append(batch(9, -1, 0, 5000));
        indexes.on_append(batch(19, -1, 5000, 5000));
        indexes.on_close();
        assert_eq!((indexes.offsets.file_len(), indexes.times.file_len()), (8, 0));
        assert_eq!(indexes.greatest_timestamp(), None);
    }

    #[test]
    fn a_full_index_asks_for_a_roll_and_keeps_room_to_close() {
        let limits = IndexLimits { interval_bytes: 0, max_bytes: 36 };
        let mut indexes = SegmentIndexes::new(Offset::ZERO, limits);
        for n in 0..9 {
            indexes.on_append(batch(n, 100 + n as i64, n as u32 * 10, 10));
        }
        assert!(indexes.must_roll(Offset::new(9)));
        assert_eq!(indexes.times.file_len(), 24);
        indexes.on_close();
        assert_eq!(indexes.times.last(), Some(time(108, 8)));
        assert_eq!(indexes.times.file_len(), 36);
    }

    #[test]
    fn a_truncated_segment_continues_from_what_remains() {
        let from = ResumeFrom {
            offset_len: 8,
            last_offset: Some(OffsetPosition { offset: Offset::new(29), position: 4097 }),
            time_len: 12,
            last_time: Some(time(1000, 9)),
        };
        let mut indexes = SegmentIndexes::resume(Offset::ZERO, LIMITS, from);
        indexes.observe(Timestamp(1500), Offset::new(35));
        indexes.on_append(batch(45, 1400, 4500, 5000));
        indexes.on_append(batch(55, 1400, 9500, 10));
        assert_eq!(indexes.offsets.take_unwritten().map(|(at, bytes)| (at, bytes.len())), Some((8, 8)));
        assert_eq!(indexes.times.take_unwritten().map(|(at, bytes)| (at, bytes.len())), Some((12, 12)));
        assert_eq!(indexes.times.last(), Some(time(1500, 35)));
    }
}
