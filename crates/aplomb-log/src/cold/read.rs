//! A fetch from a segment file: find the position by the offset index, then read whole batches.

use aplomb_disk_api::{DiskCommand, FileName, ReadPattern};
use aplomb_model::Offset;
use aplomb_model::batch::{BatchHeader, HEADER_SIZE};
use bytes::Bytes;

use crate::index::{IndexSearch, OffsetPosition, SearchStep};

/// What a seek reads at once when the fetch itself wants less: an index interval and a few batches.
const SEEK_WINDOW: u64 = 64 * 1024;

/// A fetch that only the disk can answer.
#[derive(Clone, Debug)]
pub struct ColdPlan {
    /// The segment's first possible offset.
    pub base: Offset,
    /// Where the next segment begins, or the log ends.
    pub end: Offset,
    /// Which file has the records: the segment's `.log`.
    pub log: FileName,
    /// The segment's `.index`, and how many bytes of it may be read; none where it is empty.
    pub index: Option<(FileName, u64)>,
    /// Where the batch that holds `from` begins, if an earlier read ended there.
    pub position: Option<u64>,
    /// Bytes of the `.log` that are written and whole.
    pub limit: u64,
    /// The first wanted offset.
    pub from: Offset,
    /// Records from here on are not visible yet.
    pub upper: Offset,
    /// At most so many bytes of batches ...
    pub max_bytes: u32,
    /// ... except that the first batch is read whatever its size.
    pub at_least_one: bool,
    /// Which files the log had then ([`crate::Log::replacements`]).
    pub layout: u32,
}

/// Records from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColdRecords {
    /// Whole batches. The first may begin before the wanted offset.
    pub records: Bytes,
    /// The offset after the last of them.
    pub next: Offset,
    /// Where in the same file the batch of that offset begins, if the file has it.
    pub next_position: u64,
    /// The plan's [`ColdPlan::layout`].
    pub layout: u32,
}

/// What the bytes led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColdStep {
    /// Ask the disk for [`ColdRead::command`] next.
    Again,
    /// Whole batches, which answer the fetch.
    Found(ColdRecords),
    /// The segment has no visible record at or above the wanted offset.
    Nothing,
    /// The segment was deleted in the meantime.
    Deleted,
    /// The file does not hold a batch where the log has one.
    Damaged {
        /// Where in the `.log` a batch should be.
        position: u64,
    },
}

/// What is asked of the disk next.
#[derive(Debug)]
enum ColdStage {
    Index { file: FileName, search: IndexSearch<OffsetPosition> },
    Log { at: u64, len: u64 },
}

/// A fetch from a file, between two answers of the disk.
#[derive(Debug)]
pub struct ColdRead {
    plan: ColdPlan,
    stage: ColdStage,
}

impl ColdRead {
    /// Begins to carry out a plan.
    #[must_use]
    pub fn new(plan: ColdPlan) -> Self {
        let stage = match (plan.position, &plan.index) {
            (Some(at), _) => plan.window(at),
            (None, Some((file, len))) => ColdStage::Index {
                file: file.clone(),
                search: IndexSearch::for_offset(plan.base, *len, plan.from, plan.end),
            },
            (None, None) => plan.window(0),
        };
        Self { plan, stage }
    }

    /// What to ask the disk now.
    #[must_use]
    pub fn command(&self) -> DiskCommand {
        match &self.stage {
            ColdStage::Index { file, search } => {
                let (at, len) = search.next_read();
                DiskCommand::Read { file: file.clone(), at, len, pattern: ReadPattern::Random }
            }
            ColdStage::Log { at, len } => DiskCommand::Read {
                file: self.plan.log.clone(),
                at: *at,
                len: u32::try_from(*len).unwrap_or(u32::MAX),
                pattern: ReadPattern::Sequential,
            },
        }
    }

    /// How many bytes that takes, at most, or the read of records that an index is searched for.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let len = match &self.stage {
            ColdStage::Log { len, .. } => *len,
            ColdStage::Index { search, .. } => {
                let window = u64::from(self.plan.max_bytes) + SEEK_WINDOW;
                u64::from(search.next_read().1).max(window.min(self.plan.limit))
            }
        };
        usize::try_from(len).unwrap_or(usize::MAX)
    }

    /// The file is missing: an index that is not written yet, or a segment that was deleted.
    pub fn on_missing(&mut self) -> ColdStep {
        match self.stage {
            ColdStage::Index { .. } => {
                self.stage = self.plan.window(0);
                ColdStep::Again
            }
            ColdStage::Log { .. } => ColdStep::Deleted,
        }
    }

    /// Takes what the disk read.
    pub fn on_read(&mut self, bytes: &Bytes) -> ColdStep {
        match &mut self.stage {
            ColdStage::Index { search, .. } => {
                let position = match search.on_read(bytes) {
                    Ok(SearchStep::Again) => return ColdStep::Again,
                    Ok(SearchStep::Found(entry)) => entry.map_or(0, |entry| entry.position),
                    // A damaged index costs a longer walk, never a wrong answer: batches are
                    // checked on the way, and the start of the file is always right.
                    Err(_) => 0,
                };
                self.stage = self.plan.window(u64::from(position).min(self.plan.limit));
                ColdStep::Again
            }
            ColdStage::Log { at, len } => {
                let (at, len) = (*at, *len);
                self.walk(at, len, bytes)
            }
        }
    }

    fn walk(&mut self, at: u64, len: u64, bytes: &Bytes) -> ColdStep {
        let mut position = 0_usize;
        let mut start = None;
        let mut next = self.plan.from;
        let needed = loop {
            let rest = &bytes[position..];
            if rest.len() < HEADER_SIZE {
                break HEADER_SIZE as u64;
            }
            let Ok(header) = BatchHeader::parse(rest) else {
                return ColdStep::Damaged { position: at + position as u64 };
            };
            if header.base_offset() >= self.plan.upper {
                return self.found(at, start, position, next, bytes);
            }
            let size = header.size();
            let wanted = header.last_offset() >= self.plan.from;
            if wanted {
                let begun = *start.get_or_insert(position);
                let total = position + size - begun;
                let first = begun == position;
                if total as u64 > u64::from(self.plan.max_bytes) && !(first && self.plan.at_least_one) {
                    return self.found(at, start, position, next, bytes);
                }
            }
            if size > rest.len() {
                break size as u64;
            }
            position += size;
            next = header.last_offset().next();
        };
        // The bytes end here. What was found is the answer; otherwise look on from the first batch
        // that was not whole.
        if start.is_some_and(|start| start < position) {
            return self.found(at, start, position, next, bytes);
        }
        let here = at + position as u64;
        if here + needed > self.plan.limit {
            return if here == self.plan.limit {
                ColdStep::Nothing
            } else {
                ColdStep::Damaged { position: here }
            };
        }
        if (bytes.len() as u64) < len {
            return ColdStep::Damaged { position: here }; // the file is shorter than the log knows it to be
        }
        self.stage = self.plan.window_of(here, needed);
        ColdStep::Again
    }

    fn found(&self, at: u64, start: Option<usize>, end: usize, next: Offset, bytes: &Bytes) -> ColdStep {
        match start {
            Some(start) if start < end => ColdStep::Found(ColdRecords {
                records: bytes.slice(start..end),
                next,
                next_position: at + end as u64,
                layout: self.plan.layout,
            }),
            _ => ColdStep::Nothing,
        }
    }
}

impl ColdPlan {
    fn window(&self, at: u64) -> ColdStage {
        self.window_of(at, 0)
    }

    /// A read from `at` on, of `needed` bytes or more.
    fn window_of(&self, at: u64, needed: u64) -> ColdStage {
        let wanted = if self.position == Some(at) {
            u64::from(self.max_bytes).max(HEADER_SIZE as u64)
        } else {
            u64::from(self.max_bytes) + SEEK_WINDOW
        };
        ColdStage::Log { at, len: wanted.min(self.limit.saturating_sub(at)).max(needed) }
    }
}

#[cfg(test)]
mod tests {
    use aplomb_model::Timestamp;
    use aplomb_model::batch::BatchBuilder;

    use super::*;
    use crate::index::{BatchPosition, IndexLimits, SegmentIndexes};

    /// A segment at offset 100 with batches of two records each, and its index.
    struct Segment {
        log: Vec<u8>,
        index: Vec<u8>,
        positions: Vec<u64>,
    }

    fn segment(batches: u64, value: usize, interval: u32) -> Segment {
        let (mut log, mut positions) = (Vec::new(), Vec::new());
        let limits = IndexLimits { interval_bytes: interval, max_bytes: 1 << 20 };
        let mut indexes = SegmentIndexes::new(Offset::new(100), limits);
        for n in 0..batches {
            let mut batch = BatchBuilder::new(Offset::new(100 + 2 * n));
            for _ in 0..2 {
                batch.append(Timestamp(1_000), Some(b"key"), Some(&vec![b'v'; value]), &[]);
            }
            let bytes = batch.build();
            positions.push(log.len() as u64);
            indexes.on_append(BatchPosition {
                last_offset: Offset::new(101 + 2 * n),
                max_timestamp: Timestamp(1_000),
                position: log.len() as u32,
                size: bytes.len() as u32,
            });
            log.extend_from_slice(&bytes);
        }
        let index = indexes.offsets.take_unwritten().map_or_else(Vec::new, |(_, bytes)| bytes.to_vec());
        Segment { log, index, positions }
    }

    fn plan(segment: &Segment, from: u64, max_bytes: u32) -> ColdPlan {
        ColdPlan {
            base: Offset::new(100),
            end: Offset::new(100 + 2 * segment.positions.len() as u64),
            log: FileName::new("t-0/00000000000000000100.log"),
            index: (!segment.index.is_empty())
                .then(|| (FileName::new("t-0/00000000000000000100.index"), segment.index.len() as u64)),
            position: None,
            limit: segment.log.len() as u64,
            from: Offset::new(from),
            upper: Offset::new(1_000_000),
            max_bytes,
            at_least_one: true,
            layout: 0,
        }
    }

    fn run(segment: &Segment, plan: ColdPlan) -> (ColdStep, usize) {
        let mut read = ColdRead::new(plan);
        for reads in 1..1_000 {
            let DiskCommand::Read { file, at, len, .. } = read.command() else { panic!("only reads") };
            let content = if file.as_str().ends_with(".log") { &segment.log } else { &segment.index };
            let at = usize::try_from(at).expect("small").min(content.len());
            let end = content.len().min(at + len as usize);
            match read.on_read(&Bytes::copy_from_slice(&content[at..end])) {
                ColdStep::Again => {}
                step => return (step, reads),
            }
        }
        panic!("the read does not end");
    }

    #[test]
    fn a_read_begins_with_the_batch_that_holds_the_offset() {
        let segment = segment(50, 300, 4096);
        for from in 100..200 {
            let (step, _) = run(&segment, plan(&segment, from, 1));
            let ColdStep::Found(found) = step else { panic!("offset {from} is there: {step:?}") };
            let header = BatchHeader::parse(&found.records).expect("a batch");
            assert!(header.base_offset().get() <= from && from <= header.last_offset().get());
            assert_eq!(found.records.len(), header.size(), "one batch, although the limit is below it");
            assert_eq!(found.next, header.last_offset().next());
        }
    }

    #[test]
    fn of_a_large_index_little_is_read_before_the_records() {
        let segment = segment(20_000, 10, 0);
        assert!(segment.index.len() > 150_000);
        for from in (100..40_100).step_by(401) {
            let mut read = ColdRead::new(plan(&segment, from, 1000));
            let (mut reads, mut bytes) = (0, 0);
            loop {
                let DiskCommand::Read { file, at, len, .. } = read.command() else { panic!("only reads") };
                let content = if file.as_str().ends_with(".log") { &segment.log } else { &segment.index };
                assert!(read.bytes() >= len as usize, "what is read was reckoned with");
                (reads, bytes) = (reads + 1, bytes + len);
                match read.on_read(&Bytes::copy_from_slice(&content[at as usize..][..len as usize])) {
                    ColdStep::Again => {}
                    step => break assert!(matches!(step, ColdStep::Found(_)), "{step:?}"),
                }
            }
            assert!(reads <= 3, "{reads} reads for offset {from}");
            assert!(bytes <= 2 * 4096 + 1000 + SEEK_WINDOW as u32, "{bytes} bytes for offset {from}");
        }
    }

    #[test]
    fn a_read_ends_with_a_whole_batch_within_the_limit() {
        let segment = segment(50, 300, 4096);
        let (step, _) = run(&segment, plan(&segment, 120, 2_000));
        let ColdStep::Found(found) = step else { panic!("{step:?}") };
        assert!(found.records.len() <= 2_000);
        assert_eq!(found.next_position, segment.positions[10] + found.records.len() as u64);
        let mut on = plan(&segment, found.next.get(), 2_000);
        on.position = Some(found.next_position);
        let (step, reads) = run(&segment, on);
        assert!(matches!(step, ColdStep::Found(_)));
        assert_eq!(reads, 1, "the position is known, so the index is not read");
    }

    #[test]
    fn a_batch_larger_than_the_window_is_read_whole() {
        let segment = segment(3, 200_000, 4096);
        let (step, _) = run(&segment, plan(&segment, 103, 10));
        let ColdStep::Found(found) = step else { panic!("{step:?}") };
        assert!(found.records.len() > 400_000);
    }

    #[test]
    fn a_batch_over_the_limit_is_left_out_when_it_need_not_be_first() {
        let segment = segment(3, 1_000, 4096);
        let mut small = plan(&segment, 100, 10);
        small.at_least_one = false;
        assert_eq!(run(&segment, small).0, ColdStep::Nothing);
    }

    #[test]
    fn a_broken_index_costs_time_and_nothing_else() {
        let mut segment = segment(50, 300, 1_000);
        segment.index.fill(0xff);
        let (step, _) = run(&segment, plan(&segment, 150, 1));
        assert!(matches!(step, ColdStep::Found(found) if found.next == Offset::new(152)));
    }

    #[test]
    fn nothing_is_read_from_the_visible_end_on() {
        let segment = segment(10, 300, 4096);
        let mut up_to = plan(&segment, 100, 1 << 20);
        up_to.upper = Offset::new(110);
        let (step, _) = run(&segment, up_to);
        assert!(matches!(step, ColdStep::Found(found) if found.next == Offset::new(110)));
        assert_eq!(run(&segment, plan(&segment, 120, 1)).0, ColdStep::Nothing);
    }

    #[test]
    fn a_file_that_is_not_batches_is_damaged() {
        let mut segment = segment(10, 300, 1 << 30);
        let at = usize::try_from(segment.positions[4]).expect("small");
        segment.log[at + 16] = 9;
        assert_eq!(run(&segment, plan(&segment, 115, 1)).0, ColdStep::Damaged { position: at as u64 });
    }
}
