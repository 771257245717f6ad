//! One partition's tail: where appends go, until the disk has them and the memory is wanted.
//!
//! What always holds: `start <= durable <= written <= taken <= end`, all of them offsets between
//! batches; the bytes of `start..end` are in the chunks, in order; only bytes below `durable` are
//! ever evicted, oldest first. A tail that holds nothing allocates nothing.
//!
//! Next: `reading` for what is asked of it, `chunk` for the memory, `drain` for what a crash
//! leaves.

use std::collections::VecDeque;
use std::sync::Arc;

use aplomb_model::{Offset, PartitionIndex, Timestamp, TopicId};
use smallvec::SmallVec;

use super::arena::{ChunkSlot, WriteEnd};
use super::chunk::Chunk;
use super::error::TailFull;
use super::facts::{HeldBatch, TailBatch};
use super::format::{ChunkHeader, SegmentEnd};
use super::held::HeldChunk;
use super::share::{Claim, TailShare};

/// Where a log ends: the next batch goes there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEnd {
    /// Base offset of the segment that is appended to.
    pub segment_base: Offset,
    /// Where the next batch begins in that segment, in bytes.
    pub at: u64,
    /// The log end offset.
    pub offset: Offset,
}

/// The end of one partition's log, in memory.
///
/// Dropping it forgets nothing: what it holds stays marked as the partition's in the arena, and the
/// next start finds it. A partition that is deleted, or closed with everything durable, calls
/// [`LogTail::clear`] first.
#[derive(Debug)]
pub struct LogTail {
    pub(super) share: Arc<TailShare>,
    pub(super) topic: TopicId,
    pub(super) partition: PartitionIndex,
    /// Whether what is kept of the share for internal topics is this log's too.
    pub(super) is_internal: bool,
    pub(super) chunks: VecDeque<HeldChunk>,
    /// The right to append to the last chunk. `None` if it is full, cut, or of an earlier segment.
    pub(super) writer: Option<WriteEnd>,
    /// How many chunks, from the oldest on, are wholly durable.
    pub(super) durable_chunks: usize,
    pub(super) end: LogEnd,
    /// How the segment before ended, if this tail rolled it. The next start needs it: the disk may
    /// not have heard of a truncation of that segment.
    pub(super) previous: Option<SegmentEnd>,
    pub(super) taken: Offset,
    pub(super) written: Offset,
    pub(super) durable: Offset,
}

impl LogTail {
    /// The tail of a log that ends at `end`, all of it durable.
    #[must_use]
    pub fn new(share: Arc<TailShare>, topic: TopicId, partition: PartitionIndex, end: LogEnd) -> Self {
        Self {
            share,
            topic,
            partition,
            is_internal: false,
            chunks: VecDeque::new(),
            writer: None,
            durable_chunks: 0,
            end,
            previous: None,
            taken: end.offset,
            written: end.offset,
            durable: end.offset,
        }
    }

    /// Says whether the log is of an internal topic: a part of the share is kept for those.
    pub fn set_internal(&mut self, is_internal: bool) {
        self.is_internal = is_internal;
    }

    /// Where the log ends.
    #[must_use]
    pub fn end(&self) -> LogEnd {
        self.end
    }

    /// From this offset on, everything is here. The log end offset if nothing is.
    #[must_use]
    pub fn start_offset(&self) -> Offset {
        // After a cut inside a batch there may be a gap before the oldest chunk: it belongs to the
        // tail, the files have nothing there.
        self.chunks.front().map_or(self.durable, |oldest| oldest.floor.min(self.durable))
    }

    /// Everything below was taken for the disk by [`LogTail::take_unwritten`].
    #[must_use]
    pub fn taken_end(&self) -> Offset {
        self.taken
    }

    /// Everything below is in the file, as far as the disk has said.
    #[must_use]
    pub fn written_end(&self) -> Offset {
        self.written
    }

    /// Everything below survives a power cut, as far as the disk has said.
    #[must_use]
    pub fn durable_end(&self) -> Offset {
        self.durable
    }

    /// Whose log it is, with [`LogTail::partition`].
    #[must_use]
    pub fn topic(&self) -> TopicId {
        self.topic
    }

    /// The partition's number in its topic.
    #[must_use]
    pub fn partition(&self) -> PartitionIndex {
        self.partition
    }

    /// The disk's share that the memory comes from.
    #[must_use]
    pub fn share(&self) -> &Arc<TailShare> {
        &self.share
    }

    /// How many chunks are held.
    #[must_use]
    pub fn held_chunks(&self) -> usize {
        self.chunks.len()
    }

    /// How many chunks [`LogTail::evict`] could release now.
    #[must_use]
    pub fn durable_chunks(&self) -> usize {
        self.durable_chunks
    }

    /// Appends one whole batch, given in pieces, at byte `at` of the present segment. When this
    /// returns, the batch survives the process. Makes room by evicting what the disk has of this
    /// log, if there is no other.
    ///
    /// # Errors
    /// [`TailFull`]: the log is as it was.
    ///
    /// # Panics
    /// If the batch does not go where the log ends, or is not of the size that `batch` says.
    pub fn push(&mut self, at: u64, parts: &[&[u8]], batch: TailBatch) -> Result<(), TailFull> {
        self.push_with(Claim::Ordinary, at, parts, batch)
    }

    /// As [`Self::push`], where not every batch may take as much of the share.
    ///
    /// # Errors
    /// [`TailFull`]: the log is as it was.
    ///
    /// # Panics
    /// As for [`Self::push`].
    pub fn push_with(
        &mut self,
        claim: Claim,
        at: u64,
        parts: &[&[u8]],
        batch: TailBatch,
    ) -> Result<(), TailFull> {
        let size: usize = parts.iter().map(|part| part.len()).sum();
        assert_eq!(at, self.end.at, "a batch goes where the log ends");
        assert_eq!(size as u64, u64::from(batch.size), "the batch is as long as it says");
        let lowest = self.end.offset.max(self.end.segment_base);
        assert!(batch.base_offset >= lowest, "offsets rise: {} >= {lowest}", batch.base_offset);
        assert!(size > 0 && batch.last_offset >= batch.base_offset, "a batch is never empty");
        // The rest of a chunk that the next process would not find stays empty.
        self.writer.take_if(|end| self.share.is_outdated(end));
        let claim = if self.is_internal { Claim::Internal } else { claim };
        let slots = self.allocate(claim, at, size as u64)?;

        let chunk_size = self.share.chunk_size();
        let mut ends: SmallVec<[WriteEnd; 2]> = self.writer.take().into_iter().collect();
        let mut file_start = at - at % u64::from(chunk_size) + ends.len() as u64 * u64::from(chunk_size);
        for slot in slots {
            let begins_here = at >= file_start;
            let floor = if begins_here { self.end.offset } else { batch.last_offset.next() };
            ends.push(self.open(slot, file_start, at.saturating_sub(file_start) as u32, floor));
            file_start += u64::from(chunk_size);
        }
        let first = self.chunks.len() - ends.len();
        self.fill(first, &mut ends, parts);
        self.publish(first, &ends, &batch);

        self.end.at += size as u64;
        self.end.offset = batch.last_offset.next();
        self.writer = ends.pop().filter(|end| end.at() < chunk_size);
        self.share.add_waiting(size as u64);
        Ok(())
    }

    /// The next batch begins a new segment.
    ///
    /// # Panics
    /// If the new base offset is below the log end, or not above that of a segment with something
    /// in it.
    pub fn roll(&mut self, segment_base: Offset) {
        assert!(segment_base >= self.end.offset, "a new segment begins at or behind the log end");
        assert!(segment_base > self.end.segment_base || self.end.at == 0, "segments have different names");
        self.writer = None;
        if self.end.at > 0 {
            self.previous = Some(SegmentEnd { segment_base: self.end.segment_base, at: self.end.at });
        }
        self.end = LogEnd { segment_base, at: 0, offset: self.end.offset };
    }

    /// The disk reports that everything below `end` is in the file. Reports from before a
    /// truncation are not passed on.
    ///
    /// # Panics
    /// If the report goes backwards or is ahead of what was taken.
    pub fn on_written(&mut self, end: Offset) {
        assert!(self.written <= end, "what is written never gets less: {} <= {end}", self.written);
        assert!(end <= self.taken, "the disk cannot write what it was not given: {end} <= {}", self.taken);
        self.written = end;
    }

    /// The disk reports that everything below `end` survives a power cut. Reports from before a
    /// truncation are not passed on.
    ///
    /// # Panics
    /// If the report goes backwards or is ahead of what was taken.
    pub fn on_durable(&mut self, end: Offset) {
        assert!(self.durable <= end, "durability never goes backwards: {} <= {end}", self.durable);
        assert!(end <= self.taken, "the disk cannot have what it was not given: {end} <= {}", self.taken);
        self.written = self.written.max(end);
        self.durable = end;
        self.note_durable();
    }

    /// Releases up to `at_most` chunks that the disk has, oldest first, even the last, partly
    /// filled one. Returns how many.
    pub fn evict(&mut self, at_most: usize) -> usize {
        let evicted = at_most.min(self.durable_chunks);
        for _ in 0..evicted {
            let oldest = self.chunks.pop_front().expect("durable chunks are held");
            self.durable_chunks -= 1;
            self.share.on_uncached();
            self.release(&oldest);
        }
        if self.chunks.is_empty() {
            self.writer = None;
            self.chunks = VecDeque::new();
        }
        evicted
    }

    /// Releases the durable chunks that have nothing at or above `offset`, which is the log start:
    /// they are not read any more.
    pub fn release_below(&mut self, offset: Offset) {
        let gone =
            self.chunks.iter().take(self.durable_chunks).take_while(|held| held.until <= offset).count();
        self.evict(gone);
    }

    /// The durable segments below `offset` are compacted from here on: their files will not be what
    /// the tail knows of them. What it holds of them goes, and the next process is not told how
    /// long they were.
    ///
    /// # Panics
    /// If something below `offset` is not durable.
    pub fn forget_segments_below(&mut self, offset: Offset) {
        assert!(offset <= self.durable, "what is compacted is durable: {offset} <= {}", self.durable);
        self.release_below(offset);
        self.previous.take_if(|previous| previous.segment_base < offset);
        self.chunks.iter_mut().for_each(|held| held.forget_previous(offset));
    }

    /// Releases everything, durable or not, and goes on at `end`.
    pub fn clear(&mut self, end: LogEnd) {
        // A crash in here must not look like another log end: the next start cuts the files to what
        // it finds. So release from the end if the log is cut, from the front otherwise.
        let is_cut = end.offset < self.end.offset;
        while let Some(held) = if is_cut { self.chunks.pop_back() } else { self.chunks.pop_front() } {
            self.release(&held);
        }
        for _ in 0..self.durable_chunks {
            self.share.on_uncached();
        }
        self.chunks = VecDeque::new();
        self.writer = None;
        self.durable_chunks = 0;
        self.end = end;
        self.previous = None;
        (self.taken, self.written, self.durable) = (end.offset, end.offset, end.offset);
    }

    /// The disk has failed, and what it said of late may not be true: Linux has been seen to report
    /// a sync as done whose writes had failed. All that is still here counts as missing from the
    /// files, for the next start to write.
    pub fn doubt(&mut self) {
        for _ in 0..std::mem::take(&mut self.durable_chunks) {
            self.share.on_uncached();
        }
        // The end of a batch whose beginning was released cannot be written again.
        let mut begun = false;
        for held in &mut self.chunks {
            let first = held.batches.first().map_or(held.filled, HeldBatch::at);
            let durable = if begun { held.begin } else { first.min(held.durable) };
            begun |= !held.batches.is_empty();
            self.share.add_waiting(u64::from(held.durable - durable));
            held.durable = durable;
            held.chunk.set_durable(durable);
        }
        let start = self.start_offset();
        (self.taken, self.written, self.durable) = (start, start, start);
    }

    /// Finds memory for `size` bytes at position `at`, and room to remember the batch.
    fn allocate(&mut self, claim: Claim, at: u64, size: u64) -> Result<Vec<ChunkSlot>, TailFull> {
        if !self.share.admit_batch(claim) {
            self.evict(usize::MAX);
            if !self.share.admit_batch(claim) {
                return Err(self.share.full());
            }
        }
        loop {
            let needed = self.chunks_needed(at, size);
            if needed == 0 {
                return Ok(Vec::new());
            }
            if let Some(slots) = self.share.take(needed, claim) {
                return Ok(slots);
            }
            if self.evict(needed) == 0 {
                self.share.forget_batches(1);
                return Err(self.share.full());
            }
        }
    }

    fn chunks_needed(&self, at: u64, size: u64) -> usize {
        let chunk_size = u64::from(self.share.chunk_size());
        let touched = (at + size - 1) / chunk_size - at / chunk_size + 1;
        touched as usize - usize::from(self.writer.is_some())
    }

    /// Opens a chunk for the part of the segment from `file_start` on.
    fn open(&mut self, slot: ChunkSlot, file_start: u64, begin: u32, floor: Offset) -> WriteEnd {
        let segment_base = self.end.segment_base;
        let header = ChunkHeader {
            sequence: self.share.next_sequence(),
            topic: self.topic,
            partition: self.partition,
            share: self.share.index(),
            segment_base,
            file_start,
            begin,
            previous: self.previous,
        };
        let (chunk, end) = Chunk::open(slot, &self.share, &header);
        self.chunks.push_back(HeldChunk {
            chunk,
            sequence: header.sequence,
            segment_base,
            previous: self.previous,
            file_start,
            begin,
            filled: begin,
            durable: begin,
            floor,
            until: floor,
            max_timestamp: Timestamp::NONE,
            batches: Vec::new(),
        });
        end
    }

    /// Copies a batch into the chunks from `first` on. Nothing is part of the log yet.
    fn fill(&mut self, first: usize, ends: &mut [WriteEnd], parts: &[&[u8]]) {
        let chunk_size = self.share.chunk_size();
        let mut parts = parts.iter().copied();
        let mut rest: &[u8] = &[];
        for (held, end) in self.chunks.range(first..).zip(ends) {
            while end.at() < chunk_size {
                if rest.is_empty() {
                    match parts.next() {
                        Some(part) => rest = part,
                        None => return,
                    }
                }
                let (now, later) = rest.split_at(rest.len().min((chunk_size - end.at()) as usize));
                held.chunk.append(end, now);
                rest = later;
            }
        }
    }

    /// Makes a batch part of the log. The chunk in which it begins comes last: before that store a
    /// crash leaves nothing of the batch, after it all of it.
    fn publish(&mut self, first: usize, ends: &[WriteEnd], batch: &TailBatch) {
        for (n, (held, end)) in self.chunks.range(first..).zip(ends).enumerate().rev() {
            let first_batch = (n == 0 && held.batches.is_empty()).then_some(held.filled);
            held.chunk.publish(end, first_batch);
        }
        if first < self.durable_chunks {
            self.durable_chunks -= 1;
            self.share.on_uncached();
        }
        let reached = batch.last_offset.next();
        let begins_at = self.chunks[first].filled;
        self.chunks[first].remember(HeldBatch::new(batch, begins_at));
        for (held, end) in self.chunks.range_mut(first..).zip(ends) {
            held.filled = end.at();
            held.until = reached;
        }
    }

    /// Moves the count of durable chunks, and what their headers say, up to the durable frontier.
    pub(super) fn note_durable(&mut self) {
        while let Some(held) = self.chunks.get_mut(self.durable_chunks) {
            let durable = held.durable_below(self.durable);
            if durable > held.durable {
                self.share.remove_waiting(u64::from(durable - held.durable));
                held.durable = durable;
                held.chunk.set_durable(durable);
            }
            if held.until > self.durable {
                return;
            }
            self.durable_chunks += 1;
            self.share.on_cached();
        }
        // Everything is durable. After a cut inside a batch there may be a gap between the last
        // batch and the log end.
        let end = self.end.offset;
        (self.taken, self.written, self.durable) = (end, end, end);
    }

    pub(super) fn release(&self, held: &HeldChunk) {
        held.chunk.release();
        self.share.remove_waiting(held.waiting());
        self.share.forget_batches(held.batches.len());
    }
}
