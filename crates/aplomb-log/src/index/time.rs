//! The time index: from which offset on a timestamp can be found
//! (`org.apache.kafka.storage.internals.log.TimeIndex`).
//!
//! An entry is 12 bytes, big-endian: `int64 timestamp`, `int32 offset - base`: the greatest
//! timestamp of all batches so far, and the last offset of the batch that has it. Timestamps
//! strictly rise, offsets do not fall, and the last entry of a closed segment has the segment's
//! greatest timestamp. Next: `segment.rs` for when an entry is added.

use aplomb_model::{Offset, Timestamp};

use super::IndexDamaged;
use super::entries::{IndexBuilder, IndexEntry, IndexFile, LookupEntry, absolute, relative};
use super::search::IndexSearch;

/// A timestamp, and the last offset of the batch that brought it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimestampOffset {
    /// No batch up to `offset` has a greater one.
    pub timestamp: Timestamp,
    /// The last offset of the batch that has `timestamp`.
    pub offset: Offset,
}

/// The bytes of a time index. Its last entry has the greatest timestamp of a closed segment.
pub type TimeIndex<'a> = IndexFile<'a, TimestampOffset>;

/// Adds entries at the end of a time index: none without a timestamp, so that the time index of a
/// segment that has none stays empty.
pub type TimeIndexBuilder = IndexBuilder<TimestampOffset>;

impl IndexEntry for TimestampOffset {
    const LEN: usize = 12;

    fn parse(base: Offset, slot: usize, raw: &[u8]) -> Result<Self, IndexDamaged> {
        let [t0, t1, t2, t3, t4, t5, t6, t7, o0, o1, o2, o3] = *raw.as_array().expect("an entry's bytes");
        let offset = absolute(base, [o0, o1, o2, o3]).ok_or(IndexDamaged::OffsetOutOfRange { slot })?;
        let timestamp = Timestamp(i64::from_be_bytes([t0, t1, t2, t3, t4, t5, t6, t7]));
        Ok(Self { timestamp, offset })
    }

    fn rises(lower: Self, higher: Self) -> bool {
        lower.timestamp < higher.timestamp && lower.offset <= higher.offset
    }
}

impl LookupEntry for TimestampOffset {
    const PLACES_TO_CLOSE: u64 = 1;

    fn encode(&self, base: Offset) -> impl AsRef<[u8]> {
        let [t0, t1, t2, t3, t4, t5, t6, t7] = self.timestamp.0.to_be_bytes();
        let [o0, o1, o2, o3] =
            relative(base, self.offset).expect("segments roll before offsets stop fitting");
        [t0, t1, t2, t3, t4, t5, t6, t7, o0, o1, o2, o3]
    }

    fn key(&self) -> i64 {
        self.timestamp.0
    }

    fn offset(&self) -> Offset {
        self.offset
    }

    fn is_news(&self, last: Option<Self>) -> bool {
        last.map_or(Timestamp::NONE, |last| last.timestamp) < self.timestamp
    }
}

impl IndexSearch<TimestampOffset> {
    /// Begins the search for the greatest entry at or before `target` in the index, of `len` bytes,
    /// of the segment that begins at `base` and whose greatest timestamp is `greatest`.
    #[must_use]
    pub fn for_time(base: Offset, len: u64, target: Timestamp, greatest: Timestamp) -> Self {
        Self::new(base, len, target.0, (None, Some(greatest.0)))
    }
}

impl TimeIndex<'_> {
    /// The greatest entry at or before `target`; no timestamp and the segment's base if there is
    /// none. The first record at or after `target` is not before that entry's offset.
    ///
    /// # Errors
    /// [`IndexDamaged`] if the entries that the search visits contradict each other.
    pub fn lookup(&self, target: Timestamp) -> Result<TimestampOffset, IndexDamaged> {
        let found = self.search(|entry| entry.timestamp > target)?;
        let none = TimestampOffset { timestamp: Timestamp::NONE, offset: self.base() };
        Ok(found.map_or(none, |(_, entry)| entry))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::index::IndexTail;

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
