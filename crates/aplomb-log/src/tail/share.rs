//! One disk's share of the tail: its free chunks, and the numbers that say how things stand.
//!
//! Used by all shards at once. The numbers are plain counters. A chunk is *free*, *held* by a log,
//! or *lingering*: released by its log while readers or the disk still hold slices of it.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use aplomb_model::{ByteCount, DirectoryId};

use super::arena::{Arena, ArenaMemory, ChunkSlot, WriteEnd};
use super::crash::CrashSwitch;
use super::error::{GeometryError, TailFull};
use super::format::{Geometry, Superblock};
use super::free_list::FreeList;
use crate::memory_budget::MemoryBudget;

/// Below so many sixteenths of the share being free, logs are asked to give up chunks that the disk
/// has: more than is kept from some, or what they may not take would never be asked for.
const WANTED_FREE: usize = 3;
/// Readers may hold this part of the share; beyond it they get copies.
const READERS_PART: usize = 4;
/// What parts of the share are counted in.
const PARTS: usize = 16;
/// One batch for so many bytes of the share is remembered; this bounds the heap that very small
/// batches can take.
const BYTES_PER_BATCH: u64 = 128;

/// How much of the share a batch may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// All of it, for logs of internal topics: while other logs have filled the rest, groups still
    /// commit, and their members stay.
    Internal,
    /// All but a sixteenth: for who has produced little of late, and shall not wait for those who
    /// have filled the rest.
    Light,
    /// All but an eighth.
    Ordinary,
}

impl Claim {
    /// In sixteenths of the share, what is left to others.
    fn kept(self) -> usize {
        match self {
            Self::Internal => 0,
            Self::Light => 1,
            Self::Ordinary => 2,
        }
    }
}

/// One disk's share of the arena.
#[derive(Debug)]
pub struct TailShare {
    current: Mutex<Current>,
    /// That of the current arena.
    generation: AtomicU64,
    directory: DirectoryId,
    index: u16,
    chunk_size: u32,
    chunks: usize,
    most_batches: u64,
    free: FreeList,
    sequence: AtomicU64,
    fewest_free: AtomicUsize,
    held: AtomicUsize,
    cached: AtomicUsize,
    reader_pinned: AtomicUsize,
    reading: Arc<MemoryBudget>,
    producing: Arc<MemoryBudget>,
    waiting: AtomicU64,
    batches: AtomicU64,
    /// How many free chunks a batch needed that did not get its own, and what it had to leave.
    missed: AtomicUsize,
    /// Free chunks that are not on the list: their memory is not there yet.
    reserved: AtomicUsize,
    /// How many chunks logs should give up so that an earlier arena goes.
    outdated: AtomicUsize,
}

/// The arena that chunks are taken from.
#[derive(Debug)]
struct Current {
    arena: Arc<Arena>,
    /// Its chunks that are not in use yet, one for each that is of the arena before.
    in_exchange: Vec<ChunkSlot>,
    before: Weak<Arena>,
}

/// How a share stands, in chunks unless said otherwise. Read without a lock: each number is right,
/// but not all are of one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TailStats {
    /// Size of a chunk in bytes.
    pub chunk_size: u32,
    /// How many chunks the share has.
    pub chunks: usize,
    /// Those that are not in use.
    pub free: usize,
    /// The fewest that were ever free.
    pub fewest_free: usize,
    /// Those that belong to logs.
    pub held: usize,
    /// Those among the held that the disk has wholly: kept for readers until the memory is wanted.
    pub cached: usize,
    /// Those of which readers hold slices.
    pub reader_pinned: usize,
    /// Bytes that the disk does not have yet.
    pub waiting: u64,
    /// Batches that logs remember.
    pub batches: u64,
}

/// Formats `memory` and deals its chunks out to the disks, equally. Whatever was in it is gone:
/// drain it first.
///
/// `generation` is one more than that of the arena that was there, from 1.
///
/// # Errors
/// [`GeometryError`] if the memory cannot be laid out as asked.
pub fn open_shares(
    memory: ArenaMemory,
    chunk_size: u32,
    directories: &[DirectoryId],
    generation: u64,
    crash: Option<Arc<CrashSwitch>>,
) -> Result<Vec<Arc<TailShare>>, GeometryError> {
    let geometry = Geometry::fit(memory.size(), chunk_size, directories.len())?;
    let superblock = Superblock { geometry, generation, directories: directories.to_vec() };
    let (arena, parts) = format(memory, &superblock, crash);
    let share = |((index, directory), free): ((usize, &DirectoryId), Vec<ChunkSlot>)| {
        Arc::new(TailShare::new(arena.clone(), *directory, index as u16, free))
    };
    Ok(directories.iter().enumerate().zip(parts).map(share).collect())
}

/// From now on what is appended goes into other memory of the same size, which is formatted here
/// and whose pages are there: that of the arena before is none that the next process would find.
/// What is in that stays readable, and goes to the disk, as always; the arena goes with its last
/// chunk (see [`TailShare::exchange_free`]), and has [`Arena::waiting`] bytes that are nowhere else
/// until then. Gives the arena before.
///
/// # Panics
/// If the memory is of another size, or the arena before the present one is not gone.
pub fn renew_shares(
    shares: &[Arc<TailShare>],
    memory: ArenaMemory,
    crash: Option<Arc<CrashSwitch>>,
) -> Arc<Arena> {
    let before = shares[0].arena();
    let generation = shares[0].generation.load(Ordering::Relaxed) + 1;
    let directories = shares.iter().map(|share| share.directory).collect();
    let superblock = Superblock { geometry: *before.geometry(), generation, directories };
    let (arena, parts) = format(memory, &superblock, crash);
    for (share, fresh) in shares.iter().zip(parts) {
        share.renew(&arena, fresh, generation);
    }
    before
}

/// Formats memory, and gives each share's chunks, the first at the end.
fn format(
    memory: ArenaMemory,
    superblock: &Superblock,
    crash: Option<Arc<CrashSwitch>>,
) -> (Arc<Arena>, Vec<Vec<ChunkSlot>>) {
    let geometry = superblock.geometry;
    let (arena, slots) = Arena::format(memory, superblock, crash);
    let mut slots = slots.into_iter();
    let part = |index| {
        let part = geometry.chunks_of(index);
        // Taken from the end: low addresses first.
        let mut free: Vec<ChunkSlot> = slots.by_ref().take(part.len()).collect();
        assert!(free.iter().map(ChunkSlot::index).eq(part), "a share has its own chunks");
        free.reverse();
        free
    };
    let parts = (0..geometry.shares).map(part).collect();
    (arena, parts)
}

impl TailShare {
    fn new(arena: Arc<Arena>, directory: DirectoryId, index: u16, free: Vec<ChunkSlot>) -> Self {
        let (chunk_size, chunks) = (arena.geometry().chunk_size, free.len());
        Self {
            generation: AtomicU64::new(arena.generation()),
            current: Mutex::new(Current { arena, in_exchange: Vec::new(), before: Weak::new() }),
            directory,
            index,
            chunk_size,
            chunks,
            most_batches: chunks as u64 * u64::from(chunk_size) / BYTES_PER_BATCH,
            free: FreeList::of_all(free),
            sequence: AtomicU64::new(1),
            fewest_free: AtomicUsize::new(chunks),
            held: AtomicUsize::new(0),
            cached: AtomicUsize::new(0),
            reader_pinned: AtomicUsize::new(0),
            reading: MemoryBudget::unlimited(),
            producing: MemoryBudget::unlimited(),
            waiting: AtomicU64::new(0),
            batches: AtomicU64::new(0),
            missed: AtomicUsize::new(0),
            reserved: AtomicUsize::new(0),
            outdated: AtomicUsize::new(0),
        }
    }

    /// The log directory that the share belongs to.
    #[must_use]
    pub fn directory(&self) -> DirectoryId {
        self.directory
    }

    /// The arena that chunks are taken from.
    #[must_use]
    pub fn arena(&self) -> Arc<Arena> {
        self.current().arena.clone()
    }

    /// Memory for what readers hold outside the arena.
    #[must_use]
    pub fn reading(&self) -> &Arc<MemoryBudget> {
        &self.reading
    }

    /// Memory for batches that wait for room in the share.
    #[must_use]
    pub fn producing(&self) -> &Arc<MemoryBudget> {
        &self.producing
    }

    /// Size of a chunk in bytes.
    #[must_use]
    pub fn chunk_size(&self) -> u32 {
        self.chunk_size
    }

    /// The largest batch that finds room even while readers hold all they may.
    #[must_use]
    pub fn largest_batch(&self) -> ByteCount {
        // Two chunks may be filled only in part: the one it begins in and the one it ends in.
        let chunks = (self.chunks - self.reader_limit() - self.kept(Claim::Ordinary)).saturating_sub(1);
        ByteCount(chunks as u64 * u64::from(self.chunk_size))
    }

    /// How many chunks the logs of this disk should give up now, by `LogTail::evict`, so that the
    /// next batches find room.
    #[must_use]
    pub fn shortage(&self) -> usize {
        let wanted = (self.chunks * WANTED_FREE / PARTS).max(1).max(self.missed.load(Ordering::Relaxed));
        let chunks = wanted.saturating_sub(self.free()).max(self.outdated.load(Ordering::Relaxed));
        // Chunks full of very small batches are given up for the room to remember others: as many
        // as have the batches that are too many, if all have as many.
        let few = self.most_batches - self.most_batches * WANTED_FREE as u64 / PARTS as u64;
        let batches = self.batches.load(Ordering::Relaxed);
        let held = self.held.load(Ordering::Relaxed);
        let for_batches = (batches.saturating_sub(few) * held as u64).div_ceil(batches.max(1));
        chunks.max(for_batches as usize).min(self.cached.load(Ordering::Relaxed))
    }

    /// How the share stands.
    #[must_use]
    pub fn stats(&self) -> TailStats {
        TailStats {
            chunk_size: self.chunk_size,
            chunks: self.chunks,
            free: self.free(),
            fewest_free: self.fewest_free.load(Ordering::Relaxed),
            held: self.held.load(Ordering::Relaxed),
            cached: self.cached.load(Ordering::Relaxed),
            reader_pinned: self.reader_pinned.load(Ordering::Relaxed),
            waiting: self.waiting.load(Ordering::Relaxed),
            batches: self.batches.load(Ordering::Relaxed),
        }
    }

    /// The refusal, with the number that explains it.
    pub(super) fn full(&self) -> TailFull {
        TailFull { waiting: ByteCount(self.waiting.load(Ordering::Relaxed)) }
    }

    pub(super) fn index(&self) -> u16 {
        self.index
    }

    /// Takes `count` chunks, or none. What is not for such a claim stays.
    pub(super) fn take(&self, count: usize, claim: Claim) -> Option<Vec<ChunkSlot>> {
        let kept = self.kept(claim);
        let needed = count + kept;
        let in_the_list = kept.saturating_sub(self.reserved.load(Ordering::Relaxed));
        let Some(mut taken) = self.free.take(count, in_the_list) else {
            self.missed.fetch_max(needed, Ordering::Relaxed);
            return None;
        };
        taken.iter_mut().for_each(|slot| self.exchange(slot));
        if self.missed.load(Ordering::Relaxed) <= needed {
            self.missed.store(0, Ordering::Relaxed);
        }
        self.fewest_free.fetch_min(self.free(), Ordering::Relaxed);
        self.held.fetch_add(count, Ordering::Relaxed);
        Some(taken)
    }

    /// Takes back a chunk that is not used any more. Never waits, whatever thread it is.
    pub(super) fn give_back(&self, slot: ChunkSlot) {
        self.free.give_back(slot);
    }

    /// Takes all free chunks but `first` from the list, those at high addresses; they count as
    /// free. In the order in which they would have been taken, the next one at the end.
    pub(super) fn reserve_behind(&self, first: usize) -> Vec<ChunkSlot> {
        let reserved = self.free.take_all_but(first);
        self.reserved.fetch_add(reserved.len(), Ordering::Relaxed);
        reserved
    }

    /// Makes one of them usable.
    pub(super) fn release_reserved(&self, slot: ChunkSlot) {
        self.give_back(slot);
        self.reserved.fetch_sub(1, Ordering::Relaxed);
    }

    /// A number for the next allocation, from 1.
    pub(super) fn next_sequence(&self) -> u64 {
        self.sequence.fetch_add(1, Ordering::Relaxed)
    }

    /// A log has let a chunk go.
    pub(super) fn on_released(&self) {
        self.held.fetch_sub(1, Ordering::Relaxed);
        if self.outdated.load(Ordering::Relaxed) > 0 {
            // Whichever it was: logs give up their oldest ones first.
            let less = |count: usize| count.checked_sub(1);
            let _ = self.outdated.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        }
    }

    /// Whether what is written there is in memory that the next process would not find.
    pub(super) fn is_outdated(&self, end: &WriteEnd) -> bool {
        end.generation() < self.generation.load(Ordering::Relaxed)
    }

    /// Goes on with the chunks of another arena, formatted just now.
    fn renew(&self, arena: &Arc<Arena>, fresh: Vec<ChunkSlot>, generation: u64) {
        assert_eq!(fresh.len(), self.chunks, "one for each that there was");
        let mut current = self.current();
        assert_eq!(current.before.strong_count(), 0, "there are two arenas at most");
        let before = Arc::downgrade(&current.arena);
        *current = Current { arena: arena.clone(), in_exchange: fresh, before };
        drop(current);
        self.generation.store(generation, Ordering::Release);
        self.outdated.store(self.held.load(Ordering::Relaxed), Ordering::Relaxed);
        self.exchange_free();
    }

    /// Lets go of the free chunks of the arena before, if there was one: to be called now and then
    /// until it is gone.
    pub fn exchange_free(&self) {
        let generation = self.generation.load(Ordering::Acquire);
        for mut slot in self.free.take_those(|slot| slot.generation() < generation) {
            self.exchange(&mut slot);
            self.free.give_back(slot);
        }
    }

    /// Takes a chunk of the current arena for a free one of the arena before.
    fn exchange(&self, slot: &mut ChunkSlot) {
        if slot.generation() < self.generation.load(Ordering::Acquire) {
            let fresh = self.current().in_exchange.pop();
            *slot = fresh.expect("there is one for each of the arena before");
        }
    }

    /// Locked by those who take chunks, and for moments only.
    fn current(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A held chunk has become one that the disk has.
    pub(super) fn on_cached(&self) {
        self.cached.fetch_add(1, Ordering::Relaxed);
    }

    /// A cached chunk was released or written to again.
    pub(super) fn on_uncached(&self) {
        self.cached.fetch_sub(1, Ordering::Relaxed);
    }

    /// Counts bytes that the disk does not have yet.
    pub(super) fn add_waiting(&self, bytes: u64) {
        self.waiting.fetch_add(bytes, Ordering::Relaxed);
    }

    /// The disk has these bytes, or the log has given them up.
    pub(super) fn remove_waiting(&self, bytes: u64) {
        self.waiting.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Reserves room to remember one batch. What is not for such a claim stays.
    pub(super) fn admit_batch(&self, claim: Claim) -> bool {
        let kept = self.kept(claim) as u64 * u64::from(self.chunk_size) / BYTES_PER_BATCH;
        let admitted = self.batches.fetch_add(1, Ordering::Relaxed) < self.most_batches - kept;
        if !admitted {
            self.batches.fetch_sub(1, Ordering::Relaxed);
        }
        admitted
    }

    /// Forgets so many batches.
    pub(super) fn forget_batches(&self, count: usize) {
        self.batches.fetch_sub(count as u64, Ordering::Relaxed);
    }

    /// A reader wants to hold a chunk that no reader holds. `false`: too much is held already.
    pub(super) fn admit_reader(&self) -> bool {
        let admitted = self.reader_pinned.fetch_add(1, Ordering::Relaxed) < self.reader_limit();
        if !admitted {
            self.reader_pinned.fetch_sub(1, Ordering::Relaxed);
        }
        admitted
    }

    /// The last reader of a chunk let go.
    pub(super) fn on_reader_gone(&self) {
        self.reader_pinned.fetch_sub(1, Ordering::Relaxed);
    }

    fn free(&self) -> usize {
        self.free.count() + self.reserved.load(Ordering::Relaxed)
    }

    /// How many chunks such a claim leaves to others.
    fn kept(&self, claim: Claim) -> usize {
        self.chunks / PARTS * claim.kept()
    }

    fn reader_limit(&self) -> usize {
        self.chunks / READERS_PART
    }
}
