//! A chunk as one log holds it: which bytes of which segment it is, and the batches that begin in
//! it.

use std::sync::Arc;

use aplomb_model::{Offset, Timestamp};

use super::chunk::Chunk;
use super::facts::{BatchAt, HeldBatch};
use super::format::SegmentEnd;

/// One chunk of a log's tail.
#[derive(Debug)]
pub(super) struct HeldChunk {
    pub(super) chunk: Arc<Chunk>,
    /// The number of its allocation.
    pub(super) sequence: u64,
    /// Base offset of the segment that the bytes belong to.
    pub(super) segment_base: Offset,
    /// How the segment before ended, if the tail saw it.
    pub(super) previous: Option<SegmentEnd>,
    /// Position in the segment of the chunk's byte 0; a multiple of the chunk size.
    pub(super) file_start: u64,
    /// First byte in use.
    pub(super) begin: u32,
    /// Byte behind the last one in use.
    pub(super) filled: u32,
    /// The disk has the bytes before this one.
    pub(super) durable: u32,
    /// No batch that begins in an earlier chunk reaches this offset; nor do gaps before the chunk's
    /// first batch.
    pub(super) floor: Offset,
    /// Once everything below this offset is durable, so is the chunk.
    pub(super) until: Offset,
    /// The highest timestamp of the batches that begin here.
    pub(super) max_timestamp: Timestamp,
    /// The batches that begin here, in order.
    pub(super) batches: Vec<HeldBatch>,
}

impl HeldChunk {
    /// Position in the segment of the first byte in use.
    pub(super) fn starts_at(&self) -> u64 {
        self.file_start + u64::from(self.begin)
    }

    /// Position in the segment behind the last byte in use.
    pub(super) fn ends_at(&self) -> u64 {
        self.file_start + u64::from(self.filled)
    }

    /// Bytes that the disk does not have.
    pub(super) fn waiting(&self) -> u64 {
        u64::from(self.filled - self.durable)
    }

    /// The index of the first batch to begin here whose last offset is `offset` or higher.
    pub(super) fn first_reaching(&self, offset: Offset) -> usize {
        self.batches.partition_point(|entry| entry.last_offset() < offset)
    }

    /// How far the chunk's bytes are durable when everything below `end` is. Always the end of a
    /// batch, or `begin`.
    pub(super) fn durable_below(&self, end: Offset) -> u32 {
        if self.until <= end {
            return self.filled;
        }
        match self.batches.get(self.first_reaching(end)) {
            Some(next) if self.floor <= end => next.at(),
            Some(_) | None => self.begin,
        }
    }

    /// A batch that begins here, and where.
    pub(super) fn batch_at(&self, entry: usize) -> BatchAt {
        let entry = &self.batches[entry];
        BatchAt {
            batch: entry.batch(),
            segment_base: self.segment_base,
            at: self.file_start + u64::from(entry.at()),
        }
    }

    /// Whatever was known of a segment before that begins below `offset` counts no more.
    pub(super) fn forget_previous(&mut self, offset: Offset) {
        if self.previous.take_if(|previous| previous.segment_base < offset).is_some() {
            self.chunk.forget_previous(self.sequence);
        }
    }

    /// Adds a batch that begins here.
    pub(super) fn remember(&mut self, batch: HeldBatch) {
        self.max_timestamp = self.max_timestamp.max(batch.max_timestamp());
        self.batches.push(batch);
    }

    /// Ends the chunk, and the log, at a position in the segment where a batch begins. Returns how
    /// many batches it forgot.
    pub(super) fn cut(&mut self, at: u64) -> usize {
        assert!(self.starts_at() < at && at <= self.ends_at(), "the cut is inside the chunk");
        let upto = (at - self.file_start) as u32;
        let before = self.batches.len();
        self.batches.truncate(self.batches.partition_point(|entry| entry.at() < upto));
        self.max_timestamp =
            self.batches.iter().map(HeldBatch::max_timestamp).max().unwrap_or(Timestamp::NONE);
        self.until = self.batches.last().map_or(self.floor, |last| last.last_offset().next());
        self.filled = upto;
        self.durable = self.durable.min(upto);
        self.chunk.cut(self.filled);
        before - self.batches.len()
    }
}
