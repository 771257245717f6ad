//! The time index: from which offset on a timestamp can be found
//! (`org.apache.kafka.storage.internals.log.TimeIndex`).
//!
//! An entry is 12 bytes, big-endian: `int64 timestamp`, `int32 offset - base`: the greatest timestamp of all
//! batches so far, and the last offset of the batch that has it. Timestamps strictly rise, offsets do not
//! fall, and the last entry of a closed segment has the segment's greatest timestamp.
//! Next: `segment.rs` for when an entry is added.

use aplomb_model::{Offset, Timestamp};
use bytes::Bytes;

use super::entries::Entries;
use super::offset::{absolute, relative};
use super::unwritten::Unwritten;
use super::{IndexDamaged, IndexTail};

const ENTRY: usize = 12;

/// A timestamp, and the last offset of the batch that brought it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimestampOffset {
    /// No batch up to `offset` has a greater one.
    pub timestamp: Timestamp,
    /// The last offset of the batch that has `timestamp`.
    pub offset: Offset,
}

/// The bytes of an index file, as a reader sees them.
#[derive(Clone, Copy, Debug)]
pub struct TimeIndex<'a> {
    base: Offset,
    entries: Entries<'a, ENTRY>,
}

impl<'a> TimeIndex<'a> {
    /// The length of an entry in bytes.
    pub const ENTRY_LEN: usize = ENTRY;

    /// Looks at the bytes of the index of the segment that begins at `base`.
    ///
    /// # Errors
    /// [`IndexDamaged::CutEntry`] if a trimmed file is no whole number of entries.
    pub fn new(bytes: &'a [u8], base: Offset, tail: IndexTail) -> Result<Self, IndexDamaged> {
        Ok(Self { base, entries: Entries::of(bytes, tail)? })
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The last entry, which has the greatest timestamp of a closed segment; `None` if the index is empty.
    ///
    /// # Errors
    /// [`IndexDamaged`] if it is none that this segment can have.
    pub fn last(&self) -> Result<Option<TimestampOffset>, IndexDamaged> {
        let slot = self.len().wrapping_sub(1);
        self.entries.get(slot).map(|raw| parse(self.base, slot, raw)).transpose()
    }

    /// The greatest entry at or before `target`; no timestamp and the segment's base if there is none. The
    /// first record at or after `target` is not before that entry's offset.
    ///
    /// # Errors
    /// [`IndexDamaged`] if the entries that the search visits contradict each other.
    pub fn lookup(&self, target: Timestamp) -> Result<TimestampOffset, IndexDamaged> {
        let found = self.search(|entry| entry.timestamp > target)?;
        let none = TimestampOffset { timestamp: Timestamp::NONE, offset: self.base };
        Ok(found.map_or(none, |(_, entry)| entry))
    }

    /// How many bytes of the file remain when offsets from `end` on are cut off.
    ///
    /// # Errors
    /// As for [`Self::lookup`].
    pub fn len_below(&self, end: Offset) -> Result<u64, IndexDamaged> {
        let keep = self.search(|entry| entry.offset >= end)?.map_or(0, |(slot, _)| slot + 1);
        Ok((keep * ENTRY) as u64)
    }

    /// All entries, first to last; an error in the place of one that this segment cannot have.
    pub fn iter(&self) -> impl Iterator<Item = Result<TimestampOffset, IndexDamaged>> + use<'a> {
        let Self { base, entries } = *self;
        (0..entries.len()).filter_map(move |slot| entries.get(slot).map(|raw| parse(base, slot, raw)))
    }

    /// Reads all entries.
    ///
    /// # Errors
    /// [`IndexDamaged`] at the first entry that contradicts the format.
    pub fn check(&self) -> Result<(), IndexDamaged> {
        self.entries.check(|slot, raw| parse(self.base, slot, raw), rises)
    }

    fn search(
        &self,
        above: impl Fn(TimestampOffset) -> bool,
    ) -> Result<Option<(usize, TimestampOffset)>, IndexDamaged> {
        self.entries.search(|slot, raw| parse(self.base, slot, raw), rises, above)
    }
}

fn rises(lower: TimestampOffset, higher: TimestampOffset) -> bool {
    lower.timestamp < higher.timestamp && lower.offset <= higher.offset
}

fn parse(base: Offset, slot: usize, raw: &[u8; ENTRY]) -> Result<TimestampOffset, IndexDamaged> {
    let [t0, t1, t2, t3, t4, t5, t6, t7, o0, o1, o2, o3] = *raw;
    let offset = absolute(base, [o0, o1, o2, o3]).ok_or(IndexDamaged::OffsetOutOfRange { slot })?;
    let timestamp = Timestamp(i64::from_be_bytes([t0, t1, t2, t3, t4, t5, t6, t7]));
    Ok(TimestampOffset { timestamp, offset })
}

/// Adds entries at the end of a time index.
#[derive(Debug)]
pub struct TimeIndexBuilder {
    base: Offset,
    max_entries: u64,
    last: Option<TimestampOffset>,
    unwritten: Unwritten,
}

impl TimeIndexBuilder {
    /// The index of a new segment. `max_bytes` is `segment.index.bytes`; there is always room for one entry
    /// and the one that closing may add.
    #[must_use]
    pub fn new(base: Offset, max_bytes: u32) -> Self {
        Self::resume(base, max_bytes, 0, None)
    }

    /// Continues an index file of `file_len` bytes that ends with the entry `last`.
    ///
    /// # Panics
    /// If the length is no whole number of entries, or there is a last entry of none or none of some.
    #[must_use]
    pub fn resume(base: Offset, max_bytes: u32, file_len: u64, last: Option<TimestampOffset>) -> Self {
        assert!(file_len.is_multiple_of(ENTRY as u64), "an index is continued after a whole entry");
        assert!((file_len == 0) == last.is_none(), "an index has a last entry unless it is empty");
        let max_entries = u64::from(max_bytes) / ENTRY as u64;
        Self { base, max_entries: max_entries.max(2), last, unwritten: Unwritten::after(file_len) }
    }

    /// Whether the segment has to roll. The last place is kept for the entry that rolling adds.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.unwritten.file_len() / ENTRY as u64 >= self.max_entries - 1
    }

    /// Adds the greatest timestamp so far, unless the last entry has it already. This also holds where there
    /// is no timestamp at all: such a segment's time index stays empty.
    ///
    /// # Panics
    /// If the offset does not fit, or lies before the last entry's.
    pub fn push(&mut self, entry: TimestampOffset) {
        if self.last.map_or(Timestamp::NONE, |last| last.timestamp) >= entry.timestamp {
            return;
        }
        let relative = relative(self.base, entry.offset).expect("segments roll before offsets stop fitting");
        assert!(self.last.is_none_or(|last| rises(last, entry)), "greater timestamps come later");
        self.unwritten.push(&entry.timestamp.0.to_be_bytes());
        self.unwritten.push(&relative);
        self.last = Some(entry);
    }

    /// The last entry, if there is one.
    #[must_use]
    pub fn last(&self) -> Option<TimestampOffset> {
        self.last
    }

    /// The file's length in bytes once everything taken and pending is written.
    #[must_use]
    pub fn file_len(&self) -> u64 {
        self.unwritten.file_len()
    }

    /// Gives out what is to be written, and at which position of the file.
    pub fn take_unwritten(&mut self) -> Option<(u64, Bytes)> {
        self.unwritten.take()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BASE: Offset = Offset::new(500);

    fn entry(timestamp: i64, offset: u64) -> TimestampOffset {
        TimestampOffset { timestamp: Timestamp(timestamp), offset: Offset::new(offset) }
    }

    fn built(entries: &[TimestampOffset]) -> Vec<u8> {
        let mut builder = TimeIndexBuilder::new(BASE, 1 << 20);
        entries.iter().for_each(|entry| builder.push(*entry));
        builder.take_unwritten().map(|(_, bytes)| bytes.to_vec()).unwrap_or_default()
    }

    #[test]
    fn a_lookup_finds_the_greatest_timestamp_not_after() {
        let bytes = built(&[entry(100, 510), entry(200, 520), entry(300, 520)]);
        assert_eq!(bytes[12..24], [0, 0, 0, 0, 0, 0, 0, 200, 0, 0, 0, 20]);
        let index = TimeIndex::new(&bytes, BASE, IndexTail::Trimmed).unwrap();
        assert_eq!(index.lookup(Timestamp(99)), Ok(entry(-1, 500)));
        assert_eq!(index.lookup(Timestamp(100)), Ok(entry(100, 510)));
        assert_eq!(index.lookup(Timestamp(299)), Ok(entry(200, 520)));
        assert_eq!(index.last(), Ok(Some(entry(300, 520))));
        assert_eq!(index.len_below(Offset::new(520)), Ok(12));
        assert_eq!(index.len_below(Offset::new(521)), Ok(36));
    }

    #[test]
    fn a_timestamp_that_is_no_news_adds_nothing() {
        let bytes = built(&[entry(-1, 500), entry(100, 510), entry(100, 510), entry(90, 520)]);
        assert_eq!(bytes.len(), 12);
    }

    #[test]
    fn the_last_place_is_kept_for_closing() {
        let mut builder = TimeIndexBuilder::new(BASE, 36);
        builder.push(entry(1, 501));
        assert!(!builder.is_full());
        builder.push(entry(2, 502));
        assert!(builder.is_full());
        builder.push(entry(3, 503));
        assert_eq!(builder.file_len(), 36);
    }

    #[test]
    fn an_empty_index_has_no_last_entry() {
        let index = TimeIndex::new(&[0; 24], BASE, IndexTail::MaybePreallocated).unwrap();
        assert_eq!((index.last(), index.lookup(Timestamp(7))), (Ok(None), Ok(entry(-1, 500))));
    }

    #[test]
    fn entries_out_of_order_are_damage() {
        let mut bytes = built(&[entry(100, 510), entry(200, 520), entry(300, 530)]);
        bytes[7] = 250;
        let index = TimeIndex::new(&bytes, BASE, IndexTail::Trimmed).unwrap();
        assert_eq!(index.check(), Err(IndexDamaged::NotRising { slot: 1 }));
        assert_eq!(index.lookup(Timestamp(150)), Err(IndexDamaged::NotRising { slot: 0 }));
    }

    proptest! {
        #[test]
        fn a_lookup_agrees_with_a_scan(
            steps in prop::collection::vec((1i64..50, 0u64..9), 0..60), target in -5i64..2000
        ) {
            let mut next = entry(0, 500);
            let entries: Vec<_> = steps
                .into_iter()
                .map(|(millis, offsets)| {
                    next = entry(next.timestamp.0 + millis, next.offset.get() + offsets);
                    next
                })
                .collect();
            let bytes = built(&entries);
            let index = TimeIndex::new(&bytes, BASE, IndexTail::Trimmed).unwrap();
            prop_assert_eq!(index.check(), Ok(()));
            let scan = entries.iter().rfind(|e| e.timestamp.0 <= target).copied().unwrap_or(entry(-1, 500));
            prop_assert_eq!(index.lookup(Timestamp(target)), Ok(scan));
        }

        #[test]
        fn no_bytes_make_a_reader_panic(bytes: Vec<u8>, base in 0..=i64::MAX, target: i64) {
            for tail in [IndexTail::Trimmed, IndexTail::MaybePreallocated] {
                if let Ok(index) = TimeIndex::new(&bytes, Offset::new(base as u64), tail) {
                    let sound = index.check().is_ok();
                    prop_assert!(!sound || index.lookup(Timestamp(target)).is_ok());
                    prop_assert!(!sound || index.len_below(Offset::new(1)).is_ok());
                    let _ = (index.lookup(Timestamp(target)), index.len_below(Offset::new(1)), index.last());
                }
            }
        }
    }
}
