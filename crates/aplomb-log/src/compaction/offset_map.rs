//! From the hash of a key to the offset of its last record (`SkimpyOffsetMap`): 24 bytes an entry,
//! whatever the key's length.
//!
//! Where there may be twice the memory that all of it takes, it begins small and grows with its
//! keys: of a log whose keys come again and again it stays in the processor's caches. While it
//! grows it is there twice; so where memory would not do for that, all is asked for at once.
//!
//! Two keys with one hash would be taken for one. Of 128 bits, seeded anew in every pass, that does
//! not happen by accident.

use std::fmt;

use aplomb_model::Offset;
use twox_hash::XxHash3_128;

use super::last_offsets::LastOffsets;

/// A slot: two words of hash, and the offset plus one; 0 is an empty one.
type Slot = [u64; 3];

const SLOT_BYTES: usize = size_of::<Slot>();

/// Slots to begin with: 768 KiB.
const FIRST_SLOTS: usize = 1 << 15;

/// The map of one pass.
pub(super) struct OffsetMap {
    slots: Vec<Slot>,
    /// It grows up to so many.
    most_slots: usize,
    len: usize,
    /// It is full with so many.
    most: usize,
    seed: u64,
    /// The highest offset that it knows of: records above are not outdated by it.
    latest: Option<Offset>,
    /// Whether each offset was above all before it. In a log that is damaged it may not be.
    rises: bool,
    /// Once nothing is put any more.
    last: Option<LastOffsets>,
}

impl OffsetMap {
    /// Room for the keys of `records` records, of `bytes` bytes at most, filled up to `load` of 1.
    pub(super) fn new(records: u64, bytes: usize, load: f64, seed: u64) -> Self {
        let affordable = (bytes / SLOT_BYTES).max(2);
        let wanted = (records as f64 / load).ceil() as usize + 1;
        let slots = wanted.clamp(2, affordable);
        let most = ((slots as f64 * load) as usize).clamp(1, slots - 1);
        let grows = slots <= affordable / 2;
        let first = if grows { slots.min(FIRST_SLOTS) } else { slots };
        Self { most_slots: slots, most, seed, slots: vec![[0; 3]; first], ..Self::without_room() }
    }

    /// Takes no key, and next to no memory.
    pub(super) fn without_room() -> Self {
        let slots = vec![[0; 3]; 2];
        Self { slots, most_slots: 2, len: 0, most: 0, seed: 0, latest: None, rises: true, last: None }
    }

    /// A key's last record so far lies at `offset`. False, and nothing is noted, if the map is
    /// full; as in Apache Kafka also where the key is in it already.
    pub(super) fn put(&mut self, key: &[u8], offset: Offset) -> bool {
        if self.len == self.most {
            return false;
        }
        // Half full, and not fuller as long as it grows: then what is looked for is soon found.
        if self.len >= self.slots.len() / 2 && self.slots.len() < self.most_slots {
            self.grow();
        }
        let hash = self.hash(key);
        let place = self.place(hash);
        let slot = &mut self.slots[place];
        self.len += usize::from(slot[2] == 0);
        *slot = [hash[0], hash[1], offset.get() + 1];
        self.rises &= self.latest < Some(offset);
        self.reach(offset);
        true
    }

    fn grow(&mut self) {
        let slots = vec![[0; 3]; (2 * self.slots.len()).min(self.most_slots)];
        for slot in std::mem::replace(&mut self.slots, slots).into_iter().filter(|slot| slot[2] != 0) {
            let place = self.place([slot[0], slot[1]]);
            self.slots[place] = slot;
        }
    }

    /// A record's offset is not one of its batch: offsets say nothing of where records are.
    pub(super) fn mistrust_offsets(&mut self) {
        self.rises = false;
    }

    /// All records from `first` to the latest were read, and no more will be.
    pub(super) fn settle(&mut self, first: Offset) {
        if let Some(latest) = self.latest.filter(|latest| self.rises && first <= *latest) {
            let offsets = self.slots.iter().filter_map(|slot| slot[2].checked_sub(1).map(Offset::new));
            self.last = Some(LastOffsets::new(first..=latest, offsets));
        }
    }

    /// Whether no record from `first` to `last` is its key's last one. Such of aborted transactions
    /// aside, of which the map may know nothing.
    pub(super) fn outdates_all(&self, first: Offset, last: Offset) -> bool {
        self.last.as_ref().is_some_and(|offsets| offsets.has_none_in(first, last))
    }

    /// The offset of a key's last record, if there is one in what was read.
    pub(super) fn get(&self, key: &[u8]) -> Option<Offset> {
        let slot = self.slots[self.place(self.hash(key))];
        slot[2].checked_sub(1).map(Offset::new)
    }

    /// Everything up to `offset` has been read.
    pub(super) fn reach(&mut self, offset: Offset) {
        self.latest = self.latest.max(Some(offset));
    }

    /// The highest offset that was read.
    pub(super) fn latest(&self) -> Option<Offset> {
        self.latest
    }

    /// How full it is, of 1.
    pub(super) fn used(&self) -> f64 {
        self.len as f64 / self.most_slots as f64
    }

    fn hash(&self, key: &[u8]) -> [u64; 2] {
        let hash = XxHash3_128::oneshot_with_seed(self.seed, key);
        [(hash >> 64) as u64, hash as u64]
    }

    /// The slot that has the hash, or the empty one where it would be. One is always empty.
    fn place(&self, hash: [u64; 2]) -> usize {
        // A multiplication spreads hashes as evenly as a division, and takes a tenth of its time.
        let mut place = ((u128::from(hash[1]) * self.slots.len() as u128) >> 64) as usize;
        loop {
            let slot = &self.slots[place];
            if slot[2] == 0 || slot[..2] == hash {
                return place;
            }
            place = if place + 1 == self.slots.len() { 0 } else { place + 1 };
        }
    }
}

impl fmt::Debug for OffsetMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OffsetMap({} of {})", self.len, self.most_slots)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_map_until_it_is_full(keys in prop::collection::vec(0_u16..200, 0..400), room in 1_u64..150, first in 2_usize..200) {
            let mut map = OffsetMap::new(room, usize::MAX, 0.9, 7);
            map.slots.truncate(first);
            let mut model = HashMap::new();
            for (offset, key) in keys.into_iter().enumerate() {
                let taken = map.put(&key.to_be_bytes(), Offset::new(offset as u64));
                prop_assert_eq!(taken, model.len() < map.most);
                if !taken {
                    break;
                }
                model.insert(key, offset as u64);
                prop_assert_eq!(map.latest(), Some(Offset::new(offset as u64)));
            }
            prop_assert!(map.most as u64 >= room, "{} keys of {room} fit", map.most);
            for key in 0_u16..200 {
                prop_assert_eq!(map.get(&key.to_be_bytes()), model.get(&key).copied().map(Offset::new));
            }
        }
    }

    #[test]
    fn it_tells_where_no_record_is_its_keys_last_one_if_offsets_can_be_trusted() {
        let map = |offsets: [u64; 4]| {
            let mut map = OffsetMap::new(10, usize::MAX, 0.9, 7);
            for (key, offset) in [b"a", b"b", b"a", b"b"].into_iter().zip(offsets) {
                assert!(map.put(key, Offset::new(offset)));
            }
            map.settle(Offset::new(3));
            map
        };
        let outdates = |map: &OffsetMap, first, last| map.outdates_all(Offset::new(first), Offset::new(last));
        let rising = map([3, 4, 6, 7]);
        assert!(outdates(&rising, 3, 5) && outdates(&rising, 4, 4));
        assert!(!outdates(&rising, 3, 6) && !outdates(&rising, 7, 7));
        assert!(!outdates(&rising, 2, 3), "what is clean was not read");
        assert!(!outdates(&rising, 7, 8) && !outdates(&rising, 8, 9), "nor was what is above");
        assert!(!outdates(&map([3, 6, 4, 7]), 3, 3), "these offsets fall");
        assert!(!outdates(&map([3, 4, 4, 7]), 3, 3), "one offset stands for two records");
    }

    #[test]
    fn it_takes_no_more_memory_than_it_may() {
        let map = OffsetMap::new(1 << 40, 24_000, 0.9, 7);
        assert_eq!((map.slots.len(), map.most_slots, map.most), (1000, 1000, 900));
        let smallest = OffsetMap::new(0, 0, 0.9, 7);
        assert_eq!((smallest.slots.len(), smallest.most_slots, smallest.most), (2, 2, 1));
        // Growing, it is there twice, which that has no room for.
        let whole = OffsetMap::new(1 << 40, 24 * 100_000, 0.9, 7);
        assert_eq!((whole.slots.len(), whole.slots.capacity()), (100_000, 100_000));
        assert_eq!(OffsetMap::new(90_000, 24 * 200_001, 0.9, 7).slots.len(), 100_001, "nor this");
        let mut large = OffsetMap::new(89_999, 24 * 200_000, 0.9, 7);
        assert_eq!((large.slots.len(), large.most_slots), (FIRST_SLOTS, 100_000));
        let taken =
            (0_u64..100_000).take_while(|key| large.put(&key.to_be_bytes(), Offset::new(*key))).count();
        assert_eq!((taken, large.slots.len(), large.slots.capacity()), (90_000, 100_000, 100_000));
    }
}
