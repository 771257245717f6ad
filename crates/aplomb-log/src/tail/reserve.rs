//! Chunks whose memory is not there yet.
//!
//! Putting pages behind a large tail takes longer than everything else at start, so a broker begins
//! with the first part of each share, and the rest follows. What always holds: a log gets no chunk
//! that was not released here or ready from the start.

use std::ops::Range;
use std::sync::Arc;

use super::arena::ChunkSlot;
use super::share::TailShare;

/// Free chunks whose memory is still to be put there, in the order in which they want to be ready.
#[derive(Debug)]
pub struct Reserve {
    /// The next one at the end.
    slots: Vec<(Arc<TailShare>, ChunkSlot)>,
}

impl Reserve {
    /// Takes the free chunks of all shares but about `bytes` of them, and one of each share at
    /// least. To be called before anything uses the shares.
    #[must_use]
    pub fn all_but(bytes: usize, shares: &[Arc<TailShare>]) -> Self {
        let ready = |share: &TailShare| (bytes / shares.len() / share.chunk_size() as usize).max(1);
        let mut reserved: Vec<_> = shares.iter().map(|share| share.reserve_behind(ready(share))).collect();
        let longest = reserved.iter().map(Vec::len).max().unwrap_or(0);
        let mut slots = Vec::new();
        // In turn, so that no disk waits until the others have all of theirs.
        for _ in 0..longest {
            let next =
                reserved.iter_mut().zip(shares).filter_map(|(of, share)| Some((share.clone(), of.pop()?)));
            slots.extend(next);
        }
        slots.reverse();
        Self { slots }
    }

    /// The next chunk's bytes, counted from the memory's start; none when all chunks are in use.
    #[must_use]
    pub fn next(&self) -> Option<Range<usize>> {
        let (share, slot) = self.slots.last()?;
        let start = share.arena().geometry().chunk_at(slot.index());
        Some(start..start + slot.size() as usize)
    }

    /// The memory of [`Reserve::next`] is there: its share may use it.
    pub fn release(&mut self) {
        if let Some((share, slot)) = self.slots.pop() {
            share.release_reserved(slot);
        }
    }
}
