//! What is asked of a tail: records for consumers, facts about batches, bytes for the disk.
//!
//! All of it is found by binary search in what the tail remembers of its batches; the bytes
//! themselves are only sliced.

use aplomb_model::{Offset, Timestamp};
use bytes::{Bytes, BytesMut};

use super::chunk::Holder;
use super::facts::BatchAt;
use super::log_tail::LogTail;
use crate::memory_budget::Reader;

/// Why there is nothing to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// It is below what the tail holds: the files have it.
    Evicted,
    /// Readers hold all that they may, and there is no memory for a copy now.
    NoMemory,
}

/// Whole batches that follow each other in one segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TailRead {
    /// Base offset of the first batch; the offset asked for if there is none.
    pub first: Offset,
    /// The offset behind the last batch: where to read on.
    pub end: Offset,
    /// Base offset of the segment.
    pub segment_base: Offset,
    /// Where the first batch begins in the segment's `.log`, in bytes.
    pub at: u64,
    /// Bytes of all slices.
    pub bytes: u64,
    /// The bytes, in order.
    pub slices: Vec<Bytes>,
}

/// Bytes for the disk to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteOut {
    /// Base offset of the segment to write to.
    pub segment_base: Offset,
    /// Where in the segment's `.log` the bytes go.
    pub at: u64,
    /// How many bytes these are.
    pub bytes: u64,
    /// The offset behind the last batch: what to report by `on_written` once it is there.
    pub end: Offset,
    /// The bytes, in order. They stay in the arena's memory as long as these live.
    pub data: Vec<Bytes>,
}

/// Whole batches of one segment, by their place.
#[derive(Clone, Copy)]
pub(super) struct Extent {
    /// Index of the chunk in which the first batch begins.
    chunk: usize,
    first: Offset,
    pub(super) end: Offset,
    pub(super) segment_base: Offset,
    pub(super) at: u64,
    pub(super) ends_at: u64,
}

impl LogTail {
    /// Whole batches, from the one that holds `from` on, whose last offsets are below `upper`. Not
    /// more than `max_bytes`, except for a first batch that is larger, if `at_least_one` asks for
    /// it. Ends with the segment. May be less than asked for when memory is short. Nothing to read
    /// is an empty answer. What this broker reads itself it looks at within the turn.
    ///
    /// # Errors
    /// [`Unread`]: the files have it, or memory is short.
    pub fn read(
        &self,
        from: Offset,
        max_bytes: u64,
        at_least_one: bool,
        upper: Offset,
        reader: Reader,
    ) -> Result<TailRead, Unread> {
        let holder = match reader {
            Reader::Others => Holder::Reader,
            Reader::Own => Holder::Unbounded,
        };
        if from < self.start_offset() {
            return Err(Unread::Evicted);
        }
        let few = max_bytes.min(self.share.chunk_size().into());
        for limit in [max_bytes, few] {
            let Some(extent) = self.extent(from, limit, at_least_one, upper) else {
                return Ok(self.nothing_at(from));
            };
            if let Some(slices) = self.slices(&extent, holder) {
                return Ok(TailRead {
                    first: extent.first,
                    end: extent.end,
                    segment_base: extent.segment_base,
                    at: extent.at,
                    bytes: extent.ends_at - extent.at,
                    slices,
                });
            }
        }
        Err(Unread::NoMemory)
    }

    /// The bytes of the batch that holds `offset`, to be looked at now.
    #[must_use]
    pub fn look_at(&self, offset: Offset) -> Option<Vec<u8>> {
        let extent = self.extent(offset, 0, true, self.end.offset)?;
        self.slices(&extent, Holder::Unbounded).map(|slices| slices.concat())
    }

    fn nothing_at(&self, from: Offset) -> TailRead {
        let end = self.end();
        TailRead {
            first: from,
            end: from,
            segment_base: end.segment_base,
            at: end.at,
            bytes: 0,
            slices: Vec::new(),
        }
    }

    /// The first batch whose last offset is `offset` or higher. `None` if there is none here; ask
    /// the files first if `offset` is below [`LogTail::start_offset`].
    #[must_use]
    pub fn batch_at(&self, offset: Offset) -> Option<BatchAt> {
        self.locate(offset).map(|(chunk, entry)| self.chunks[chunk].batch_at(entry))
    }

    /// The first batch here, of those that reach `from`, whose highest timestamp is `timestamp` or
    /// later.
    #[must_use]
    pub fn batch_by_timestamp(&self, timestamp: Timestamp, from: Offset) -> Option<BatchAt> {
        let (first, entry) = self.locate(from)?;
        let mut skip = entry;
        self.chunks.range(first..).find_map(|held| {
            let skipped = std::mem::take(&mut skip);
            if held.max_timestamp < timestamp {
                return None;
            }
            let late = held.batches[skipped..].iter().position(|entry| entry.max_timestamp() >= timestamp)?;
            Some(held.batch_at(skipped + late))
        })
    }

    /// The batch with the highest timestamp here, of those that reach `from`; the first of several.
    #[must_use]
    pub fn batch_with_max_timestamp(&self, from: Offset) -> Option<BatchAt> {
        let (first, entry) = self.locate(from)?;
        let of_first = self.chunks[first].batches[entry..].iter().map(|entry| entry.max_timestamp());
        let of_others = self.chunks.range(first + 1..).map(|held| held.max_timestamp);
        let highest = of_first.chain(of_others).max()?;
        self.batch_by_timestamp(highest, from)
    }

    /// The newest batch here.
    #[must_use]
    pub fn last_batch(&self) -> Option<BatchAt> {
        let newest = self.chunks.iter().rev().find(|held| !held.batches.is_empty())?;
        Some(newest.batch_at(newest.batches.len() - 1))
    }

    /// The bytes that were not taken yet, in whole batches: up to `max_bytes`, but one batch at
    /// least. They count as taken. Each segment's bytes are one piece.
    #[must_use]
    pub fn take_unwritten(&mut self, max_bytes: u64) -> Vec<WriteOut> {
        let mut taken = Vec::new();
        let mut left = max_bytes;
        while let Some(extent) = self.extent(self.taken, left, taken.is_empty(), self.end.offset) {
            let bytes = extent.ends_at - extent.at;
            taken.push(WriteOut {
                segment_base: extent.segment_base,
                at: extent.at,
                bytes,
                end: extent.end,
                data: self.slices(&extent, Holder::Unbounded).expect("it is not refused"),
            });
            self.taken = extent.end;
            left = left.saturating_sub(bytes);
        }
        taken
    }

    /// The first batch whose last offset is `offset` or higher: its chunk, and its place in there.
    pub(super) fn locate(&self, offset: Offset) -> Option<(usize, usize)> {
        // Batches that begin before this chunk end below its floor.
        let first = self.chunks.partition_point(|held| held.floor <= offset).saturating_sub(1);
        let places = self.chunks.range(first..).enumerate();
        places
            .map(|(n, held)| (first + n, held.first_reaching(offset)))
            .find(|(chunk, entry)| *entry < self.chunks[*chunk].batches.len())
    }

    pub(super) fn extent(
        &self,
        from: Offset,
        max_bytes: u64,
        at_least_one: bool,
        upper: Offset,
    ) -> Option<Extent> {
        let (chunk, entry) = self.locate(from)?;
        let BatchAt { batch, segment_base, at } = self.chunks[chunk].batch_at(entry);
        let limit = at.saturating_add(max_bytes);
        let (mut end, mut ends_at) = (from, at);
        if at_least_one && batch.last_offset < upper {
            (end, ends_at) = (batch.last_offset.next(), at + u64::from(batch.size));
        }
        let mut skip = entry;
        for held in self.chunks.range(chunk..).take_while(|held| held.segment_base == segment_base) {
            let entries = &held.batches[std::mem::take(&mut skip)..];
            let fitting = entries.partition_point(|entry| {
                entry.last_offset() < upper && held.file_start + entry.end() <= limit
            });
            if let Some(last) = fitting.checked_sub(1).map(|last| &entries[last]) {
                (end, ends_at) = (last.last_offset().next(), held.file_start + last.end());
            }
            if fitting < entries.len() {
                break;
            }
        }
        (ends_at > at).then_some(Extent { chunk, first: batch.base_offset, end, segment_base, at, ends_at })
    }

    /// The bytes where they are, or a copy if readers hold all that they may; `None` if there is no
    /// memory for that either.
    pub(super) fn slices(&self, extent: &Extent, holder: Holder) -> Option<Vec<Bytes>> {
        let held = || {
            let chunks = self.chunks.range(extent.chunk..);
            let chunks = chunks.take_while(|held| {
                held.segment_base == extent.segment_base && held.starts_at() < extent.ends_at
            });
            chunks.map(|held| {
                let from = extent.at.max(held.starts_at()) - held.file_start;
                let to = extent.ends_at.min(held.ends_at()) - held.file_start;
                (&held.chunk, from as u32..to as u32)
            })
        };
        let pinned: Option<Vec<Bytes>> = held().map(|(chunk, range)| chunk.slice(range, holder)).collect();
        if pinned.is_some() {
            return pinned;
        }
        // All of it at once: of several loans the first could be in the way of the others, for
        // ever.
        let len = (extent.ends_at - extent.at) as usize;
        let loan = self.share.reading().take(len)?;
        let mut copy = BytesMut::with_capacity(len);
        held().for_each(|(chunk, range)| copy.extend_from_slice(chunk.bytes(range)));
        Some(vec![loan.hold(copy.freeze())])
    }
}
