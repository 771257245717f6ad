//! The offset index: where in the segment file an offset can be found from
//! (`org.apache.kafka.storage.internals.log.OffsetIndex`).
//!
//! An entry is 8 bytes, big-endian: `int32 offset - base`, `int32 position`. Offsets strictly rise. A scan of
//! the segment from the position of the greatest entry at or below an offset finds that offset. Nothing more
//! may be assumed: older brokers wrote sparser entries, and not every batch boundary has one.
//! Next: `segment.rs` for when an entry is added.

use aplomb_model::Offset;
use bytes::Bytes;

use super::entries::Entries;
use super::unwritten::Unwritten;
use super::{IndexDamaged, IndexTail};

const ENTRY: usize = 8;

/// An offset, and a position in the segment file from which a scan meets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OffsetPosition {
    /// The last offset of a batch.
    pub offset: Offset,
    /// Where that batch starts in the segment file, in bytes.
    pub position: u32,
}

/// The bytes of an index file, as a reader sees them.
#[derive(Clone, Copy, Debug)]
pub struct OffsetIndex<'a> {
    base: Offset,
    entries: Entries<'a, ENTRY>,
}

impl<'a> OffsetIndex<'a> {
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

    /// The last entry, if there is one.
    ///
    /// # Errors
    /// [`IndexDamaged`] if it is none that this segment can have.
    pub fn last(&self) -> Result<Option<OffsetPosition>, IndexDamaged> {
        let slot = self.len().wrapping_sub(1);
        self.entries.get(slot).map(|raw| parse(self.base, slot, raw)).transpose()
    }

    /// The greatest entry at or below `target`; the segment's base at position 0 if there is none.
    ///
    /// # Errors
    /// [`IndexDamaged`] if the entries that the search visits contradict each other.
    pub fn lookup(&self, target: Offset) -> Result<OffsetPosition, IndexDamaged> {
        let found = self.search(|entry| entry.offset > target)?;
        Ok(found.map_or(OffsetPosition { offset: self.base, position: 0 }, |(_, entry)| entry))
    }

    /// The least entry whose position is at or above `position`: an offset that a read which ends there
    /// cannot contain any more. `None` if there is no such entry.
    ///
    /// # Errors
    /// As for [`Self::lookup`].
    pub fn upper_bound(&self, position: u32) -> Result<Option<OffsetPosition>, IndexDamaged> {
        let slot = self.search(|entry| entry.position >= position)?.map_or(0, |(slot, _)| slot + 1);
        self.entries.get(slot).map(|raw| parse(self.base, slot, raw)).transpose()
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
    pub fn iter(&self) -> impl Iterator<Item = Result<OffsetPosition, IndexDamaged>> + use<'a> {
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
        above: impl Fn(OffsetPosition) -> bool,
    ) -> Result<Option<(usize, OffsetPosition)>, IndexDamaged> {
        self.entries.search(|slot, raw| parse(self.base, slot, raw), rises, above)
    }
}

fn rises(lower: OffsetPosition, higher: OffsetPosition) -> bool {
    lower.offset < higher.offset && lower.position <= higher.position
}

fn parse(base: Offset, slot: usize, raw: &[u8; ENTRY]) -> Result<OffsetPosition, IndexDamaged> {
    let [o0, o1, o2, o3, p0, p1, p2, p3] = *raw;
    let offset = absolute(base, [o0, o1, o2, o3]).ok_or(IndexDamaged::OffsetOutOfRange { slot })?;
    let position = u32::from_be_bytes([p0, p1, p2, p3]);
    if position > i32::MAX as u32 {
        return Err(IndexDamaged::NotRising { slot }); // a negative number to those who wrote it
    }
    Ok(OffsetPosition { offset, position })
}

/// An entry's relative offset as an offset of the log.
pub(super) fn absolute(base: Offset, relative: [u8; 4]) -> Option<Offset> {
    let relative = i32::from_be_bytes(relative);
    Offset::from_wire(base.to_wire().checked_add(i64::from(u32::try_from(relative).ok()?))?)
}

/// An offset as an entry holds it: relative to its segment's base. `None` if it does not fit.
pub(super) fn relative(base: Offset, offset: Offset) -> Option<[u8; 4]> {
    let relative = offset.get().checked_sub(base.get())?;
    i32::try_from(relative).ok().map(i32::to_be_bytes)
}

/// Adds entries at the end of an offset index.
#[derive(Debug)]
pub struct OffsetIndexBuilder {
    base: Offset,
    max_entries: u64,
    last: Option<OffsetPosition>,
    unwritten: Unwritten,
}

impl OffsetIndexBuilder {
    /// The index of a new segment. `max_bytes` is `segment.index.bytes`; there is always room for one entry.
    #[must_use]
    pub fn new(base: Offset, max_bytes: u32) -> Self {
        Self::resume(base, max_bytes, 0, None)
    }

    /// Continues an index file of `file_len` bytes that ends with the entry `last`.
    ///
    /// # Panics
    /// If the length is no whole number of entries, or there is a last entry of none or none of some.
    #[must_use]
    pub fn resume(base: Offset, max_bytes: u32, file_len: u64, last: Option<OffsetPosition>) -> Self {
        assert!(file_len.is_multiple_of(ENTRY as u64), "an index is continued after a whole entry");
        assert!((file_len == 0) == last.is_none(), "an index has a last entry unless it is empty");
        let max_entries = u64::from(max_bytes) / ENTRY as u64;
        Self { base, max_entries: max_entries.max(1), last, unwritten: Unwritten::after(file_len) }
    }

    /// Whether the segment has to roll, as there is no room for a further entry.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.unwritten.file_len() / ENTRY as u64 >= self.max_entries
    }

    /// Whether an offset can be written relative to the segment's base; the segment has to roll if not.
    #[must_use]
    pub fn fits(&self, offset: Offset) -> bool {
        relative(self.base, offset).is_some()
    }

    /// Adds the entry of the batch that ends with `offset` and starts at `position`.
    ///
    /// # Panics
    /// If the offset does not fit or is not above the last entry's, or the position lies before it.
    pub fn push(&mut self, entry: OffsetPosition) {
        let relative = relative(self.base, entry.offset).expect("segments roll before offsets stop fitting");
        assert!(self.last.is_none_or(|last| rises(last, entry)), "batches are appended in order");
        assert!(entry.position <= i32::MAX as u32, "a segment is smaller than 2 GiB");
        self.unwritten.push(&relative);
        self.unwritten.push(&entry.position.to_be_bytes());
        self.last = Some(entry);
    }

    /// The last entry, if there is one.
    #[must_use]
    pub fn last(&self) -> Option<OffsetPosition> {
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
