//! Reading: what a fetch costs. Memory now ([`Fetched::Hot`]), a disk later ([`Fetched::Cold`]), or
//! nothing yet ([`Fetched::CaughtUp`]).
//!
//! The tail answers whatever it still has. What it does not have is durable, so the files have it,
//! and a plan for reading them stays right while the log goes on.

use std::collections::VecDeque;

use aplomb_model::{Offset, ProducerId, Timestamp};
use bytes::Bytes;

use super::Log;
use crate::cold::{ColdPlan, ColdRecords, SegmentTimes, TimeAnswer, TimeLookup, TimePlan, TimeWanted};
use crate::index::collect_aborted;
use crate::layout::SegmentFile;
use crate::memory_budget::Reader;
use crate::tail::{BatchAt, Unread};

/// What a fetch costs.
#[derive(Debug)]
pub enum Fetched {
    /// Whole batches, in memory. The first may begin before the wanted offset.
    Hot {
        /// The bytes, in order.
        slices: Vec<Bytes>,
        /// The offset behind the last batch.
        next: Offset,
    },
    /// The disk has them: a plan for reading them there.
    Cold(ColdPlan),
    /// No visible record has the wanted offset or a higher one.
    CaughtUp,
    /// Readers hold all the memory that they may: to be tried again once they release some.
    NoMemory,
}

/// What a lookup by timestamp costs.
#[derive(Debug)]
pub enum TimeFound {
    /// The answer, if there is such a record.
    Hot(Option<TimeAnswer>),
    /// The disk has to be asked. If it finds nothing, [`Log::find_time_in_tail`] decides.
    Cold(Box<TimeLookup>),
}

impl Log {
    /// Reads from `from`, which lies in the log, up to `upper`.
    pub fn fetch(&mut self, from: Offset, max_bytes: u32, upper: Offset, reader: Reader) -> Fetched {
        if from >= upper {
            return Fetched::CaughtUp;
        }
        match self.tail.read(from, max_bytes.into(), true, upper, reader) {
            Ok(read) if read.bytes > 0 => Fetched::Hot { slices: read.slices, next: read.end },
            Ok(_) => Fetched::CaughtUp,
            Err(Unread::Evicted) => {
                let most = match reader {
                    Reader::Others => max_bytes.min(self.tail.share().reading().portion()),
                    Reader::Own => max_bytes,
                };
                Fetched::Cold(self.cold_plan(from, most, upper))
            }
            Err(Unread::NoMemory) => Fetched::NoMemory,
        }
    }

    fn cold_plan(&mut self, from: Offset, max_bytes: u32, upper: Offset) -> ColdPlan {
        let (base, end, size, index_len) = match self.segments.closed_holding(from) {
            Some(place) => {
                let segment = &self.segments.closed()[place];
                (segment.base, self.segments.end_of_closed(place), segment.size, segment.index_len)
            }
            None => {
                let active = self.segments.active();
                (active.base, self.end(), active.size, active.indexes.offsets.file_len())
            }
        };
        let index = (index_len > 0).then(|| (self.segments.file(SegmentFile::OffsetIndex, base), index_len));
        ColdPlan {
            base,
            end,
            log: self.segments.file(SegmentFile::Log, base),
            index,
            position: self.readers.take(from, base),
            // Not only what memory has given up: a reader that comes as fast as that would for ever
            // get the little that was given up since.
            limit: self.part_below(self.tail.written_end(), base, size),
            from,
            upper,
            max_bytes,
            at_least_one: true,
            layout: self.replacements,
        }
    }

    /// How much of a segment's `.log` the tail does not hold any more.
    pub(super) fn on_disk(&self, base: Offset, size: u64) -> u64 {
        self.part_below(self.tail.start_offset(), base, size)
    }

    /// How much of a segment's `.log` lies below an offset that the tail holds.
    fn part_below(&self, offset: Offset, base: Offset, size: u64) -> u64 {
        match self.tail.batch_at(offset) {
            Some(BatchAt { segment_base, at, .. }) if segment_base == base => at,
            Some(BatchAt { segment_base, .. }) if segment_base < base => 0,
            _ => size,
        }
    }

    /// A plan was carried out: its reader will go on where it ended, if that is in the same file.
    pub fn on_cold_read(&mut self, segment: Offset, found: &ColdRecords) {
        if found.layout == self.replacements {
            self.readers.remember(found.next, segment, found.next_position);
        }
    }

    /// Whether the segment at `base` is written to.
    #[must_use]
    pub fn is_active(&self, base: Offset) -> bool {
        base == self.segments.active().base
    }

    /// Finds a record by its timestamp, below `upper`.
    #[must_use]
    pub fn find_time(&self, wanted: TimeWanted, upper: Offset) -> TimeFound {
        if self.tail.start_offset() <= self.start {
            return TimeFound::Hot(self.find_time_in_tail(wanted, upper));
        }
        let in_tail = self.tail.batch_with_max_timestamp(self.start);
        let in_tail = in_tail.map(|found| found.batch.max_timestamp);
        let plan = TimePlan { segments: self.times(wanted), wanted, start: self.start, upper, in_tail };
        match TimeLookup::new(plan) {
            Some(lookup) => TimeFound::Cold(Box::new(lookup)),
            None => TimeFound::Hot(self.find_time_in_tail(wanted, upper)),
        }
    }

    /// Finds a record by its timestamp among those that memory has.
    #[must_use]
    pub fn find_time_in_tail(&self, wanted: TimeWanted, upper: Offset) -> Option<TimeAnswer> {
        let found = match wanted {
            TimeWanted::AtOrAfter(target) => self.tail.batch_by_timestamp(target, self.start),
            TimeWanted::Greatest => self.tail.batch_with_max_timestamp(self.start),
        }?;
        let target = match wanted {
            TimeWanted::AtOrAfter(target) => target,
            TimeWanted::Greatest => found.batch.max_timestamp,
        };
        let batch = self.tail.look_at(found.batch.base_offset)?;
        let answer = TimeAnswer::in_batch(&batch, target, self.start)?;
        (answer.offset < upper).then_some(answer)
    }

    fn times(&self, wanted: TimeWanted) -> VecDeque<SegmentTimes> {
        // What is known of a segment counts deleted records as well, which must not be the
        // greatest.
        let counts = |base| wanted != TimeWanted::Greatest || base >= self.start;
        let times = |(base, end), size, (index_len, time_index_len): (u64, u64), max| SegmentTimes {
            base,
            end,
            log: self.segments.file(SegmentFile::Log, base),
            limit: self.on_disk(base, size),
            index: (index_len > 0).then(|| (self.segments.file(SegmentFile::OffsetIndex, base), index_len)),
            time_index: (time_index_len > 0)
                .then(|| (self.segments.file(SegmentFile::TimeIndex, base), time_index_len)),
            max,
        };
        let closed = self.segments.closed().iter().enumerate();
        let mut all: VecDeque<_> = closed
            .filter(|(place, _)| self.segments.end_of_closed(*place) > self.start)
            .map(|(place, s)| {
                let range = (s.base, self.segments.end_of_closed(place));
                let greatest = s.greatest.filter(|_| counts(s.base));
                times(range, s.size, (s.index_len, s.time_index_len), greatest)
            })
            .collect();
        let active = self.segments.active();
        let greatest = active.indexes.greatest_timestamp();
        let is_there = greatest.is_none_or(|greatest| greatest.offset >= self.start) || counts(active.base);
        let greatest = greatest.map_or(Timestamp::NONE, |greatest| greatest.timestamp);
        let lens = (active.indexes.offsets.file_len(), active.indexes.times.file_len());
        all.push_back(times((active.base, self.end()), active.size, lens, is_there.then_some(greatest)));
        all
    }

    /// The aborted transactions with records in `from..upper`.
    #[must_use]
    pub fn aborted_transactions(&self, from: Offset, upper: Offset) -> Vec<(ProducerId, Offset)> {
        let closed = self.segments.closed();
        let first = self.segments.closed_holding(from).unwrap_or(closed.len());
        let lists = closed.range(first..).map(|segment| &segment.aborted[..]).chain([self
            .segments
            .active()
            .aborted
            .entries()]);
        let mut found = Vec::new();
        for list in lists {
            let collected = collect_aborted(list, from, upper);
            found.extend(collected.transactions.iter().map(|entry| (entry.producer, entry.first_offset)));
            if collected.complete {
                break;
            }
        }
        found
    }
}
