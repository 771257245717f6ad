//! One pass over a log: the map, then the groups.

use aplomb_disk_api::PatientDisk;
use aplomb_model::Offset;
use aplomb_model::batch::{BatchError, BatchHeader, BatchView, Batches};
use bytes::Bytes;

use super::filter::{Kept, filter};
use super::offset_map::OffsetMap;
use super::output::Output;
use super::plan::{CompactionPlan, SourceSegment};
use super::reader::{PassFailed, SegmentReader};
use super::stretches::{DirtyStretch, Stretches};
use super::swap::{commit, remove_stale};
use super::transactions::CleanedTransactions;
use crate::layout::SegmentFile;
use crate::producers::marker_of;
use crate::segments::Segment;

/// The most offsets that a segment spans.
const MOST_OFFSETS: u64 = i32::MAX as u64;

/// How far a pass has come.
#[derive(Debug)]
pub enum PassStep {
    /// It goes on: so many bytes were read and written.
    Again(u64),
    /// A group is written, with so many bytes moved. The log is to take its segment; then the pass
    /// goes on.
    Group(Replacement, u64),
    /// All groups are.
    Done(PassResult),
}

/// A segment that takes the place of others. Its files have the `.swap` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// The bases of the segments that it replaces, in order.
    pub sources: Vec<Offset>,
    /// The new segment; its base is the first of these.
    pub segment: Segment,
}

/// What came of a pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PassResult {
    /// The first offset that is dirty now.
    pub clean_end: Offset,
    /// What it took.
    pub stats: PassStats,
}

/// What a pass did. Sizes are bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PassStats {
    /// Read for the map.
    pub mapped: u64,
    /// Written anew: read, or passed over.
    pub read: u64,
    /// Of these, the bytes that were not read again, because the map outdates all of them.
    pub passed_over: u64,
    /// Written to the new segments' `.log` files.
    pub kept: u64,
    /// Records in what is written anew.
    pub records: u64,
    /// Of these, those that stay.
    pub kept_records: u64,
    /// How full the map was, of 1.
    pub map_used: f64,
}

#[derive(Debug)]
enum Stage {
    /// Nothing is read yet; the first dirty segment has this place among the sources.
    New(usize),
    /// The dirty segments are read, from this place among the sources on.
    Map(usize, SegmentReader),
    /// The groups are written; the one from this place on is next.
    Begin(usize),
    /// This one's segment is being written.
    Write(Box<Writing>),
    Over,
}

#[derive(Debug)]
struct Writing {
    output: Output,
    /// The places of its sources.
    first: usize,
    next_group: usize,
    /// The one that is read.
    source: usize,
    reader: SegmentReader,
}

/// A pass over one log, from the first read to the last new segment.
#[derive(Debug)]
pub struct Pass {
    plan: CompactionPlan,
    map: OffsetMap,
    stretches: Stretches,
    transactions: CleanedTransactions,
    stage: Stage,
    /// The base of the segment of which there may be `.cleaned` files.
    writes: Option<Offset>,
    stats: PassStats,
}

impl Pass {
    /// Begins a pass.
    ///
    /// # Panics
    /// If the plan has no dirty segment.
    #[must_use]
    pub fn new(plan: CompactionPlan) -> Self {
        let first = plan.sources.partition_point(|source| source.end <= plan.first_dirty);
        assert!(first < plan.sources.len(), "{} has a dirty segment", plan.directory);
        let (map, transactions) = (OffsetMap::without_room(), CleanedTransactions::default());
        let (stretches, stats) = (Stretches::default(), PassStats::default());
        Self { plan, map, stretches, transactions, stage: Stage::New(first), writes: None, stats }
    }

    /// The directory whose log it is.
    #[must_use]
    pub fn directory(&self) -> &str {
        &self.plan.directory
    }

    /// The base of the segment that is being written, or was when the pass failed.
    #[must_use]
    pub fn writes(&self) -> Option<Offset> {
        self.writes
    }

    /// Reads and writes a window's worth.
    ///
    /// # Errors
    /// [`PassFailed`]: there is no further step.
    ///
    /// # Panics
    /// If the pass is over.
    pub fn step(&mut self, disk: &dyn PatientDisk) -> Result<PassStep, PassFailed> {
        let step = self.go_on(disk);
        if matches!(step, Ok(PassStep::Done(_)) | Err(_)) {
            // Here, and not where the pass ends up: it may be much memory.
            (self.map, self.stretches) = (OffsetMap::without_room(), Stretches::default());
        }
        step
    }

    fn go_on(&mut self, disk: &dyn PatientDisk) -> Result<PassStep, PassFailed> {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::New(first) => {
                let (plan, rules) = (&self.plan, &self.plan.rules);
                let records = plan.end().distance_from(plan.first_dirty);
                let seed = plan.now.0.cast_unsigned();
                self.map = OffsetMap::new(records, rules.map_bytes, rules.map_load, seed);
                self.transactions.enter(&plan.aborted, plan.sources[first].base, plan.end());
                self.stage = Stage::Map(first, reader(plan, first));
                Ok(PassStep::Again(0))
            }
            Stage::Map(place, reader) => self.map_on(place, reader, disk),
            Stage::Begin(place) => self.begin_group(place, disk),
            Stage::Write(writing) => self.write_on(writing, disk),
            Stage::Over => panic!("a pass that is over has no step"),
        }
    }

    fn map_on(
        &mut self,
        place: usize,
        mut reader: SegmentReader,
        disk: &dyn PatientDisk,
    ) -> Result<PassStep, PassFailed> {
        let at = reader.at();
        let bytes = reader.next(disk)?;
        let moved = bytes.len() as u64;
        self.stats.mapped += moved;
        let mut stretch = DirtyStretch::new(place, at, moved);
        let source_end = self.plan.sources[place].end;
        let mut is_full = false;
        for view in Batches::new(&bytes) {
            let noted = self.note(&view);
            is_full = noted.map_err(|why| reader.failed_behind(&bytes, view.position, &why.to_string()))?;
            if is_full {
                break;
            }
            stretch.add(&view.header, &self.plan);
        }
        if bytes.is_empty() {
            // Offsets between the last batch and the next segment are there no more.
            self.map.reach(Offset::new(source_end.get() - 1));
        }
        self.stage = if is_full || bytes.is_empty() && place + 1 == self.plan.sources.len() {
            self.stats.map_used = self.map.used();
            self.map.settle(self.plan.first_dirty);
            self.transactions = CleanedTransactions::default();
            Stage::Begin(0)
        } else if bytes.is_empty() {
            Stage::Map(place + 1, self::reader(&self.plan, place + 1))
        } else {
            self.stretches.push(stretch);
            Stage::Map(place, reader)
        };
        Ok(PassStep::Again(moved))
    }

    /// Notes the keys of a batch. Whether the map is full.
    fn note(&mut self, view: &BatchView<'_>) -> Result<bool, BatchError> {
        let header = &view.header;
        if header.is_control() {
            let marker = marker_of(header, &view.record_bytes());
            self.transactions.on_control(header, marker.map(|marker| marker.committed));
        } else if !self.transactions.on_records(header)
            && header.last_offset() >= self.plan.first_dirty
            && header.count() > 0
        {
            let bytes = view.uncompressed(self.plan.rules.decompressed)?;
            for record in view.records(&bytes) {
                let record = record?;
                let offset = header.record_offset(record.offset_delta);
                if let (Some(key), Some(offset)) = (record.key, offset)
                    && offset >= self.plan.first_dirty
                {
                    if offset > header.last_offset() {
                        self.map.mistrust_offsets();
                    }
                    if !self.map.put(key, offset) {
                        return Ok(true);
                    }
                }
            }
        }
        if header.last_offset() >= self.plan.first_dirty {
            self.map.reach(header.last_offset());
        }
        Ok(false)
    }

    /// The offset behind what the map knows.
    fn clean_end(&self) -> Offset {
        self.map.latest().map_or(self.plan.first_dirty, Offset::next)
    }

    fn begin_group(&mut self, place: usize, disk: &dyn PatientDisk) -> Result<PassStep, PassFailed> {
        let sources = &self.plan.sources;
        let in_reach = sources.partition_point(|source| source.base < self.clean_end());
        if place >= in_reach {
            return Ok(PassStep::Done(PassResult { clean_end: self.clean_end(), stats: self.stats }));
        }
        let next_group = place + group(&sources[place..in_reach], &self.plan);
        let rules = &self.plan.rules;
        let base = sources[place].base;
        for source in &sources[place..next_group] {
            remove_stale(disk, &self.plan.directory, source.base)?;
        }
        self.writes = Some(base);
        let output = Output::begin(disk, &self.plan.directory, base, rules.indexes, rules.window)?;
        self.enter(place);
        let reader = reader(&self.plan, place);
        let writing = Writing { output, first: place, next_group, source: place, reader };
        self.stage = Stage::Write(Box::new(writing));
        Ok(PassStep::Again(0))
    }

    fn enter(&mut self, place: usize) {
        let SourceSegment { base, end, .. } = self.plan.sources[place];
        self.transactions.enter(&self.plan.aborted, base, end);
    }

    fn write_on(
        &mut self,
        mut writing: Box<Writing>,
        disk: &dyn PatientDisk,
    ) -> Result<PassStep, PassFailed> {
        self.pass_over(&mut writing);
        let bytes = writing.reader.next(disk)?;
        if !bytes.is_empty() {
            self.rewrite(&bytes, &mut writing)?;
            let moved = bytes.len() as u64 + writing.output.write(disk)?;
            self.stage = Stage::Write(writing);
            return Ok(PassStep::Again(moved));
        }
        if writing.source + 1 < writing.next_group {
            writing.source += 1;
            self.enter(writing.source);
            writing.reader = reader(&self.plan, writing.source);
            self.stage = Stage::Write(writing);
            return Ok(PassStep::Again(0));
        }
        let Writing { output, first, next_group, .. } = *writing;
        let sources = &self.plan.sources[first..next_group];
        let modified = sources.last().expect("a group has a segment").modified;
        let (segment, moved) = output.finish(disk, modified)?;
        commit(disk, &self.plan.directory, segment.base)?;
        self.writes = None;
        self.stats.kept += segment.size;
        let replacement =
            Replacement { sources: sources.iter().map(|source| source.base).collect(), segment };
        self.stage = Stage::Begin(next_group);
        Ok(PassStep::Group(replacement, moved))
    }

    /// Passes over what the map outdates as a whole.
    fn pass_over(&mut self, writing: &mut Writing) {
        let Writing { source, reader, .. } = writing;
        while let Some(stretch) = self.stretches.outdated_at(*source, reader.at(), &self.map) {
            reader.skip(stretch.len);
            self.stats.read += stretch.len;
            self.stats.passed_over += stretch.len;
            self.stats.records += stretch.records;
        }
    }

    fn rewrite(&mut self, bytes: &Bytes, writing: &mut Writing) -> Result<(), PassFailed> {
        self.stats.read += bytes.len() as u64;
        for view in Batches::new(bytes) {
            let failed = |why: &str| writing.reader.failed_behind(bytes, view.position, why);
            let filtered = filter(&view, &self.plan, &self.map, &mut self.transactions)
                .map_err(|why| failed(&why.to_string()))?;
            self.stats.records += u64::from(view.header.count());
            self.stats.kept_records += u64::from(filtered.records);
            let added = match filtered.kept {
                Kept::Nothing => true,
                Kept::AsItWas => writing.output.add(&view.header, &view.bytes()),
                Kept::Other(batch) => {
                    let header = BatchHeader::parse(&batch).expect("a batch that was built is one");
                    writing.output.add(&header, &batch)
                }
            };
            if !added {
                return Err(failed("its segment would become larger than one can be"));
            }
            if let Some(entry) = filtered.aborted {
                writing.output.add_aborted(entry);
            }
        }
        Ok(())
    }
}

fn reader(plan: &CompactionPlan, place: usize) -> SegmentReader {
    let source = &plan.sources[place];
    let file = SegmentFile::Log.within(&plan.directory, source.base);
    SegmentReader::new(file, source.size, plan.rules.window)
}

/// How many of the first of these segments fit into one (`Cleaner.groupSegmentsBySize`).
fn group(sources: &[SourceSegment], plan: &CompactionPlan) -> usize {
    let rules = &plan.rules;
    let (mut size, mut index, mut times) = (0, 0, 0);
    let fits = |source: &&SourceSegment| {
        (size, index, times) = (size + source.size, index + source.index_len, times + source.time_index_len);
        let offsets = source.end.distance_from(sources[0].base) - 1;
        size <= u64::from(rules.segment_bytes)
            && index.max(times) <= u64::from(rules.indexes.max_bytes)
            && (source.size == 0 || offsets <= MOST_OFFSETS)
    };
    sources.iter().take_while(fits).count().max(1)
}
