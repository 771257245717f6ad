//! A lookup by timestamp in segment files: which segment, by the last entries of the time indexes;
//! which part of it, by its time index and offset index; which record, by walking batches.

use std::collections::VecDeque;

use aplomb_disk_api::{DiskCommand, FileName, ReadPattern};
use aplomb_model::batch::{BatchHeader, HEADER_SIZE, RecordIter, decompress};
use aplomb_model::{LeaderEpoch, Offset, Timestamp};
use bytes::Bytes;

use crate::index::{IndexSearch, IndexTail, OffsetPosition, SearchStep, TimeIndex, TimestampOffset};

/// How much of a `.log` a search reads at once.
const WINDOW: u64 = 64 * 1024;
/// What a batch may decompress to; the leader took none that is larger.
const LARGEST_BATCH: usize = 256 << 20;

/// What a lookup needs to know of a segment.
#[derive(Clone, Debug)]
pub struct SegmentTimes {
    /// The segment's first possible offset.
    pub base: Offset,
    /// Where the next segment begins, or the log ends.
    pub end: Offset,
    /// The name of its `.log`.
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
    /// Which record is looked for.
    pub wanted: TimeWanted,
    /// Records before this offset do not count.
    pub start: Offset,
    /// Nor do records from this offset on.
    pub upper: Offset,
    /// The greatest timestamp of the records that memory has.
    pub in_tail: Option<Timestamp>,
}

/// The record that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeAnswer {
    /// When it happened, by its producer or its leader.
    pub timestamp: Timestamp,
    /// Where it is in the partition.
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

    /// The first of the records at or after `from` in a whole batch that have the greatest
    /// timestamp.
    fn greatest_in_batch(batch: &[u8], from: Offset) -> Option<Self> {
        let mut greatest = Self::in_batch(batch, Timestamp(i64::MIN), from)?;
        while let Some(later) = Self::in_batch(batch, Timestamp(greatest.timestamp.0.checked_add(1)?), from) {
            greatest = later;
        }
        Some(greatest)
    }
}

/// What the bytes led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimeStep {
    /// Ask the disk for [`TimeLookup::command`] next.
    Again,
    /// The record that was looked for.
    Found(TimeAnswer),
    /// No such record in these segments. The caller looks through what only memory has.
    NotHere,
}

/// What is asked of the disk next. All but the first is of the first segment.
#[derive(Debug)]
enum LookupStage {
    /// The last entry of the time index of segment `n`, for its greatest timestamp.
    LastEntry(usize),
    /// A block of the time index, to find the offset to look from.
    Times { target: Timestamp, search: IndexSearch<TimestampOffset> },
    /// A block of the offset index, to find where that offset is.
    Offsets { wanted: TimeWanted, search: IndexSearch<OffsetPosition> },
    /// A window of the `.log`, to walk batches.
    Log { wanted: TimeWanted, at: u64, len: u64 },
}

/// A lookup by timestamp, between two answers of the disk.
#[derive(Debug)]
pub struct TimeLookup {
    plan: TimePlan,
    stage: LookupStage,
    /// Of the segment that the log starts within, whose index may know a greater timestamp from
    /// below the log start: the greatest that is not deleted.
    in_first: Option<TimeAnswer>,
}

impl TimeLookup {
    /// Begins with a plan; `None` if no segment can have such a record.
    #[must_use]
    pub fn new(plan: TimePlan) -> Option<Self> {
        let mut lookup = Self { plan, stage: LookupStage::LastEntry(0), in_first: None };
        lookup.choose().then_some(lookup)
    }

    /// What to ask the disk now.
    #[must_use]
    pub fn command(&self) -> DiskCommand {
        let of =
            |index: &Option<(FileName, u64)>| index.clone().expect("only an index that exists is asked for");
        let (file, (at, len)) = match &self.stage {
            LookupStage::LastEntry(n) => {
                let (file, len) = of(&self.plan.segments[*n].time_index);
                let entry = TimeIndex::ENTRY_LEN as u32;
                (file, (len - u64::from(entry), entry))
            }
            LookupStage::Times { search, .. } => (of(&self.first().time_index).0, search.next_read()),
            LookupStage::Offsets { search, .. } => (of(&self.first().index).0, search.next_read()),
            LookupStage::Log { at, len, .. } => {
                (self.first().log.clone(), (*at, u32::try_from(*len).unwrap_or(u32::MAX)))
            }
        };
        DiskCommand::Read { file, at, len, pattern: ReadPattern::Random }
    }

    /// The file is missing: an index that is not written yet, or a segment that was deleted.
    pub fn on_missing(&mut self) -> TimeStep {
        match self.stage {
            LookupStage::Log { .. } => self.next_segment(),
            LookupStage::LastEntry(_) => self.on_read(&Bytes::new()),
            LookupStage::Times { target, .. } => {
                self.find_offset(TimeWanted::AtOrAfter(target), self.first().base)
            }
            LookupStage::Offsets { wanted, .. } => self.walk_from(wanted, 0),
        }
    }

    /// Takes what the disk read.
    pub fn on_read(&mut self, bytes: &Bytes) -> TimeStep {
        match &mut self.stage {
            LookupStage::LastEntry(n) => {
                let n = *n;
                let segment = &mut self.plan.segments[n];
                // An index that cannot be read says nothing: the segment is then searched from its
                // start.
                let last =
                    TimeIndex::new(bytes, segment.base, IndexTail::Trimmed).and_then(|index| index.last());
                let last = last.ok().flatten();
                if self.plan.wanted == TimeWanted::Greatest
                    && segment.base < self.plan.start
                    && last.is_none_or(|last| last.offset < self.plan.start)
                {
                    segment.time_index = None; // it knows of deleted records only
                } else {
                    segment.max = Some(last.map_or(Timestamp(i64::MAX), |entry| entry.timestamp));
                }
                self.go_on()
            }
            // A damaged index costs a longer walk, from the segment's start.
            LookupStage::Times { target, search } => {
                let (wanted, step) = (TimeWanted::AtOrAfter(*target), search.on_read(bytes));
                match step {
                    Ok(SearchStep::Again) => TimeStep::Again,
                    Ok(SearchStep::Found(Some(entry))) => self.find_offset(wanted, entry.offset),
                    Ok(SearchStep::Found(None)) | Err(_) => self.find_offset(wanted, self.first().base),
                }
            }
            LookupStage::Offsets { wanted, search } => {
                let (wanted, step) = (*wanted, search.on_read(bytes));
                match step {
                    Ok(SearchStep::Again) => TimeStep::Again,
                    Ok(SearchStep::Found(Some(entry))) => self.walk_from(wanted, entry.position.into()),
                    Ok(SearchStep::Found(None)) | Err(_) => self.walk_from(wanted, 0),
                }
            }
            LookupStage::Log { wanted, at, len } => {
                let (wanted, at, len) = (*wanted, *at, *len);
                self.walk(wanted, at, len, bytes)
            }
        }
    }

    /// No record before `offset` is wanted: finds where that is.
    fn find_offset(&mut self, wanted: TimeWanted, offset: Offset) -> TimeStep {
        let (segment, from) = (self.first(), offset.max(self.plan.start));
        let Some((_, len)) = segment.index else { return self.walk_from(wanted, 0) };
        let search = IndexSearch::for_offset(segment.base, len, from, segment.end);
        self.stage = LookupStage::Offsets { wanted, search };
        TimeStep::Again
    }

    fn walk_from(&mut self, wanted: TimeWanted, at: u64) -> TimeStep {
        self.stage = self.window(wanted, at.min(self.first().limit), WINDOW);
        TimeStep::Again
    }

    fn walk(&mut self, wanted: TimeWanted, at: u64, len: u64, bytes: &Bytes) -> TimeStep {
        let mut position = 0;
        let needed = loop {
            let rest = &bytes[position..];
            if rest.len() < HEADER_SIZE {
                break HEADER_SIZE as u64;
            }
            let Ok(header) = BatchHeader::parse(rest) else { return self.next_segment() };
            if header.base_offset() >= self.plan.upper {
                self.plan.segments.clear();
                return self.go_on();
            }
            let size = header.size();
            if size > rest.len() {
                break size as u64;
            }
            if header.last_offset() >= self.plan.start
                && let Some(answer) = self.in_batch(wanted, header.max_timestamp(), &rest[..size])
            {
                return TimeStep::Found(answer);
            }
            position += size;
        };
        let here = at + position as u64;
        if here + needed > self.first().limit || (bytes.len() as u64) < len {
            return self.next_segment();
        }
        self.stage = self.window(wanted, here, needed.max(WINDOW));
        TimeStep::Again
    }

    /// Looks through a batch. Gives the answer, if no other record can be it.
    fn in_batch(&mut self, wanted: TimeWanted, greatest: Timestamp, batch: &[u8]) -> Option<TimeAnswer> {
        let (start, upper) = (self.plan.start, self.plan.upper);
        match wanted {
            TimeWanted::AtOrAfter(target) if greatest < target => None,
            TimeWanted::AtOrAfter(target) => {
                TimeAnswer::in_batch(batch, target, start).filter(|answer| answer.offset < upper)
            }
            TimeWanted::Greatest => {
                let known = self.in_first.map_or(Timestamp(i64::MIN), |known| known.timestamp);
                if greatest > known {
                    let found = TimeAnswer::greatest_in_batch(batch, start);
                    let better = |found: &TimeAnswer| found.timestamp > known && found.offset < upper;
                    self.in_first = found.filter(better).or(self.in_first);
                }
                None
            }
        }
    }

    fn window(&self, wanted: TimeWanted, at: u64, len: u64) -> LookupStage {
        LookupStage::Log { wanted, at, len: len.min(self.first().limit - at) }
    }

    fn first(&self) -> &SegmentTimes {
        self.plan.segments.front().expect("a lookup that goes on has a segment")
    }

    fn next_segment(&mut self) -> TimeStep {
        self.plan.segments.pop_front();
        self.go_on()
    }

    fn go_on(&mut self) -> TimeStep {
        if self.choose() {
            return TimeStep::Again;
        }
        let not_in_tail = |found: &TimeAnswer| self.plan.in_tail.is_none_or(|tail| found.timestamp >= tail);
        self.in_first.filter(not_in_tail).map_or(TimeStep::NotHere, TimeStep::Found)
    }

    /// Decides what to look at next; false when nothing is left.
    fn choose(&mut self) -> bool {
        if let TimeWanted::Greatest = self.plan.wanted {
            let unknown = self.plan.segments.iter().position(|s| s.max.is_none() && s.time_index.is_some());
            if let Some(n) = unknown {
                self.stage = LookupStage::LastEntry(n);
                return true;
            }
            let start = self.plan.start;
            if let Some(first) = self.plan.segments.front()
                && first.base < start
                && first.max.is_none()
            {
                self.find_offset(TimeWanted::Greatest, start);
                return true;
            }
            let known = self.plan.segments.iter().filter_map(|s| s.max).max();
            let in_first = self.in_first.map(|found| found.timestamp);
            let Some(greatest) = known.filter(|known| in_first.is_none_or(|first| first < *known)) else {
                return false;
            };
            (self.plan.wanted, self.in_first) = (TimeWanted::AtOrAfter(greatest), None);
        }
        let TimeWanted::AtOrAfter(target) = self.plan.wanted else { unreachable!("decided above") };
        while let Some(segment) = self.plan.segments.front() {
            match (segment.max, &segment.time_index) {
                (Some(max), _) if max < target => {}
                (None, Some(_)) => {
                    self.stage = LookupStage::LastEntry(0);
                    return true;
                }
                (Some(greatest), Some((_, len))) => {
                    let search = IndexSearch::for_time(segment.base, *len, target, greatest);
                    self.stage = LookupStage::Times { target, search };
                    return true;
                }
                (_, None) if segment.limit > 0 => {
                    self.stage = self.window(TimeWanted::AtOrAfter(target), 0, WINDOW);
                    return true;
                }
                (_, None) => {}
            }
            self.plan.segments.pop_front();
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use aplomb_model::batch::BatchBuilder;

    use super::*;
    use crate::index::{BatchPosition, IndexLimits, SegmentIndexes};

    #[test]
    fn of_large_indexes_little_is_read_before_the_records() {
        let limits = IndexLimits { interval_bytes: 0, max_bytes: 1 << 20 };
        let mut indexes = SegmentIndexes::new(Offset::ZERO, limits);
        let mut log: Vec<u8> = Vec::new();
        for n in 0..20_000 {
            let mut batch = BatchBuilder::new(Offset::new(n));
            batch.append(Timestamp(1_000 + 10 * n as i64), None, Some(b"value"), &[]);
            let bytes = batch.build();
            indexes.on_append(BatchPosition {
                last_offset: Offset::new(n),
                max_timestamp: Timestamp(1_000 + 10 * n as i64),
                position: log.len() as u32,
                size: bytes.len() as u32,
            });
            log.extend_from_slice(&bytes);
        }
        let files = [
            ("log", log.into()),
            ("index", index(&mut indexes.offsets)),
            ("times", index(&mut indexes.times)),
        ];
        for n in (0..20_000).step_by(303) {
            let segment = SegmentTimes {
                base: Offset::ZERO,
                end: Offset::new(20_000),
                log: FileName::new("log"),
                limit: files[0].1.len() as u64,
                index: Some((FileName::new("index"), files[1].1.len() as u64)),
                time_index: Some((FileName::new("times"), files[2].1.len() as u64)),
                max: None,
            };
            let wanted = TimeWanted::AtOrAfter(Timestamp(995 + 10 * n));
            let (start, upper) = (Offset::ZERO, Offset::new(20_000));
            let plan = TimePlan { segments: [segment].into(), wanted, start, upper, in_tail: None };
            let mut lookup = TimeLookup::new(plan).expect("there is a segment");
            let (mut reads, mut bytes) = (0, 0);
            let answer = loop {
                let DiskCommand::Read { file, at, len, .. } = lookup.command() else { panic!("only reads") };
                let content = &files.iter().find(|(name, _)| *name == file.as_str()).expect("one of these").1;
                (reads, bytes) = (reads + 1, bytes + len);
                match lookup.on_read(&content.slice(at as usize..at as usize + len as usize)) {
                    TimeStep::Again => {}
                    TimeStep::Found(answer) => break answer,
                    TimeStep::NotHere => panic!("record {n} is there"),
                }
            };
            assert_eq!(answer.offset, Offset::new(n as u64));
            assert!(reads <= 8, "{reads} reads for record {n}");
            assert!(bytes <= 7 * 16_384 + WINDOW as u32, "{bytes} bytes for record {n}");
        }
    }

    fn index<E: crate::index::LookupEntry>(builder: &mut crate::index::IndexBuilder<E>) -> Bytes {
        builder.take_unwritten().expect("it has entries").1
    }
}
