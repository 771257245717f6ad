//! A tail that is cut off: the log ends earlier.
//!
//! What always holds: wherever the process is killed, the arena says that the log ends where it did
//! or where it is cut, and the next start cuts the files to that.

use aplomb_model::Offset;

use super::format::SegmentEnd;
use super::held::HeldChunk;
use super::log_tail::{LogEnd, LogTail};

impl LogTail {
    /// Cuts the log off, so that it ends at `offset`, and returns where that is. A batch that
    /// reaches `offset` goes wholly, as in Apache Kafka; the frontiers come down with it. `None`,
    /// and nothing is changed, if the tail does not reach down to where the log would end: the
    /// caller finds the place in the files and calls [`LogTail::clear`].
    pub fn truncate_to(&mut self, offset: Offset) -> Option<LogEnd> {
        if offset >= self.end.offset {
            return Some(self.end);
        }
        let SegmentEnd { segment_base, at } = self.place_of_cut(offset)?;
        if segment_base != self.end.segment_base {
            let held = self.chunks.iter().find(|held| held.segment_base == segment_base);
            self.previous = held.expect("an earlier segment is known by its chunks").previous;
        }
        let behind = |held: &HeldChunk| {
            held.segment_base > segment_base || held.segment_base == segment_base && held.starts_at() >= at
        };
        self.writer = None;
        while let Some(newest) = self.chunks.pop_back_if(|held| behind(held)) {
            self.release(&newest);
        }
        if let Some(last) = self.chunks.back_mut()
            && last.segment_base == segment_base
            && last.ends_at() > at
        {
            let waiting = last.waiting();
            self.share.forget_batches(last.cut(at));
            self.share.remove_waiting(waiting - last.waiting());
        }
        self.end = LogEnd { segment_base, at, offset };
        self.taken = self.taken.min(offset);
        self.written = self.written.min(offset);
        self.durable = self.durable.min(offset);
        while self.durable_chunks > self.chunks.len() {
            self.durable_chunks -= 1;
            self.share.on_uncached();
        }
        self.note_durable();
        Some(self.end)
    }

    /// Where the log ends when it is cut off at `offset`, which lies below its end.
    fn place_of_cut(&self, offset: Offset) -> Option<SegmentEnd> {
        if offset < self.start_offset() {
            return None;
        }
        let cut = self.batch_at(offset).map(|cut| SegmentEnd { segment_base: cut.segment_base, at: cut.at });
        let place = cut.unwrap_or(SegmentEnd { segment_base: self.end.segment_base, at: self.end.at });
        if place.segment_base <= offset {
            return Some(place);
        }
        // Between two segments: the later one goes with the cut.
        let earlier = self.chunks.iter().rev().find(|held| held.segment_base <= offset)?;
        Some(SegmentEnd { segment_base: earlier.segment_base, at: earlier.ends_at() })
    }
}
