//! Putting a log together from its files.

use std::collections::BTreeSet;

use aplomb_disk_api::PatientDisk;
use aplomb_model::Offset;

use super::found::FoundFiles;
use super::loader::{LoadError, LoadReport, LoadRequest, Loader};
use super::scan::scan_segment;
use super::start::Believe;
use crate::index::SegmentIndexes;
use crate::layout::SegmentFile;
use crate::log::{Log, LogParts, Owed, RecoveryDebt};
use crate::producers::ProducerState;
use crate::segments::{ActiveSegment, Segments};
use crate::tail::{LogEnd, LogTail};

/// A log that was loaded from its files.
#[derive(Debug)]
pub struct LoadedLog {
    /// The log; its tail is empty.
    pub log: Log,
    /// What was done to get it.
    pub report: LoadReport,
}

/// Loads the log in one partition directory.
///
/// # Errors
/// [`LoadError`]: the log directory is not usable.
pub fn load(disk: &dyn PatientDisk, request: &LoadRequest) -> Result<LoadedLog, LoadError> {
    let mut report = LoadReport::default();
    let mut newest_snapshot = Offset::new(i64::MAX as u64);
    loop {
        let found = FoundFiles::look(disk, &request.directory)?;
        let mut loader = Loader::new(disk, request, found, &mut report)?;
        match loader.run(newest_snapshot)? {
            LoadOutcome::Log(log) => return Ok(LoadedLog { log: *log, report }),
            // The files end before the producer snapshot that was begun with: begin again with one
            // that they reach.
            LoadOutcome::SnapshotAhead(end) => newest_snapshot = end,
        }
    }
}

enum LoadOutcome {
    Log(Box<Log>),
    SnapshotAhead(Offset),
}

impl Loader<'_> {
    fn run(&mut self, newest_snapshot: Offset) -> Result<LoadOutcome, LoadError> {
        let Some((&last_base, _)) = self.found.segments.last_key_value() else {
            return self.finish_empty(self.request.log_start);
        };
        let first_read = self.first_read(last_base);
        let bound = if self.request.clean {
            newest_snapshot
        } else {
            // Segments behind the recovery point can have been deleted, if a checkpoint covered
            // them that the file has not heard of. Its snapshot, or one where the first segment
            // begins, knows the producers of what cannot be read again.
            let first = *self.found.segments.keys().next().expect("there is one");
            let known = match self.request.recovery_point {
                point if first <= point => point,
                _ => self.found.snapshots.range(first..).next().copied().unwrap_or(first),
            };
            newest_snapshot.min(known)
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
            let known = end.max(self.request.log_start); // what lies before is deleted anyway
            if let Some(next) = next.filter(|next| !cut && known < *next)
                && self.may_not_have_gap_before(next)?
            {
                // The power was cut after the next segment was written, and before the end of this
                // one was synced.
                self.report.remarks.push(format!(
                    "{}: records from {end} to {next} are missing, and what is behind them goes",
                    self.request.directory
                ));
                cut = true;
            }
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
            return Ok(LoadOutcome::SnapshotAhead(end));
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
        let found = &self.found.segments[&active.base];
        let made = (found.index.is_some() && found.time_index.is_some()).then_some(active.base);
        self.finish(active, made, producers, end)
    }

    /// The first segment whose batches are read: the last one after a clean stop, the one with the
    /// recovery point otherwise. One that ends there counts: it may have been closed after that
    /// checkpoint, and its indexes then lack their last entries.
    fn first_read(&self, last_base: Offset) -> Offset {
        if self.request.clean {
            return last_base;
        }
        let holding = self.found.segments.range(..self.request.recovery_point).next_back();
        holding.map_or_else(|| *self.found.segments.keys().next().expect("there is one"), |(base, _)| *base)
    }

    /// Whether a gap before the segment at `base` is damage: compaction leaves gaps, also where it
    /// was turned off since, and so may have what was there before a clean stop. But it leaves the
    /// last batch of a log where that is: none before last segments without a whole batch. What
    /// Apache Kafka has cleaned may lie above its recovery point, so that is no sign either: in a
    /// compacted log, records stay that a power cut has left behind others which it took.
    fn may_not_have_gap_before(&self, base: Offset) -> Result<bool, LoadError> {
        if self.request.clean || base <= self.request.recovery_point {
            return Ok(false);
        }
        Ok(!self.request.config.compacts || self.is_empty_from(base)?)
    }

    /// Whether no segment from `base` on keeps a batch: the first that has any bytes begins with
    /// what is torn, and so goes with all that is behind it.
    fn is_empty_from(&self, base: Offset) -> Result<bool, LoadError> {
        let mut others = self.found.segments.range(base..);
        let Some((&base, found)) = others.find(|(_, found)| found.log > 0) else { return Ok(true) };
        let (mut is_empty, file) = (true, self.file(SegmentFile::Log, base));
        scan_segment(self.disk, &file, 0..found.log, true, |_| {
            is_empty = false;
            false
        })?;
        Ok(is_empty)
    }

    fn finish_empty(&mut self, start: Offset) -> Result<LoadOutcome, LoadError> {
        for at in std::mem::take(&mut self.found.snapshots) {
            self.disk.remove(&self.file(SegmentFile::Snapshot, at))?;
        }
        let indexes = SegmentIndexes::new(start, self.request.config.indexes);
        let active = ActiveSegment::empty(start, indexes, self.request.now);
        self.finish(active, None, ProducerState::starting_at(start), start)
    }

    fn finish(
        &mut self,
        active: ActiveSegment,
        made: Option<Offset>,
        producers: ProducerState,
        end: Offset,
    ) -> Result<LoadOutcome, LoadError> {
        let closed = std::mem::take(&mut self.closed);
        let bases: BTreeSet<Offset> = closed.iter().map(|s| s.base).chain([active.base]).collect();
        let snapshots = std::mem::take(&mut self.found.snapshots);
        let (here, ahead): (BTreeSet<Offset>, BTreeSet<Offset>) =
            snapshots.into_iter().partition(|at| *at <= end);
        for at in &ahead {
            self.disk.remove(&self.file(SegmentFile::Snapshot, *at))?;
        }
        // Snapshots that are not needed any more are deleted with the next checkpoint: the broker's
        // start does not wait for that.
        let loose = here.iter().filter(|at| !bases.contains(at)).copied().collect();
        let loose = (!here.is_empty()).then_some(loose);
        self.closed = closed;
        Ok(LoadOutcome::Log(Box::new(self.assemble(active, made, loose, producers, end))))
    }

    /// The log, of what was gathered. `made`: the active segment, if all of its files are there;
    /// `loose`: producer snapshots at no segment's base, `None` if there is no snapshot at all.
    pub(super) fn assemble(
        &mut self,
        active: ActiveSegment,
        made: Option<Offset>,
        loose: Option<Vec<Offset>>,
        producers: ProducerState,
        end: Offset,
    ) -> Log {
        let closed = std::mem::take(&mut self.closed);
        let first = closed.front().map_or(active.base, |segment| segment.base);
        let start = self.request.log_start.max(first);
        self.epochs_changed |= self.epochs.latest().is_some_and(|latest| latest.start > end);
        let epochs_differ_at_end = self.epochs.truncate_from_end(end);
        self.epochs_changed |= self.epochs.truncate_from_start(start);
        let owed = Owed::by_loaded_partition(RecoveryDebt {
            made,
            unsynced_logs: std::mem::take(&mut self.touched_logs),
            unsynced_indexes: std::mem::take(&mut self.touched_indexes),
            has_snapshots: loose.is_some(),
            loose_snapshots: loose.unwrap_or_default(),
            epochs_changed: self.epochs_changed,
            epochs_differ_at_end,
        });
        let log_end = LogEnd { segment_base: active.base, at: active.size, offset: end };
        let tail =
            LogTail::new(self.request.share.clone(), self.request.topic, self.request.partition, log_end);
        let recovery_point = if self.request.clean { end } else { self.request.recovery_point.min(end) };
        Log::new(LogParts {
            config: self.request.config.clone(),
            segments: Segments::new(&self.request.directory, closed, active),
            tail,
            producers,
            epochs: std::mem::take(&mut self.epochs),
            start,
            high_watermark: self.request.high_watermark,
            recovery_point,
            cleaned: self.request.cleaned,
            owed,
        })
    }
}
