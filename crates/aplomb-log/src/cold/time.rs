//! A lookup by timestamp in segment files: which segment, by the last entries of the time indexes; which part of it, by its time
//! index and offset index; which record, by walking batches.

use std::collections::VecDeque;

use aplomb_disk_api::{DiskCommand, FileName, ReadPattern};
use aplomb_model::batch::{BatchHeader, HEADER_SIZE, RecordIter, decompress};
use aplomb_model::{LeaderEpoch, Offset, Timestamp};
use bytes::Bytes;

use crate::index::{IndexTail, OffsetIndex, TimeIndex};

/// How much of a `.log` a search reads at once.
const WINDOW: u64 = 64 * 1024;
/// What a batch may decompress to; the leader took none that is larger.
const LARGEST_BATCH: usize = 256 << 20;

/// What a lookup needs to know of a segment.
#[derive(Clone, Debug)]
pub struct SegmentTimes {
    /// The segment's first possible offset.
    pub base: Offset,
    /// Its `.log`.
    pub log: FileName,
    /// Bytes of the `.log` that are written and whole.
    pub limit: u64,
    /// Its `.index` and the bytes of it that may be read.
    pub index: Option<(FileName, u64)>,
    /// Its `.timeindex` and the bytes of it that may be read.
    pub time_index: Option<(FileName, u64)>,
    /// The greatest timestamp in it, where that is known.
    pub max: Option<Timestamp>,
}

/// Which record is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeWanted {
    /// The first one whose timestamp is this one or later.
    AtOrAfter(Timestamp),
    /// The first of those with the greatest timestamp.
    Greatest,
}

/// A lookup by timestamp that only the disk can answer.
#[derive(Clone, Debug)]
pub struct TimePlan {
    /// The segments to look through, oldest first.
    pub segments: VecDeque<SegmentTimes>,
    /// Which record.
    pub wanted: TimeWanted,
    /// Records before this offset do not count.
    pub start: Offset,
    /// Nor do records from this offset on.
    pub upper: Offset,
}

/// The record that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeAnswer {
    /// Its timestamp.
    pub timestamp: Timestamp,
    /// Its offset.
    pub offset: Offset,
    /// The epoch of the leader that wrote it.
    pub leader_epoch: Option<LeaderEpoch>,
}

impl TimeAnswer {
    /// The first record at or after `from` in a whole batch with a timestamp of at least `target`.
    #[must_use]
    pub fn in_batch(batch: &[u8], target: Timestamp, from: Offset) -> Option<Self> {
        let header = BatchHeader::parse(batch).ok()?;
        let records = decompress(header.codec().ok()?, &batch[HEADER_SIZE..], LARGEST_BATCH).ok()?;
        RecordIter::new(&records, header.count()).map_while(Result::ok).find_map(|record| {
            let timestamp = header.record_timestamp(record.timestamp_delta);
            let offset = header.record_offset(record.offset_delta)?;
            let found = timestamp >= target && offset >= from;
            found.then_some(Self { timestamp, offset, leader_epoch: header.leader_epoch() })
        })
    }
}

/// What came of the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimeStep {
    /// Ask the disk for [`TimeLookup::command`] next.
    Again,
    /// The answer.
    Found(TimeAnswer),
    /// No such record in these segments. What is only in memory is the caller's to look through.
    NotHere,
}

#[derive(Clone, Copy, Debug)]
enum Next {
    /// The last entry of the time index of segment `n`, for its greatest timestamp.
    LastEntry(usize),
    /// The whole time index of the first segment.
    Times(Timestamp),
    /// The whole offset index of the first segment, to find this offset.
    Offsets(Timestamp, Offset),
    /// Batches of the first segment.
    Log { target: Timestamp, at: u64, len: u64 },
}

/// A lookup by timestamp, between two answers of the disk.
#[derive(Debug)]
pub struct TimeLookup {
    plan: TimePlan,
    next: Next,
}

impl TimeLookup {
    /// Begins with a plan; `None` if no segment can have such a record.
    #[must_use]
    pub fn new(plan: TimePlan) -> Option<Self> {
        let mut lookup = Self { plan, next: Next::LastEntry(0) };
        lookup.choose().then_some(lookup)
    }

    /// What to ask the disk now.
    #[must_use]
    pub fn command(&self) -> DiskCommand {
        let read = |(file, len): &(FileName, u64), at: u64| DiskCommand::Read {
            file: file.clone(),
            at,
            len: u32::try_from(len - at).unwrap_or(u32::MAX),
            pattern: ReadPattern::Random,
        };
        let index = "only an index that exists is asked for";
        match self.next {
            Next::LastEntry(n) => {
                let times = self.plan.segments[n].time_index.as_ref().expect(index);
                read(times, times.1 - TimeIndex::ENTRY_LEN as u64)
            }
            Next::Times(_) => read(self.first().time_index.as_ref().expect(index), 0),
            Next::Offsets(..) => read(self.first().index.as_ref().expect(index), 0),
            Next::Log { at, len, .. } => DiskCommand::Read {
                file: self.first().log.clone(),
                at,
                len: u32::try_from(len).unwrap_or(u32::MAX),
                pattern: ReadPattern::Random,
            },
        }
    }

    /// The file is not there: an index that the disk has not got to yet, or a segment that was deleted.
    pub fn on_missing(&mut self) -> TimeStep {
        match self.next {
            Next::Log { .. } => self.next_segment(),
            Next::LastEntry(_) | Next::Times(_) | Next::Offsets(..) => self.on_read(&Bytes::new()),
        }
    }

    /// Takes what the disk read.
    pub fn on_read(&mut self, bytes: &Bytes) -> TimeStep {
        match self.next {
            Next::LastEntry(n) => {
                let segment = &mut self.plan.segments[n];
                // An index that cannot be read says nothing: the segment is then searched from its start.
                let last =
                    TimeIndex::new(bytes, segment.base, IndexTail::Trimmed).and_then(|index| index.last());
                segment.max = Some(last.ok().flatten().map_or(Timestamp(i64::MAX), |entry| entry.timestamp));
                self.go_on()
            }
            Next::Times(target) => {
                let base = self.first().base;
                let from = TimeIndex::new(bytes, base, IndexTail::Trimmed)
                    .and_then(|index| index.lookup(target))
                    .map_or(base, |entry| entry.offset)
                    .max(self.plan.start);
                self.next = match self.first().index {
                    Some(_) => Next::Offsets(target, from),
                    None => self.window(target, 0, WINDOW),
                };
                TimeStep::Again
            }
            Next::Offsets(target, from) => {
                let at = OffsetIndex::new(bytes, self.first().base, IndexTail::Trimmed)
                    .and_then(|index| index.lookup(from))
                    .map_or(0, |entry| u64::from(entry.position));
                self.next = self.window(target, at.min(self.first().limit), WINDOW);
                TimeStep::Again
            }
            Next::Log { target, at, len } => self.walk(target, at, len, bytes),
        }
    }

    fn walk(&mut self, target: Timestamp, at: u64, len: u64, bytes: &Bytes) -> TimeStep {
        let mut position = 0;
        let needed = loop {
            let rest = &bytes[position..];
            if rest.len() < HEADER_SIZE {
                break HEADER_SIZE as u64;
            }
            let Ok(header) = BatchHeader::parse(rest) else { return self.next_segment() };
            if header.base_offset() >= self.plan.upper {
                return TimeStep::NotHere;
            }
            let size = header.size();
            if size > rest.len() {
                break size as u64;
            }
            if header.max_timestamp() >= target && header.last_offset() >= self.plan.start {
                let answer = TimeAnswer::in_batch(&rest[..size], target, self.plan.start);
                if let Some(answer) = answer.filter(|answer| answer.offset < self.plan.upper) {
                    return TimeStep::Found(answer);
                }
            }
            position += size;
        };
        let here = at + position as u64;
        if here + needed > self.first().limit || (bytes.len() as u64) < len {
            return self.next_segment();
        }
        self.next = self.window(target, here, needed.max(WINDOW));
        TimeStep::Again
    }

    fn window(&self, target: Timestamp, at: u64, len: u64) -> Next {
        Next::Log { target, at, len: len.min(self.first().limit - at) }
    }

    fn first(&self) -> &SegmentTimes {
        self.plan.segments.front().expect("a lookup that goes on has a segment")
    }

    fn next_segment(&mut self) -> TimeStep {
        self.plan.segments.pop_front();
        self.go_on()
    }

    fn go_on(&mut self) -> TimeStep {
        if self.choose() { TimeStep::Again } else { TimeStep::NotHere }
    }

    /// Decides what to look at next; false when nothing is left.
    fn choose(&mut self) -> bool {
        if let TimeWanted::Greatest = self.plan.wanted {
            let unknown = self.plan.segments.iter().position(|s| s.max.is_none() && s.time_index.is_some());
            if let Some(n) = unknown {
                self.next = Next::LastEntry(n);
                return true;
            }
            let known = self.plan.segments.iter().filter_map(|s| s.max).max();
            let Some(greatest) = known else { return false };
            self.plan.wanted = TimeWanted::AtOrAfter(greatest);
        }
        let TimeWanted::AtOrAfter(target) = self.plan.wanted else { unreachable!("decided above") };
        while let Some(segment) = self.plan.segments.front() {
            match (segment.max, &segment.time_index) {
                (Some(max), _) if max < target => {}
                (None, Some(_)) => {
                    self.next = Next::LastEntry(0);
                    return true;
                }
                (Some(_), Some(_)) => {
                    self.next = Next::Times(target);
                    return true;
                }
                (_, None) if segment.limit > 0 => {
                    self.next = self.window(target, 0, WINDOW);
                    return true;
                }
                (_, None) => {}
            }
            self.plan.segments.pop_front();
        }
        false
    }
}
