//! A tail moves to another disk's share: what a future replica reads of it, and the copy that
//! replaces it.
//!
//! What always holds: the copy is complete before anything of the old tail is released, so that a
//! process that is killed in between leaves at least one of them.

use std::sync::Arc;

use aplomb_model::Offset;
use bytes::Bytes;

use super::chunk::Holder;
use super::facts::BatchAt;
use super::log_tail::{LogEnd, LogTail};
use super::reading::WriteOut;
use super::share::TailShare;

impl LogTail {
    /// Whole batches of one segment from `from` on: up to `max_bytes`, but one batch at least.
    /// `None` if there is none here.
    #[must_use]
    pub fn look_from(&self, from: Offset, max_bytes: u64) -> Option<WriteOut> {
        let extent = self.extent(from, max_bytes, true, self.end.offset)?;
        Some(WriteOut {
            segment_base: extent.segment_base,
            at: extent.at,
            bytes: extent.ends_at - extent.at,
            end: extent.end,
            data: self.slices(&extent, Holder::Unbounded).expect("it is not refused"),
        })
    }

    /// The batches that reach `from`, in order.
    pub fn batches_from(&self, from: Offset) -> impl Iterator<Item = BatchAt> {
        let (first, entry) = self.locate(from).unwrap_or((self.chunks.len(), 0));
        self.chunks.range(first..).enumerate().flat_map(move |(n, held)| {
            let skip = if n == 0 { entry } else { 0 };
            (skip..held.batches.len()).map(|entry| held.batch_at(entry))
        })
    }

    /// The tail of the same log in the memory of another share, from `from` on: a place where a
    /// batch begins or the log ends, in the present segment, up to which the other disk's files
    /// have it. `None` if that place is not here, if there are more than `most` batches behind it,
    /// or if the share has no room.
    #[must_use]
    pub fn copy_to(&self, share: &Arc<TailShare>, from: LogEnd, most: usize) -> Option<Self> {
        let is_here = from.segment_base == self.end.segment_base && from.offset >= self.start_offset();
        if !is_here || self.batches_from(from.offset).nth(most).is_some() {
            return None;
        }
        let mut copy = Self::new(Arc::clone(share), self.topic, self.partition, from);
        copy.set_internal(self.is_internal);
        for batch in self.batches_from(from.offset) {
            let extent = self.extent(batch.batch.base_offset, 0, true, self.end.offset);
            let slices = extent.and_then(|extent| self.slices(&extent, Holder::Unbounded));
            let slices: Vec<Bytes> = slices.expect("a batch that was just met");
            let parts: Vec<&[u8]> = slices.iter().map(AsRef::as_ref).collect();
            if copy.push(batch.at, &parts, batch.batch).is_err() {
                copy.clear(from);
                return None;
            }
        }
        assert_eq!(copy.end, self.end, "a copy ends where the log does");
        Some(copy)
    }
}
