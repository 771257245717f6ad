//! The free chunks of one share: shards take them, and whatever thread drops the last slice of a
//! chunk gives it back.
//!
//! What always holds: a thread that gives a chunk back holds nothing that a thread which takes one
//! waits for, however long it is off its processor: the disk's threads give back, and no request
//! waits for them. So returned chunks go onto a stack without a lock, and those who take have the
//! list to themselves, which they fill from the stack.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::arena::ChunkSlot;

/// The free chunks.
#[derive(Debug)]
pub(super) struct FreeList {
    /// The next one to take at the end. Locked by takers only, for moments.
    ready: Mutex<Vec<ChunkSlot>>,
    returned: Returned,
    /// Those that are ready and those that are returned; not less, but for moments more.
    count: AtomicUsize,
}

impl FreeList {
    /// All of a share's chunks, the next one to take at the end.
    ///
    /// # Panics
    /// If they are not neighbours.
    pub(super) fn of_all(slots: Vec<ChunkSlot>) -> Self {
        let first = slots.iter().map(ChunkSlot::index).min().unwrap_or(0);
        let returned = Returned::for_slots(first, slots.len());
        Self { count: AtomicUsize::new(slots.len()), ready: Mutex::new(slots), returned }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Takes `count` chunks and leaves at least `kept`, or takes none.
    pub(super) fn take(&self, count: usize, kept: usize) -> Option<Vec<ChunkSlot>> {
        let mut ready = self.ready();
        let left = ready.len().checked_sub(count).filter(|left| *left >= kept)?;
        let taken = ready.split_off(left);
        self.count.fetch_sub(count, Ordering::Relaxed);
        Some(taken)
    }

    /// Takes all but the `first` next ones, in the order in which they would have been taken, the
    /// next one at the end.
    pub(super) fn take_all_but(&self, first: usize) -> Vec<ChunkSlot> {
        let mut ready = self.ready();
        let later = ready.len().saturating_sub(first);
        let taken: Vec<ChunkSlot> = ready.drain(..later).collect();
        self.count.fetch_sub(taken.len(), Ordering::Relaxed);
        taken
    }

    /// Takes the chunks that are meant.
    pub(super) fn take_those(&self, is_meant: impl Fn(&ChunkSlot) -> bool) -> Vec<ChunkSlot> {
        let mut ready = self.ready();
        let taken: Vec<ChunkSlot> = ready.extract_if(.., |slot| is_meant(slot)).collect();
        self.count.fetch_sub(taken.len(), Ordering::Relaxed);
        taken
    }

    /// Takes back a chunk that is not used any more. Never waits, and allocates nothing.
    pub(super) fn give_back(&self, slot: ChunkSlot) {
        // Before it can be taken, so that the count does not fall below 0.
        self.count.fetch_add(1, Ordering::Relaxed);
        self.returned.push(slot);
    }

    /// What can be taken, with all that was returned so far.
    fn ready(&self) -> MutexGuard<'_, Vec<ChunkSlot>> {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        // The list was made with room for all of the share's chunks, so this does not allocate.
        let before = ready.len();
        self.returned.take_all(|slot| ready.push(slot));
        ready[before..].reverse(); // the last one that was returned is the next one to be used
        ready
    }
}

/// A stack of chunks: whoever pushes does so alone, whoever takes takes all.
#[derive(Debug)]
struct Returned {
    /// The index of the first slot.
    first: u32,
    /// How many slots an arena has. Two arenas' may be in use at a time, one formatted after the
    /// other.
    slots: usize,
    /// The number of the topmost cell, from 1; 0 if the stack is empty.
    top: AtomicU32,
    cells: Box<[StackCell]>,
}

/// A chunk's place in the stack.
#[derive(Debug, Default)]
struct StackCell {
    /// Reached by one thread at a time: the one that pushes, then the one that takes.
    slot: Mutex<Option<ChunkSlot>>,
    /// The number of the cell below.
    below: AtomicU32,
}

impl Returned {
    fn for_slots(first: u32, slots: usize) -> Self {
        let cells = (0..2 * slots).map(|_| StackCell::default()).collect();
        Self { first, slots, top: AtomicU32::new(0), cells }
    }

    fn push(&self, slot: ChunkSlot) {
        let of_the_arena = if slot.generation().is_multiple_of(2) { 0 } else { self.slots as u32 };
        let place = slot.index() - self.first + of_the_arena;
        let cell = &self.cells[place as usize];
        let before = cell.own().replace(slot);
        assert!(before.is_none(), "a chunk is given back once");
        let mut top = self.top.load(Ordering::Relaxed);
        loop {
            // That another thread takes all and the same cell comes to the top again is no harm: it
            // is the one below in any case.
            cell.below.store(top, Ordering::Relaxed);
            let pushed = self.top.compare_exchange_weak(top, place + 1, Ordering::Release, Ordering::Relaxed);
            match pushed {
                Ok(_) => return,
                Err(now) => top = now,
            }
        }
    }

    fn take_all(&self, mut take: impl FnMut(ChunkSlot)) {
        let mut next = self.top.swap(0, Ordering::Acquire);
        while let Some(place) = next.checked_sub(1) {
            let cell = &self.cells[place as usize];
            next = cell.below.load(Ordering::Relaxed);
            take(cell.own().take().expect("a cell on the stack has its chunk"));
        }
    }
}

impl StackCell {
    /// The chunk in it, for the one thread that may reach it now.
    fn own(&self) -> MutexGuard<'_, Option<ChunkSlot>> {
        self.slot.try_lock().expect("a chunk's place is reached by one thread at a time")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::mpsc::sync_channel;

    use super::*;
    use crate::tail::arena::{Arena, ArenaMemory};
    use crate::tail::format::{Geometry, Superblock};

    /// Miri takes minutes for what takes the processor seconds.
    const ROUNDS: usize = if cfg!(miri) { 50 } else { 20_000 };

    fn slots(chunks: usize) -> Vec<ChunkSlot> {
        let memory = ArenaMemory::heap((chunks + 2) * 4096);
        let geometry = Geometry::fit(memory.size(), 4096, 1).expect("it fits");
        let superblock = Superblock { geometry, generation: 1, directories: Vec::new() };
        let mut slots = Arena::format(memory, &superblock, None).1;
        slots.truncate(chunks);
        slots
    }

    fn indexes(slots: &[ChunkSlot]) -> Vec<u32> {
        slots.iter().map(ChunkSlot::index).collect()
    }

    #[test]
    fn the_last_one_that_was_returned_is_the_next_one_to_be_used() {
        let list = FreeList::of_all(slots(5));
        let mut taken = list.take(3, 2).expect("there are five");
        assert_eq!(indexes(&taken), [2, 3, 4]);
        assert_eq!((list.count(), list.take(1, 2).is_none()), (2, true));
        taken.drain(..).for_each(|slot| list.give_back(slot));
        assert_eq!(list.count(), 5);
        assert_eq!(indexes(&list.take(2, 0).expect("there are five")), [3, 4]);
        assert_eq!(indexes(&list.take_all_but(1)), [0, 1]);
        assert_eq!(list.count(), 1);
    }

    #[test]
    fn no_chunk_is_lost_or_there_twice_however_many_give_back_and_take() {
        let list = FreeList::of_all(slots(30));
        std::thread::scope(|scope| {
            let list = &list;
            // Two shards take; what they took is given back by two threads of disks and by
            // themselves.
            for shard in 0..2 {
                let (give, returned) = sync_channel::<ChunkSlot>(4);
                scope.spawn(move || returned.iter().for_each(|slot| list.give_back(slot)));
                scope.spawn(move || {
                    let mut held = VecDeque::new();
                    for round in 0..ROUNDS {
                        held.extend(list.take(1 + (round + shard) % 3, 0).unwrap_or_default());
                        if held.len() > 8 {
                            list.give_back(held.pop_back().expect("eight"));
                            give.send(held.pop_front().expect("seven")).expect("the disk lives");
                        }
                    }
                    held.drain(..).for_each(|slot| list.give_back(slot));
                });
            }
        });
        assert_eq!(list.count(), 30);
        let mut all = indexes(&list.take(30, 0).expect("they are all back"));
        all.sort_unstable();
        assert!(all.into_iter().eq(0..30), "each once");
    }
}
