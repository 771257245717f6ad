//! A chunk in use: the log holds it, readers and disk writes hold slices of it.
//!
//! The log releases a chunk once; from then on it is free in the arena's header, so a later crash
//! does not bring its bytes back. The memory itself returns to the share when the last slice is
//! dropped, on whatever thread that is, without waiting. A chunk that is dropped without having
//! been released (the process is unwinding, or shutting down) keeps its header: its bytes may be
//! the only copy of acknowledged records.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use bytes::Bytes;

use super::arena::{ChunkSlot, WriteEnd};
use super::format::{ChunkHeader, LiveWord};
use super::share::TailShare;

/// A chunk that a log holds or held.
#[derive(Debug)]
pub(super) struct Chunk {
    /// `None` only while being dropped.
    slot: Option<ChunkSlot>,
    share: Arc<TailShare>,
    released: AtomicBool,
    /// How many slices readers hold.
    readers: AtomicU32,
}

/// On whose behalf bytes are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holder {
    /// A consumer or a follower: what they can hold is bounded, beyond that they get copies.
    Reader,
    /// The disk, which has to get the bytes before memory can be released; or a look of our own
    /// that ends within the turn.
    Unbounded,
}

impl Chunk {
    /// Opens a free chunk.
    pub(super) fn open(
        mut slot: ChunkSlot,
        share: &Arc<TailShare>,
        header: &ChunkHeader,
    ) -> (Arc<Self>, WriteEnd) {
        let end = slot.open(header);
        let chunk = Self {
            slot: Some(slot),
            share: share.clone(),
            released: AtomicBool::new(false),
            readers: AtomicU32::new(0),
        };
        (Arc::new(chunk), end)
    }

    /// Copies bytes behind those already there; see [`ChunkSlot::append`].
    pub(super) fn append(&self, end: &mut WriteEnd, bytes: &[u8]) {
        self.slot().append(end, bytes);
    }

    /// Makes what was appended part of the log. `first_batch`: the first batch to begin in this
    /// chunk begins there.
    pub(super) fn publish(&self, end: &WriteEnd, first_batch: Option<u32>) {
        if let Some(at) = first_batch {
            self.slot().set(LiveWord::FirstBatch, u64::from(at));
        }
        self.slot().publish(end);
    }

    /// The disk has the chunk's bytes up to there, counted from its start.
    pub(super) fn set_durable(&self, upto: u32) {
        self.slot().set(LiveWord::Durable, u64::from(upto));
    }

    /// The segment before was compacted: what the header of this opening says of it counts no more.
    pub(super) fn forget_previous(&self, sequence: u64) {
        self.slot().set(LiveWord::PreviousGone, sequence);
    }

    /// The log ends there now; nothing is appended to this chunk any more. What was durable below
    /// stays so.
    pub(super) fn cut(&self, upto: u32) {
        self.slot().set(LiveWord::Published, u64::from(upto));
    }

    /// The log does not need the chunk any more. Its memory follows when the last slice is gone.
    pub(super) fn release(&self) {
        assert!(!self.released.swap(true, Ordering::Relaxed), "a chunk is released once");
        self.slot().set(LiveWord::State, 0);
        self.share.on_released();
    }

    /// Bytes of the chunk, counted from its start. The slice keeps the chunk's memory; `None` if it
    /// is for a reader and readers hold all that they may.
    pub(super) fn slice(self: &Arc<Self>, range: Range<u32>, holder: Holder) -> Option<Bytes> {
        let may = holder != Holder::Reader || self.admit_reader();
        may.then(|| Bytes::from_owner(Pin { chunk: self.clone(), range, holder }))
    }

    /// The same bytes, for a caller that copies them at once.
    pub(super) fn bytes(&self, range: Range<u32>) -> &[u8] {
        self.slot().bytes(range)
    }

    fn slot(&self) -> &ChunkSlot {
        self.slot.as_ref().expect("a chunk has its slot until it is dropped")
    }

    fn admit_reader(&self) -> bool {
        let mut readers = self.readers.load(Ordering::Relaxed);
        loop {
            let first = readers == 0;
            if first && !self.share.admit_reader() {
                return false;
            }
            let counted = self.readers.compare_exchange_weak(
                readers,
                readers + 1,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            match counted {
                Ok(_) => return true,
                Err(now) => readers = now,
            }
            if first {
                self.share.on_reader_gone();
            }
        }
    }

    fn on_reader_gone(&self) {
        if self.readers.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.share.on_reader_gone();
        }
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        if *self.released.get_mut() {
            self.share.give_back(self.slot.take().expect("dropped once"));
        }
    }
}

struct Pin {
    chunk: Arc<Chunk>,
    range: Range<u32>,
    holder: Holder,
}

impl AsRef<[u8]> for Pin {
    fn as_ref(&self) -> &[u8] {
        self.chunk.slot().bytes(self.range.clone())
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        if self.holder == Holder::Reader {
            self.chunk.on_reader_gone();
        }
    }
}
