//! The offset index: where in the segment file an offset can be found from
//! (`org.apache.kafka.storage.internals.log.OffsetIndex`).
//!
//! An entry is 8 bytes, big-endian: `int32 offset - base`, `int32 position`. Offsets strictly rise.
//! A scan of the segment from the position of the greatest entry at or below an offset finds that
//! offset. Nothing more may be assumed: older brokers wrote sparser entries, and not every batch
//! boundary has one. Next: `segment.rs` for when an entry is added.

use aplomb_model::Offset;

use super::IndexDamaged;
use super::entries::{IndexBuilder, IndexEntry, IndexFile, LookupEntry, absolute, relative};
use super::search::IndexSearch;

/// An offset, and a position in the segment file from which a scan meets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OffsetPosition {
    /// The last offset of a batch.
    pub offset: Offset,
    /// Where that batch starts in the segment file, in bytes.
    pub position: u32,
}

/// The bytes of an offset index.
pub type OffsetIndex<'a> = IndexFile<'a, OffsetPosition>;

/// Adds entries at the end of an offset index.
pub type OffsetIndexBuilder = IndexBuilder<OffsetPosition>;

impl IndexEntry for OffsetPosition {
    const LEN: usize = 8;

    fn parse(base: Offset, slot: usize, raw: &[u8]) -> Result<Self, IndexDamaged> {
        let [o0, o1, o2, o3, p0, p1, p2, p3] = *raw.as_array().expect("an entry's bytes");
        let offset = absolute(base, [o0, o1, o2, o3]).ok_or(IndexDamaged::OffsetOutOfRange { slot })?;
        let position = u32::from_be_bytes([p0, p1, p2, p3]);
        if position > i32::MAX as u32 {
            return Err(IndexDamaged::NotRising { slot }); // a negative number to those who wrote it
        }
        Ok(Self { offset, position })
    }

    fn rises(lower: Self, higher: Self) -> bool {
        lower.offset < higher.offset && lower.position <= higher.position
    }
}

impl LookupEntry for OffsetPosition {
    const PLACES_TO_CLOSE: u64 = 0;

    fn encode(&self, base: Offset) -> impl AsRef<[u8]> {
        assert!(self.position <= i32::MAX as u32, "a segment is smaller than 2 GiB");
        let [o0, o1, o2, o3] =
            relative(base, self.offset).expect("segments roll before offsets stop fitting");
        let [p0, p1, p2, p3] = self.position.to_be_bytes();
        [o0, o1, o2, o3, p0, p1, p2, p3]
    }

    fn key(&self) -> i64 {
        self.offset.to_wire()
    }

    fn offset(&self) -> Offset {
        self.offset
    }

    fn is_news(&self, _last: Option<Self>) -> bool {
        true
    }
}

impl OffsetIndex<'_> {
    /// The greatest entry at or below `target`; the segment's base at position 0 if there is none.
    ///
    /// # Errors
    /// [`IndexDamaged`] if the entries that the search visits contradict each other.
    pub fn lookup(&self, target: Offset) -> Result<OffsetPosition, IndexDamaged> {
        let found = self.search(|entry| entry.offset > target)?;
        Ok(found.map_or(OffsetPosition { offset: self.base(), position: 0 }, |(_, entry)| entry))
    }

    /// The least entry whose position is at or above `position`: an offset that a read which ends
    /// there cannot contain any more. `None` if there is no such entry.
    ///
    /// # Errors
    /// As for [`Self::lookup`].
    pub fn upper_bound(&self, position: u32) -> Result<Option<OffsetPosition>, IndexDamaged> {
        self.get(self.search(|entry| entry.position >= position)?.map_or(0, |(slot, _)| slot + 1))
    }
}

impl IndexSearch<OffsetPosition> {
    /// Begins the search for the greatest entry at or below `target` in the index, of `len` bytes,
    /// of a segment whose offsets lie in `base..end`.
    #[must_use]
    pub fn for_offset(base: Offset, len: u64, target: Offset, end: Offset) -> Self {
        Self::new(base, len, target.to_wire(), (Some(base.to_wire()), Some(end.to_wire())))
    }
}

impl OffsetIndexBuilder {
    /// Whether an offset can be written relative to the segment's base; the segment has to roll if
    /// not.
    #[must_use]
    pub fn fits(&self, offset: Offset) -> bool {
        relative(self.base(), offset).is_some()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::index::IndexTail;

    const BASE: Offset = Offset::new(1000);

    fn entry(offset: u64, position: u32) -> OffsetPosition {
        OffsetPosition { offset: Offset::new(offset), position }
    }

    fn built(entries: &[OffsetPosition]) -> Vec<u8> {
        let mut builder = OffsetIndexBuilder::new(BASE, 1 << 20);
        entries.iter().for_each(|entry| builder.push(*entry));
        builder.take_unwritten().map(|(_, bytes)| bytes.to_vec()).unwrap_or_default()
    }

    #[test]
    fn a_lookup_finds_the_entry_at_or_below() {
        let bytes = built(&[entry(1010, 4200), entry(1030, 9000), entry(1031, 13_500)]);
        assert_eq!(bytes.len(), 24);
        assert_eq!(bytes[..8], [0, 0, 0, 10, 0, 0, 0x10, 0x68]);
        let index = OffsetIndex::new(&bytes, BASE, IndexTail::Trimmed).unwrap();
        assert_eq!(index.lookup(Offset::new(1009)), Ok(entry(1000, 0)));
        assert_eq!(index.lookup(Offset::new(1010)), Ok(entry(1010, 4200)));
        assert_eq!(index.lookup(Offset::new(1030)), Ok(entry(1030, 9000)));
        assert_eq!(index.lookup(Offset::new(9999)), Ok(entry(1031, 13_500)));
        assert_eq!(index.upper_bound(9000), Ok(Some(entry(1030, 9000))));
        assert_eq!(index.upper_bound(9001), Ok(Some(entry(1031, 13_500))));
        assert_eq!(index.upper_bound(20_000), Ok(None));
        assert_eq!(index.last(), Ok(Some(entry(1031, 13_500))));
    }

    #[test]
    fn cutting_at_an_offset_removes_its_entry_and_all_above() {
        let bytes = built(&[entry(1010, 4200), entry(1030, 9000)]);
        let index = OffsetIndex::new(&bytes, BASE, IndexTail::Trimmed).unwrap();
        assert_eq!(index.len_below(Offset::new(1005)), Ok(0));
        assert_eq!(index.len_below(Offset::new(1010)), Ok(0));
        assert_eq!(index.len_below(Offset::new(1030)), Ok(8));
        assert_eq!(index.len_below(Offset::new(1031)), Ok(16));
    }

    #[test]
    fn reserved_space_is_not_taken_for_entries() {
        let mut bytes = built(&[entry(1010, 4200), entry(1030, 9000)]);
        bytes.extend([0; 805]);
        let index = OffsetIndex::new(&bytes, BASE, IndexTail::MaybePreallocated).unwrap();
        assert_eq!((index.len(), index.lookup(Offset::new(5000))), (2, Ok(entry(1030, 9000))));
        let cut = IndexDamaged::CutEntry { len: 821, entry: 8 };
        assert_eq!(OffsetIndex::new(&bytes, BASE, IndexTail::Trimmed).unwrap_err(), cut);
    }

    #[test]
    fn entries_out_of_order_are_damage() {
        let mut bytes = built(&[entry(1010, 4200), entry(1030, 9000), entry(1050, 14_000)]);
        bytes[3] = 99;
        let index = OffsetIndex::new(&bytes, BASE, IndexTail::Trimmed).unwrap();
        assert_eq!(index.check(), Err(IndexDamaged::NotRising { slot: 1 }));
        assert_eq!(index.lookup(Offset::new(1020)), Err(IndexDamaged::NotRising { slot: 0 }));
        bytes[0] = 0xff;
        let index = OffsetIndex::new(&bytes, BASE, IndexTail::Trimmed).unwrap();
        assert_eq!(index.check(), Err(IndexDamaged::OffsetOutOfRange { slot: 0 }));
    }

    #[test]
    fn bytes_are_given_out_once_with_their_place() {
        let mut builder = OffsetIndexBuilder::new(BASE, 24);
        assert_eq!(builder.take_unwritten(), None);
        builder.push(entry(1010, 4200));
        builder.push(entry(1011, 8400));
        assert_eq!(builder.take_unwritten().map(|(at, bytes)| (at, bytes.len())), Some((0, 16)));
        assert!(!builder.is_full());
        builder.push(entry(1012, 12_600));
        assert!(builder.is_full());
        assert_eq!(builder.take_unwritten().map(|(at, bytes)| (at, bytes.len())), Some((16, 8)));
        assert_eq!((builder.take_unwritten(), builder.file_len()), (None, 24));
    }

    #[test]
    fn offsets_two_billion_above_the_base_do_not_fit() {
        let builder = OffsetIndexBuilder::new(BASE, 24);
        assert!(builder.fits(BASE.plus(i32::MAX as u64)));
        assert!(!builder.fits(BASE.plus(i32::MAX as u64 + 1)));
        assert!(!builder.fits(Offset::new(999)));
    }

    proptest! {
        #[test]
        fn a_lookup_agrees_with_a_scan(
            steps in prop::collection::vec((1u64..50, 1u32..9000), 0..60), target in 990u64..4000, zeros in 0usize..40
        ) {
            let mut next = entry(1000, 0);
            let entries: Vec<_> = steps
                .into_iter()
                .map(|(offsets, bytes)| {
                    next = entry(next.offset.get() + offsets, next.position + bytes);
                    next
                })
                .collect();
            let mut bytes = built(&entries);
            bytes.extend(vec![0; zeros]);
            let index = OffsetIndex::new(&bytes, BASE, IndexTail::MaybePreallocated).unwrap();
            prop_assert_eq!(index.check(), Ok(()));
            let scan = entries.iter().rfind(|e| e.offset.get() <= target).copied().unwrap_or(entry(1000, 0));
            prop_assert_eq!(index.lookup(Offset::new(target)), Ok(scan));
            let below = entries.iter().filter(|e| e.offset.get() < target).count() as u64 * 8;
            prop_assert_eq!(index.len_below(Offset::new(target)), Ok(below));
        }

        #[test]
        fn no_bytes_make_a_reader_panic(bytes: Vec<u8>, base in 0..=i64::MAX, target in 0..=i64::MAX) {
            for tail in [IndexTail::Trimmed, IndexTail::MaybePreallocated] {
                if let Ok(index) = OffsetIndex::new(&bytes, Offset::new(base as u64), tail) {
                    let target = Offset::new(target as u64);
                    if index.check().is_ok() {
                        prop_assert!(index.lookup(target).is_ok());
                        prop_assert!(index.len_below(target).is_ok());
                        prop_assert!(index.upper_bound(7).is_ok());
                        prop_assert!(index.last().is_ok());
                    } else {
                        let _ = (index.lookup(target), index.upper_bound(7), index.last());
                    }
                }
            }
        }
    }
}
