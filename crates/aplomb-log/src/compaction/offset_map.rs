//! From the hash of a key to the offset of its last record (`SkimpyOffsetMap`): 24 bytes an entry,
//! whatever the key's length, in memory that is asked for once.
//!
//! Two keys with one hash would be taken for one. Of 128 bits, seeded anew in every pass, that does
//! not happen by accident.

use std::fmt;

use aplomb_model::Offset;
use twox_hash::XxHash3_128;

/// A slot: two words of hash, and the offset plus one; 0 is an empty one.
type Slot = [u64; 3];

const SLOT_BYTES: usize = size_of::<Slot>();

/// The map of one pass.
pub(super) struct OffsetMap {
    slots: Vec<Slot>,
    len: usize,
    /// It is full with so many.
    most: usize,
    seed: u64,
    /// The highest offset that it knows of: records above are not outdated by it.
    latest: Option<Offset>,
}

impl OffsetMap {
    /// Room for the keys of `records` records, of `bytes` bytes at most, filled up to `load` of 1.
    pub(super) fn new(records: u64, bytes: usize, load: f64, seed: u64) -> Self {
        let affordable = (bytes / SLOT_BYTES).max(2);
        let wanted = (records as f64 / load).ceil() as usize + 1;
        let slots = wanted.clamp(2, affordable);
        let most = ((slots as f64 * load) as usize).clamp(1, slots - 1);
        Self { slots: vec![[0; 3]; slots], len: 0, most, seed, latest: None }
    }

    /// Takes no key, and next to no memory.
    pub(super) fn without_room() -> Self {
        Self { slots: vec![[0; 3]; 2], len: 0, most: 0, seed: 0, latest: None }
    }

    /// A key's last record so far lies at `offset`. False, and nothing is noted, if the map is
    /// full; as in Apache Kafka also where the key is in it already.
    pub(super) fn put(&mut self, key: &[u8], offset: Offset) -> bool {
        if self.len == self.most {
            return false;
        }
        let hash = self.hash(key);
        let place = self.place(hash);
        let slot = &mut self.slots[place];
        self.len += usize::from(slot[2] == 0);
        *slot = [hash[0], hash[1], offset.get() + 1];
        self.reach(offset);
        true
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
        self.len as f64 / self.slots.len() as f64
    }

    fn hash(&self, key: &[u8]) -> [u64; 2] {
        let hash = XxHash3_128::oneshot_with_seed(self.seed, key);
        [(hash >> 64) as u64, hash as u64]
    }

    /// The slot that has the hash, or the empty one where it would be. One is always empty.
    fn place(&self, hash: [u64; 2]) -> usize {
        let mut place = (hash[1] % self.slots.len() as u64) as usize;
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
        write!(f, "OffsetMap({} of {})", self.len, self.slots.len())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_map_until_it_is_full(keys in prop::collection::vec(0_u16..200, 0..400), room in 1_u64..150) {
            let mut map = OffsetMap::new(room, usize::MAX, 0.9, 7);
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
    fn it_takes_no_more_memory_than_it_may() {
        let map = OffsetMap::new(1 << 40, 24_000, 0.9, 7);
        assert_eq!((map.slots.len(), map.most), (1000, 900));
        let smallest = OffsetMap::new(0, 0, 0.9, 7);
        assert_eq!((smallest.slots.len(), smallest.most), (2, 1));
    }
}
