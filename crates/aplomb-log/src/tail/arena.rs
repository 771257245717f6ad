//! The arena: one piece of memory cut into chunks, and the only file that touches it.
//!
//! What always holds, and what makes the unsafe blocks right:
//!
//! - An [`Arena`] owns its memory; no other code reads or writes it while the arena exists.
//! - Words of the superblock and of the headers are only ever accessed as atomics.
//! - Each chunk has one [`ChunkSlot`], and each slot at most one [`WriteEnd`], which only moves
//!   forward. Bytes before what was made readable are never written again until the slot is opened
//!   anew, which needs the slot alone (`&mut`), so with no reader left. Bytes behind it are touched
//!   by the holder of the write end only.
//!
//! A process can die between any two stores. A killed process has done all stores before the point
//! where it died and none after; release ordering keeps the compiler from moving them across the
//! ones that publish.
//!
//! Next: `format` for what the words mean, `chunk` for who holds a slot, `drain` for reading back.

#![expect(
    unsafe_code,
    reason = "the arena is raw memory that outlives the process; every access to it is in this file"
)]

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use super::crash::CrashSwitch;
use super::format::{BLOCK, ChunkHeader, Geometry, LiveWord, Superblock, live_offset};

/// Memory for an arena: mapped by the caller, or from the heap. Aligned to 4096 bytes.
pub struct ArenaMemory {
    base: NonNull<u8>,
    len: usize,
    /// Keeps the memory where it is.
    _keep: Box<dyn Any + Send + Sync>,
}

// SAFETY: the memory belongs to the owner of the value; `&ArenaMemory` only reads, and `Arena`
// follows the rules above.
unsafe impl Send for ArenaMemory {}
// SAFETY: as above.
unsafe impl Sync for ArenaMemory {}

impl ArenaMemory {
    /// Takes over mapped memory, which stays mapped until `keep` is dropped.
    ///
    /// # Safety
    /// `base..base + len` is readable, writable and initialised, no other code in this process uses
    /// it while `keep` lives, and it stays valid that long.
    ///
    /// # Panics
    /// If `base` is not aligned to 4096 bytes.
    #[must_use]
    pub unsafe fn from_raw(base: NonNull<u8>, len: usize, keep: Box<dyn Any + Send + Sync>) -> Self {
        assert!(base.as_ptr().addr().is_multiple_of(BLOCK), "an arena is aligned to {BLOCK} bytes");
        Self { base, len, _keep: keep }
    }

    /// Zeroed memory from the heap. It does not survive the process.
    ///
    /// # Panics
    /// If `len` is 0.
    #[must_use]
    pub fn heap(len: usize) -> Self {
        assert!(len > 0, "an arena has a size");
        let layout = Layout::from_size_align(len, BLOCK).expect("a size that fits the address space");
        // SAFETY: the layout's size is not 0.
        let base = unsafe { alloc_zeroed(layout) };
        let Some(base) = NonNull::new(base) else { handle_alloc_error(layout) };
        Self { base, len, _keep: Box::new(HeapBlock { base, layout }) }
    }

    /// How many bytes it has.
    #[must_use]
    pub fn size(&self) -> usize {
        self.len
    }

    /// A copy of bytes that were an arena's, on the heap.
    ///
    /// # Panics
    /// If there are none.
    #[must_use]
    pub fn copy_of(bytes: &[u8]) -> Self {
        let copy = Self::heap(bytes.len());
        // SAFETY: two allocations of the same length, and no other code knows the new one.
        unsafe { bytes.as_ptr().copy_to_nonoverlapping(copy.base.as_ptr(), bytes.len()) };
        copy
    }

    /// All bytes, as an earlier process left them.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: initialised and valid by the constructors' contract. Only `Arena` writes, and it
        // does not lend out its memory.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.len) }
    }
}

impl fmt::Debug for ArenaMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArenaMemory").field("len", &self.len).finish_non_exhaustive()
    }
}

struct HeapBlock {
    base: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it is only ever dropped.
unsafe impl Send for HeapBlock {}
// SAFETY: as above.
unsafe impl Sync for HeapBlock {}

impl Drop for HeapBlock {
    fn drop(&mut self) {
        // SAFETY: allocated by `ArenaMemory::heap` with this layout; the `ArenaMemory` that used it
        // goes with it.
        unsafe { dealloc(self.base.as_ptr(), self.layout) }
    }
}

/// Formatted memory. Its chunks are reached through the slots that formatting gives out, once.
#[derive(Debug)]
pub struct Arena {
    memory: ArenaMemory,
    geometry: Geometry,
    generation: u64,
    crash: Option<Arc<CrashSwitch>>,
}

impl Arena {
    /// Makes `memory` an empty arena. What was in it no longer counts from the first store on.
    pub(super) fn format(
        memory: ArenaMemory,
        superblock: &Superblock,
        crash: Option<Arc<CrashSwitch>>,
    ) -> (Arc<Self>, Vec<ChunkSlot>) {
        let geometry = superblock.geometry;
        assert!(geometry.arena_len <= memory.len, "the arena fits its memory");
        let arena = Arc::new(Self { memory, geometry, generation: superblock.generation, crash });
        let (seal_at, seal) = Superblock::SEAL;
        arena.store(seal_at, 0, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        for chunk in 0..geometry.chunks {
            arena.store(geometry.header_at(chunk) + live_offset(LiveWord::State), 0, Ordering::Relaxed);
        }
        for (at, word) in superblock.words() {
            arena.store(at, word, Ordering::Relaxed);
        }
        arena.store(seal_at, seal, Ordering::Release);
        fence(Ordering::SeqCst);
        let slot = |index| ChunkSlot { arena: arena.clone(), index, lease: 0, readable: AtomicU32::new(0) };
        let slots = (0..geometry.chunks).map(slot).collect();
        (arena, slots)
    }

    pub(super) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    /// Whether the next process would take the memory for an arena. Once it is formatted it is one,
    /// unless another process has written over it.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        let (at, seal) = Superblock::SEAL;
        self.word(at).load(Ordering::Relaxed) == seal
    }

    /// Bytes that are part of logs and that no disk has promised to have.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        let of = |chunk| {
            let at = self.geometry.header_at(chunk);
            let live = |word| self.word(at + live_offset(word)).load(Ordering::Acquire);
            let is_owned = live(LiveWord::State) != 0;
            let bytes = live(LiveWord::Published).saturating_sub(live(LiveWord::Durable));
            if is_owned { bytes } else { 0 }
        };
        (0..self.geometry.chunks).map(of).sum()
    }

    /// A copy of the memory as the next process would find it, if this one died now. Only arenas
    /// with a crash switch have one: the switch keeps stores and this apart.
    #[must_use]
    pub fn image(&self) -> Option<ArenaMemory> {
        let crash = self.crash.as_ref()?;
        let copy = ArenaMemory::heap(self.memory.len);
        // SAFETY: two allocations of `len` bytes; every store goes through the switch, so none
        // happens meanwhile.
        crash.between_stores(|| unsafe {
            self.memory.base.copy_to_nonoverlapping(copy.base, self.memory.len);
        });
        Some(copy)
    }

    /// Overwrites all that says what is where, as others can do with a file. Only arenas with a
    /// crash switch can be treated so.
    pub fn overwrite_beginning(&self) {
        let Some(crash) = &self.crash else { return };
        crash.between_stores(|| {
            let words = (0..self.geometry.chunk_at(0)).step_by(8);
            words.for_each(|at| self.word(at).store(0, Ordering::Relaxed));
        });
    }

    /// Stores one word at byte `at`.
    fn store(&self, at: usize, value: u64, order: Ordering) {
        match &self.crash {
            None => self.word(at).store(value, order),
            Some(switch) => switch.store(|| self.word(at).store(value, order)),
        }
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        assert!(at.is_multiple_of(8) && at < self.geometry.chunk_at(0), "byte {at} holds no word");
        // SAFETY: aligned, inside the memory, before the first chunk, and so only ever accessed as
        // an atomic.
        unsafe { AtomicU64::from_ptr(self.memory.base.as_ptr().add(at).cast()) }
    }

    /// Copies bytes to byte `at` of `chunk`.
    ///
    /// # Safety
    /// No other code reads or writes those bytes of the chunk meanwhile.
    unsafe fn copy(&self, chunk: u32, at: u32, bytes: &[u8]) {
        let (at, size) = (at as usize, self.geometry.chunk_size as usize);
        assert!(at <= size && bytes.len() <= size - at, "{} bytes at {at} leave the chunk", bytes.len());
        let start = self.geometry.chunk_at(chunk) + at;
        // SAFETY: inside the chunk by the assertion, the chunk inside the memory by the geometry,
        // alone by the contract; `bytes` cannot overlap with memory that no code may read.
        let copy =
            |len| unsafe { bytes.as_ptr().copy_to_nonoverlapping(self.memory.base.as_ptr().add(start), len) };
        match &self.crash {
            None => copy(bytes.len()),
            Some(switch) => switch.copy(bytes.len(), copy),
        }
    }
}

/// The right to use one chunk. There is one for each chunk, and it cannot be copied.
#[derive(Debug)]
pub(super) struct ChunkSlot {
    arena: Arc<Arena>,
    index: u32,
    /// Counts how often the slot was opened.
    lease: u64,
    /// Up to here, from the chunk's start, bytes stay as they are until the slot is opened anew.
    readable: AtomicU32,
}

/// The right to write behind what is readable in one opened slot. Cannot be copied.
#[derive(Debug)]
pub(super) struct WriteEnd {
    arena: Arc<Arena>,
    index: u32,
    lease: u64,
    at: u32,
}

impl WriteEnd {
    /// How far the chunk is filled, from its start.
    pub(super) fn at(&self) -> u32 {
        self.at
    }

    /// Which of a share's arenas it is in.
    pub(super) fn generation(&self) -> u64 {
        self.arena.generation
    }
}

impl ChunkSlot {
    pub(super) fn index(&self) -> u32 {
        self.index
    }

    pub(super) fn size(&self) -> u32 {
        self.arena.geometry.chunk_size
    }

    /// Which of a share's arenas it is in.
    pub(super) fn generation(&self) -> u64 {
        self.arena.generation
    }

    /// Gives the chunk an owner: writes the header while the chunk is free, then says that it is
    /// owned.
    pub(super) fn open(&mut self, header: &ChunkHeader) -> WriteEnd {
        assert!(header.begin < self.size(), "a chunk is opened to hold something");
        assert!(header.sequence != 0, "0 is the state of a free chunk");
        let at = self.arena.geometry.header_at(self.index);
        // The chunk was released before it came here, perhaps on another thread; that store stays
        // before these.
        fence(Ordering::SeqCst);
        for (offset, word) in header.words() {
            self.arena.store(at + offset, word, Ordering::Relaxed);
        }
        self.set(LiveWord::State, header.sequence);
        self.lease += 1;
        *self.readable.get_mut() = header.begin;
        WriteEnd { arena: self.arena.clone(), index: self.index, lease: self.lease, at: header.begin }
    }

    /// Copies bytes behind those already there. They are not readable, and not part of the log,
    /// before [`ChunkSlot::publish`].
    pub(super) fn append(&self, end: &mut WriteEnd, bytes: &[u8]) {
        self.check(end);
        // SAFETY: behind `end.at`, so behind all that is readable; there is one write end a lease,
        // and we have it alone.
        unsafe { self.arena.copy(self.index, end.at, bytes) };
        end.at += bytes.len() as u32;
    }

    /// Makes everything appended so far part of the log, with one store.
    pub(super) fn publish(&self, end: &WriteEnd) {
        self.check(end);
        self.set(LiveWord::Published, u64::from(end.at));
        self.readable.store(end.at, Ordering::Release);
    }

    /// Stores a word of the header that changes, after all stores so far.
    pub(super) fn set(&self, word: LiveWord, value: u64) {
        let at = self.arena.geometry.header_at(self.index) + live_offset(word);
        self.arena.store(at, value, Ordering::Release);
    }

    /// Bytes of the chunk that were published since it was opened, counted from its start.
    pub(super) fn bytes(&self, range: Range<u32>) -> &[u8] {
        let readable = self.readable.load(Ordering::Acquire);
        assert!(
            range.start <= range.end && range.end <= readable,
            "{range:?} is not readable up to {readable}"
        );
        let start = self.arena.geometry.chunk_at(self.index) + range.start as usize;
        let len = (range.end - range.start) as usize;
        // SAFETY: inside the memory, initialised, and not written as long as `&self` lives:
        // `append` writes behind `readable`, and `open`, which sets it back, needs the slot alone.
        unsafe { std::slice::from_raw_parts(self.arena.memory.base.as_ptr().add(start), len) }
    }

    fn check(&self, end: &WriteEnd) {
        let same = end.index == self.index && end.lease == self.lease && Arc::ptr_eq(&end.arena, &self.arena);
        assert!(same, "a write end belongs to one opening of one slot");
    }
}
