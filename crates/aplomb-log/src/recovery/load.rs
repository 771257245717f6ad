//! Putting a log together from its files.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use aplomb_disk_api::{DiskError, FileName, StartupDisk};
use aplomb_model::batch::{BatchHeader, HEADER_SIZE};
use aplomb_model::{Offset, PartitionIndex, Timestamp, TopicId};

use super::found::{Found, FoundSegment};
use super::scan::{ScannedBatch, scan_segment};
use super::start::{Believe, resume_from};
use crate::config::LogConfig;
use crate::epochs::LeaderEpochs;
use crate::flush::FlushState;
use crate::index::{
    AbortedTransaction, BatchPosition, ResumeFrom, SegmentIndexes, aborted_len_below, parse_aborted,
};
use crate::log::{Log, LogParts, marker_of};
use crate::producers::{
    CompletedTransaction, ProducerState, parse_snapshot, snapshot_to_load, stray_snapshots,
};
use crate::segment::{LEADER_EPOCH_CHECKPOINT, SegmentFile};
use crate::segments::{ActiveSegment, Segment, Segments};
use crate::tail::{LogEnd, LogTail, TailShare};

/// What is known of a partition before its files are looked at.
#[derive(Clone, Debug)]
pub struct LoadRequest {
    /// The partition's directory.
    pub directory: String,
    /// The topic.
    pub topic: TopicId,
    /// The partition.
    pub partition: PartitionIndex,
    /// The settings.
    pub config: LogConfig,
    /// Whether the log directory was closed cleanly.
    pub clean: bool,
    /// From the checkpoint file; zero if it does not name the partition.
    pub recovery_point: Offset,
    /// From the checkpoint file; zero if it does not name the partition.
    pub log_start: Offset,
    /// Where the log's tail takes its memory.
    pub share: Arc<TailShare>,
    /// The time.
    pub now: Timestamp,
}

/// What was done to get a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadReport {
    /// Bytes of `.log` files that were read.
    pub bytes_read: u64,
    /// Things worth a line in the broker's log.
    pub remarks: Vec<String>,
}

/// A log that goes on.
#[derive(Debug)]
pub struct Loaded {
    /// The log; its tail is empty.
    pub log: Log,
    /// How it was got.
    pub report: LoadReport,
}

/// Why there is no log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The disk.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// A file that cannot be replaced by looking at others.
    #[error("{file} cannot be read: {reason}")]
    Unreadable {
        /// The file.
        file: FileName,
        /// Why.
        reason: String,
    },
}

/// Loads the log in one partition directory.
///
/// # Errors
/// [`LoadError`]: the log directory is not usable.
pub fn load(disk: &dyn StartupDisk, request: &LoadRequest) -> Result<Loaded, LoadError> {
    let mut report = LoadReport::default();
    let mut newest_snapshot = Offset::new(i64::MAX as u64);
    loop {
        let found = Found::look(disk, &request.directory)?;
        let mut loader = Loader::new(disk, request, found, &mut report)?;
        match loader.run(newest_snapshot)? {
            Outcome::Log(log) => return Ok(Loaded { log: *log, report }),
            // The files end before the producer snapshot that was begun with: begin again with one that they reach.
            Outcome::SnapshotAhead(end) => newest_snapshot = end,
        }
    }
}

enum Outcome {
    Log(Box<Log>),
    SnapshotAhead(Offset),
}

struct Loader<'a> {
    disk: &'a dyn StartupDisk,
    request: &'a LoadRequest,
    found: Found,
    report: &'a mut LoadReport,
    epochs: LeaderEpochs,
    epochs_changed: bool,
    closed: VecDeque<Segment>,
    touched_logs: Vec<Offset>,
    touched_indexes: Vec<(Offset, SegmentFile)>,
}

impl<'a> Loader<'a> {
    fn new(
        disk: &'a dyn StartupDisk,
        request: &'a LoadRequest,
        found: Found,
        report: &'a mut LoadReport,
    ) -> Result<Self, LoadError> {
        let mut epochs = LeaderEpochs::default();
        let mut epochs_changed = false;
        if found.has_epochs {
            let file = FileName::new(format!("{}/{LEADER_EPOCH_CHECKPOINT}", request.directory));
            let text = disk.read(&file, 0, 64 << 20)?;
            match LeaderEpochs::parse(&text) {
                Ok(parsed) => epochs = parsed,
                // Torn by a power cut of a broker that did not sync it: batches carry their epochs as well.
                Err(_) if text.is_empty() => epochs_changed = true,
                Err(error) => return Err(LoadError::Unreadable { file, reason: error.to_string() }),
            }
        }
        Ok(Self {
            disk,
            request,
            found,
            report,
            epochs,
            epochs_changed,
            closed: VecDeque::new(),
            touched_logs: Vec::new(),
            touched_indexes: Vec::new(),
        })
    }

    fn run(&mut self, newest_snapshot: Offset) -> Result<Outcome, LoadError> {
        let Some((&last_base, _)) = self.found.segments.last_key_value() else {
            return self.finish_empty(self.request.log_start);
        };
        let first_read = self.first_read(last_base);
        let bound = if self.request.clean {
            newest_snapshot
        } else {
            newest_snapshot.min(self.request.recovery_point)
        };
        let bases: Vec<Offset> = self.found.segments.keys().copied().collect();
        for pair in bases.windows(2).filter(|pair| pair[0] < first_read) {
            self.take_closed(pair[0], pair[1])?;
        }
        let believe =
            if self.request.clean { Believe::All } else { Believe::Below(self.request.recovery_point) };
        let resume = self.resume(first_read, believe)?;
        let resume_offset = resume.last_offset.map_or(first_read, |entry| entry.offset);
        let (mut producers, snapshot) = self.producers(bound, resume_offset)?;
        self.replay_before(&mut producers, first_read, &resume)?;

        let mut active = None;
        let mut resume = Some(resume);
        let mut cut = false;
        let mut end = last_base;
        for (n, &base) in bases.iter().enumerate().skip_while(|(_, base)| **base < first_read) {
            if cut {
                self.drop_segment(base)?;
                continue;
            }
            let next = bases.get(n + 1).copied();
            let found = self.found.segments[&base].clone();
            let from = resume.take().unwrap_or_default();
            let read = self.read_segment(base, next, &found, from, &mut producers)?;
            (cut, end) = (read.cut, read.end);
            match next {
                Some(_) if !cut => {
                    let closed = self.close(read.segment, &found)?;
                    self.closed.push_back(closed);
                }
                _ => active = Some(read.segment),
            }
        }
        let active = active.expect("the last segment that is not dropped is the active one");
        if let Some(at) = snapshot.filter(|at| *at > end) {
            self.disk.remove(&self.file(SegmentFile::Snapshot, at))?;
            self.closed.clear();
            return Ok(Outcome::SnapshotAhead(end));
        }
        if end < self.request.log_start {
            self.report.remarks.push(format!(
                "{} ends at {end}, before its log start {}: it begins anew there",
                self.request.directory, self.request.log_start
            ));
            for base in bases {
                self.drop_segment(base)?;
            }
            self.closed.clear();
            self.epochs_changed |= self.epochs.clear();
            return self.finish_empty(self.request.log_start);
        }
        producers.advance_to(end);
        self.finish(active, producers, end)
    }

    /// The first segment whose batches are read: the last one after a clean stop, the one with the recovery point otherwise.
    fn first_read(&self, last_base: Offset) -> Offset {
        if self.request.clean {
            return last_base;
        }
        let holding = self.found.segments.range(..=self.request.recovery_point).next_back();
        holding.map_or_else(|| *self.found.segments.keys().next().expect("there is one"), |(base, _)| *base)
    }

    fn take_closed(&mut self, base: Offset, next: Offset) -> Result<(), LoadError> {
        let mut found = self.found.segments[&base].clone();
        if found.log > 0 && (found.index.is_none() || found.time_index.is_none()) {
            self.report.remarks.push(format!("{}/{base} lacks an index: rebuilt", self.request.directory));
            self.rebuild_indexes(base, next, &mut found)?;
        }
        let aborted = self.aborted(base, &found)?;
        self.closed.push_back(Segment {
            base,
            size: found.log,
            index_len: found.index.unwrap_or(0),
            time_index_len: found.time_index.unwrap_or(0),
            greatest: None,
            modified: found.modified,
            aborted,
        });
        Ok(())
    }

    fn rebuild_indexes(
        &mut self,
        base: Offset,
        next: Offset,
        found: &mut FoundSegment,
    ) -> Result<(), LoadError> {
        let mut indexes = SegmentIndexes::new(base, self.request.config.indexes);
        let scanned =
            scan_segment(self.disk, &self.file(SegmentFile::Log, base), 0..found.log, false, |batch| {
                let header = &batch.view.header;
                let fits = header.last_offset() < next && indexes.offsets.fits(header.last_offset());
                if fits {
                    indexes.on_append(place(batch));
                }
                fits
            })?;
        self.report.bytes_read += scanned.bytes_read;
        indexes.on_close();
        found.index = Some(self.write_index(
            base,
            SegmentFile::OffsetIndex,
            found.index,
            indexes.offsets.take_unwritten(),
        )?);
        found.time_index = Some(self.write_index(
            base,
            SegmentFile::TimeIndex,
            found.time_index,
            indexes.times.take_unwritten(),
        )?);
        Ok(())
    }

    fn aborted(&self, base: Offset, found: &FoundSegment) -> Result<Vec<AbortedTransaction>, LoadError> {
        let Some(len) = found.txn_index.filter(|len| *len > 0) else { return Ok(Vec::new()) };
        let file = self.file(SegmentFile::TxnIndex, base);
        let bytes = self.disk.read(&file, 0, usize::try_from(len).unwrap_or(usize::MAX))?;
        // A torn end is what an unclean stop leaves; entries behind the resume point are made anew anyway.
        let whole = bytes.len() - bytes.len() % AbortedTransaction::ENTRY_LEN;
        parse_aborted(&bytes[..whole], base)
            .map_err(|error| LoadError::Unreadable { file, reason: error.to_string() })
    }

    fn resume(&self, base: Offset, believe: Believe) -> Result<ResumeFrom, LoadError> {
        let file = |kind| self.file(kind, base);
        Ok(resume_from(self.disk, &file, base, &self.found.segments[&base], believe)?)
    }

    /// The producers to begin with: those of the newest usable snapshot that is not above `bound`.
    fn producers(
        &mut self,
        bound: Offset,
        resume_offset: Offset,
    ) -> Result<(ProducerState, Option<Offset>), LoadError> {
        let mut candidates: BTreeSet<Offset> = self.found.snapshots.clone();
        while let Some(at) = snapshot_to_load(candidates.iter().copied(), self.request.log_start, bound) {
            let file = self.file(SegmentFile::Snapshot, at);
            let bytes = self.disk.read(&file, 0, 1 << 30)?;
            match parse_snapshot(&bytes) {
                Ok(entries) => {
                    let expiry = Duration::from_millis(self.request.config.producer_expiration_ms);
                    return Ok((ProducerState::restore(at, entries, self.request.now, expiry), Some(at)));
                }
                Err(error) => {
                    self.report.remarks.push(format!("{file}: {error}: removed"));
                    self.disk.remove(&file)?;
                    candidates.remove(&at);
                    self.found.snapshots.remove(&at);
                }
            }
        }
        // With snapshots above the bound only, producers are to be found again from the start of the log.
        let start = if self.found.snapshots.is_empty() {
            resume_offset
        } else {
            *self.found.segments.keys().next().expect("there is one")
        };
        Ok((ProducerState::starting_at(start), None))
    }

    /// Feeds the producers what lies between their snapshot and the point from which batches are read anyway.
    fn replay_before(
        &mut self,
        producers: &mut ProducerState,
        first_read: Offset,
        resume: &ResumeFrom,
    ) -> Result<(), LoadError> {
        let resume_offset = resume.last_offset.map_or(first_read, |entry| entry.offset);
        let position = resume.last_offset.map_or(0, |entry| entry.position.into());
        let from = producers.end();
        if from >= resume_offset {
            return Ok(());
        }
        let before: Vec<(Offset, u64)> = self
            .found
            .segments
            .range(..=first_read)
            .map(|(base, found)| (*base, if *base == first_read { position } else { found.log }))
            .collect();
        let first = before.partition_point(|(base, _)| *base <= from).saturating_sub(1);
        for (base, end) in before.into_iter().skip(first) {
            let start =
                self.resume(base, Believe::Below(from))?.last_offset.map_or(0, |entry| entry.position.into());
            if start >= end {
                continue;
            }
            let file = self.file(SegmentFile::Log, base);
            let scanned = scan_segment(self.disk, &file, start..end, false, |batch| {
                feed(producers, batch);
                true
            })?;
            self.report.bytes_read += scanned.bytes_read;
        }
        Ok(())
    }

    /// Reads a segment from the resume point on and cuts it at the first batch that is not whole.
    fn read_segment(
        &mut self,
        base: Offset,
        next: Option<Offset>,
        found: &FoundSegment,
        from: ResumeFrom,
        producers: &mut ProducerState,
    ) -> Result<ReadSegment, LoadError> {
        let position = from.last_offset.map_or(0, |entry| u64::from(entry.position));
        let mut indexes = SegmentIndexes::resume(base, self.request.config.indexes, from);
        let resume_offset = from.last_offset.map_or(base, |entry| entry.offset);
        let mut aborted = self.aborted(base, found)?;
        if !self.request.clean {
            aborted.truncate(
                (aborted_len_below(&aborted, resume_offset) / AbortedTransaction::ENTRY_LEN as u64) as usize,
            );
        }
        let aborted_kept = aborted.len();
        let mut expected = if position == 0 { base } else { Offset::ZERO };
        let (mut first_timestamp, mut epochs_changed) = (None, false);
        let log = self.file(SegmentFile::Log, base);
        let (epochs, clean) = (&mut self.epochs, self.request.clean);
        let scanned = scan_segment(self.disk, &log, position..found.log, !clean, |batch| {
            let header = &batch.view.header;
            let in_order = header.base_offset() >= expected
                && next.is_none_or(|next| header.last_offset() < next)
                && indexes.offsets.fits(header.last_offset());
            if !in_order {
                return false;
            }
            expected = header.last_offset().next();
            if batch.position == 0 {
                first_timestamp = Some(header.max_timestamp());
            }
            indexes.on_append(place(batch));
            if let Some(epoch) = header.leader_epoch()
                && epochs.latest().is_none_or(|latest| latest.epoch < epoch)
            {
                epochs_changed |= epochs.assign(epoch, header.base_offset());
            }
            if let Some(completed) = feed(producers, batch)
                && aborted.last().is_none_or(|last| last.last_offset < header.base_offset())
            {
                aborted.extend(completed.aborted());
            }
            true
        })?;
        self.report.bytes_read += scanned.bytes_read;
        self.epochs_changed |= epochs_changed;
        let cut = scanned.end < found.log;
        if scanned.end == position && position > 0 {
            // Nothing whole where the index pointed: it was not to be believed. Read all of the segment.
            return self.read_segment(base, next, found, ResumeFrom::default(), producers);
        }
        if cut {
            let why = scanned.stopped.map_or("offsets out of order".to_owned(), |stop| format!("{stop:?}"));
            let bytes = found.log - scanned.end;
            self.report
                .remarks
                .push(format!("{log} is cut at {}, {bytes} bytes earlier: {why}", scanned.end));
            self.disk.truncate(&log, scanned.end)?;
        }
        if !clean || cut {
            self.touched_logs.push(base);
        }
        self.trim(base, SegmentFile::OffsetIndex, found.index, from.offset_len)?;
        self.trim(base, SegmentFile::TimeIndex, found.time_index, from.time_len)?;
        let kept = (aborted_kept * AbortedTransaction::ENTRY_LEN) as u64;
        self.trim(base, SegmentFile::TxnIndex, found.txn_index, kept)?;
        if first_timestamp.is_none() && scanned.end > 0 {
            let head = self.disk.read(&log, 0, HEADER_SIZE)?;
            first_timestamp = BatchHeader::parse(&head).ok().map(|header| header.max_timestamp());
        }
        let segment = ActiveSegment {
            base,
            size: scanned.end,
            indexes,
            first_timestamp,
            created: found.modified,
            aborted,
            aborted_written: aborted_kept,
        };
        Ok(ReadSegment { segment, cut, end: expected.max(base) })
    }

    /// Turns a segment that was read again into a closed one, and writes what its indexes gained.
    fn close(&mut self, mut segment: ActiveSegment, found: &FoundSegment) -> Result<Segment, LoadError> {
        let base = segment.base;
        segment.indexes.on_close();
        let aborted: Vec<u8> =
            segment.aborted[segment.aborted_written..].iter().flat_map(AbortedTransaction::encode).collect();
        let aborted_at = (segment.aborted_written * AbortedTransaction::ENTRY_LEN) as u64;
        let aborted = (!aborted.is_empty()).then(|| (aborted_at, bytes::Bytes::from(aborted)));
        for (kind, unwritten) in [
            (SegmentFile::OffsetIndex, segment.indexes.offsets.take_unwritten()),
            (SegmentFile::TimeIndex, segment.indexes.times.take_unwritten()),
            (SegmentFile::TxnIndex, aborted),
        ] {
            if unwritten.is_some() {
                self.write_index(base, kind, None, unwritten)?;
            }
        }
        Ok(Segment {
            base,
            size: segment.size,
            index_len: segment.indexes.offsets.file_len(),
            time_index_len: segment.indexes.times.file_len(),
            greatest: segment.indexes.greatest_timestamp().map(|entry| entry.timestamp),
            modified: found.modified,
            aborted: segment.aborted,
        })
    }

    /// Cuts an index file to the entries that are kept.
    fn trim(
        &mut self,
        base: Offset,
        kind: SegmentFile,
        found: Option<u64>,
        keep: u64,
    ) -> Result<(), LoadError> {
        if found.is_some_and(|len| len > keep) {
            self.disk.truncate(&self.file(kind, base), keep)?;
            self.touched_indexes.push((base, kind));
        }
        Ok(())
    }

    fn write_index(
        &mut self,
        base: Offset,
        kind: SegmentFile,
        found: Option<u64>,
        unwritten: Option<(u64, bytes::Bytes)>,
    ) -> Result<u64, LoadError> {
        let (at, bytes) = unwritten.unwrap_or_default();
        let file = self.file(kind, base);
        self.disk.write(&file, at, &bytes)?;
        let len = at + bytes.len() as u64;
        if found.is_some_and(|found| found > len) {
            self.disk.truncate(&file, len)?;
        }
        self.touched_indexes.push((base, kind));
        Ok(len)
    }

    fn drop_segment(&mut self, base: Offset) -> Result<(), LoadError> {
        for kind in
            [SegmentFile::Log, SegmentFile::OffsetIndex, SegmentFile::TimeIndex, SegmentFile::TxnIndex]
        {
            self.disk.remove(&self.file(kind, base))?;
        }
        Ok(())
    }

    fn finish_empty(&mut self, start: Offset) -> Result<Outcome, LoadError> {
        for at in std::mem::take(&mut self.found.snapshots) {
            self.disk.remove(&self.file(SegmentFile::Snapshot, at))?;
        }
        let indexes = SegmentIndexes::new(start, self.request.config.indexes);
        let active = ActiveSegment::empty(start, indexes, self.request.now);
        self.finish(active, ProducerState::starting_at(start), start)
    }

    fn finish(
        &mut self,
        active: ActiveSegment,
        producers: ProducerState,
        end: Offset,
    ) -> Result<Outcome, LoadError> {
        let closed = std::mem::take(&mut self.closed);
        let bases: BTreeSet<Offset> = closed.iter().map(|s| s.base).chain([active.base]).collect();
        let snapshots = std::mem::take(&mut self.found.snapshots);
        let (here, ahead): (BTreeSet<Offset>, BTreeSet<Offset>) =
            snapshots.into_iter().partition(|at| *at <= end);
        // Only a clean stop makes the newest one enough; otherwise the recovery point may still need an older one.
        let strays = if self.request.clean { stray_snapshots(&here, &bases) } else { Vec::new() };
        for at in ahead.iter().chain(&strays) {
            self.disk.remove(&self.file(SegmentFile::Snapshot, *at))?;
        }
        let loose = here.iter().filter(|at| !bases.contains(at) && !strays.contains(at)).copied().collect();
        let first = closed.front().map_or(active.base, |segment| segment.base);
        let start = self.request.log_start.max(first);
        self.epochs_changed |= self.epochs.truncate_from_end(end);
        self.epochs_changed |= self.epochs.truncate_from_start(start);
        let flush = FlushState::of_loaded(
            std::mem::take(&mut self.touched_logs),
            std::mem::take(&mut self.touched_indexes),
            loose,
            !here.is_empty(),
            self.epochs_changed,
        );
        let log_end = LogEnd { segment_base: active.base, at: active.size, offset: end };
        let tail =
            LogTail::new(self.request.share.clone(), self.request.topic, self.request.partition, log_end);
        let recovery_point = if self.request.clean { end } else { self.request.recovery_point.min(end) };
        let log = Log::new(LogParts {
            config: self.request.config.clone(),
            segments: Segments::new(&self.request.directory, closed, active),
            tail,
            producers,
            epochs: std::mem::take(&mut self.epochs),
            start,
            recovery_point,
            flush,
        });
        Ok(Outcome::Log(Box::new(log)))
    }

    fn file(&self, kind: SegmentFile, base: Offset) -> FileName {
        FileName::new(format!("{}/{}", self.request.directory, kind.name(base)))
    }
}

struct ReadSegment {
    segment: ActiveSegment,
    cut: bool,
    /// The offset behind its last batch.
    end: Offset,
}

fn place(batch: &ScannedBatch<'_>) -> BatchPosition {
    let header = &batch.view.header;
    BatchPosition {
        last_offset: header.last_offset(),
        max_timestamp: header.max_timestamp(),
        position: u32::try_from(batch.position).unwrap_or(u32::MAX),
        size: u32::try_from(header.size()).unwrap_or(u32::MAX),
    }
}

fn feed(producers: &mut ProducerState, batch: &ScannedBatch<'_>) -> Option<CompletedTransaction> {
    let header = &batch.view.header;
    if header.last_offset() < producers.end() {
        return None;
    }
    let marker = if header.is_control() { marker_of(header, &batch.view.record_bytes()) } else { None };
    producers.replay(header, marker)
}
