//! The write lane's thread: everything that is queued, in as few and as large operations as its
//! order allows.
//!
//! Between two barriers (a truncation, a publication) all writes come first, joined by file, then
//! all syncs as one group commit. That reorders a write only before syncs of other writes, which
//! may cover more than they have to, never less.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Arc;

use aplomb_disk_api::{DiskCommand, DiskError, Done, FileName, Lane, SmallFile};
use bytes::Bytes;

use crate::errors::is_shortage;
use crate::files::Files;
use crate::io::{Backend, FileRun, RunEnd, Write};
use crate::lane::{Accepted, Work};
use crate::lanes::Lanes;
use crate::publish::Publisher;
use crate::shortage::Endurance;
use crate::sync::sync_files;

/// Files that are open at once for the writes of one gathering.
const AT_ONCE: usize = 64;

/// The thread's belongings.
pub(crate) struct Writer {
    pub(crate) lanes: Arc<Lanes>,
    pub(crate) files: Files,
    pub(crate) backend: Box<dyn Backend<Accepted>>,
}

/// Commands that are carried out together.
enum Step {
    Writes(Vec<Accepted>),
    Syncs(Vec<Accepted>),
    Publications(Vec<Accepted>),
    Truncation(Accepted),
}

/// A file's writes in the order of their submission.
type FileWrites = (FileName, Vec<Accepted>);

/// What became of opening a file for its writes.
enum Opened {
    For(FileRun<Accepted>),
    /// There is none to write to: the writes have been completed.
    Ended,
    /// A descriptor, or memory, is missing.
    NotNow(Vec<Accepted>),
}

impl Write for Accepted {
    fn at(&self) -> u64 {
        self.write().1
    }

    fn data(&self) -> &[Bytes] {
        self.write().2
    }
}

impl Accepted {
    fn write(&self) -> (&FileName, u64, &[Bytes]) {
        match &self.work {
            Work::Command(DiskCommand::Write { file, at, data }) => (file, *at, data),
            other => panic!("only writes are joined, not {other:?}"),
        }
    }
}

impl Writer {
    /// Works until the lane is closed and empty.
    pub(crate) fn run(mut self) {
        while let Some(batch) = self.lanes.take_all(Lane::Write) {
            for step in plan(batch) {
                match step {
                    Step::Writes(jobs) => self.write(jobs),
                    Step::Syncs(jobs) => self.sync(jobs),
                    Step::Publications(jobs) => {
                        let publisher = Publisher {
                            files: &self.files,
                            syncs: &mut *self.backend,
                            makes_directories: true,
                        };
                        carry_out_publications(&self.lanes, publisher, jobs);
                    }
                    Step::Truncation(job) => self.truncate(job),
                }
            }
        }
    }

    /// Carries writes out, [`AT_ONCE`] files at a time. A shortage is waited out: the files that
    /// are open then are done first, so that no wait is for a descriptor that this thread holds.
    fn write(&mut self, jobs: Vec<Accepted>) {
        let mut by_file: BTreeMap<FileName, Vec<Accepted>> = BTreeMap::new();
        for job in jobs {
            by_file.entry(job.write().0.clone()).or_default().push(job);
        }
        let mut waiting: VecDeque<FileWrites> = by_file.into_iter().collect();
        let mut runs = Vec::new();
        let mut attempt = 0;
        while !(waiting.is_empty() && runs.is_empty()) {
            if self.is_over() || (attempt > 0 && !self.files.waits(attempt - 1)) {
                let rest = waiting.into_iter().flat_map(|(_, writes)| writes);
                let rest = runs.into_iter().flat_map(|run: FileRun<Accepted>| run.writes).chain(rest);
                return rest.for_each(|job| self.lanes.complete_offline(job));
            }
            self.open_some(&mut waiting, &mut runs);
            let is_open = !runs.is_empty();
            runs = self.carry_out(runs);
            let is_short = !runs.is_empty() || !(is_open || waiting.is_empty());
            if is_short && attempt == 0 {
                self.files.stats().on_shortage();
            }
            attempt = if is_short { attempt + 1 } else { 0 };
        }
    }

    /// Opens files until as many are open as may be, or a descriptor is missing.
    fn open_some(&self, waiting: &mut VecDeque<FileWrites>, runs: &mut Vec<FileRun<Accepted>>) {
        let files = self.files.with(Endurance::None);
        while runs.len() < AT_ONCE {
            let Some((name, writes)) = waiting.pop_front() else { return };
            match self.open(&files, &name, writes) {
                Opened::For(run) => runs.push(run),
                Opened::Ended => {}
                Opened::NotNow(writes) => return waiting.push_front((name, writes)),
            }
        }
    }

    /// Opens a file for its writes. Only one at the beginning makes a file; others that find none
    /// are refused.
    fn open(&self, files: &Files, name: &FileName, mut writes: Vec<Accepted>) -> Opened {
        let mut opened = files.to_change(name);
        if opened.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            let makes = writes.iter().position(|job| job.write().1 == 0).unwrap_or(writes.len());
            let kept = writes.split_off(makes);
            self.refuse(name, writes);
            if kept.is_empty() {
                return Opened::Ended;
            }
            writes = kept;
            opened = files.to_change_or_make(name);
        }
        match opened {
            Ok(file) => return Opened::For(FileRun { file, writes }),
            Err(error) if is_shortage(&error) => return Opened::NotNow(writes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.refuse(name, writes),
            Err(error) => self.fail(writes, &self.files.error("open", name.as_str(), &error)),
        }
        Opened::Ended
    }

    /// Ends writes for which there is no file. A later sync must not pass over them.
    fn refuse(&self, name: &FileName, writes: Vec<Accepted>) {
        if !writes.is_empty() {
            self.files.refuse(name);
            let error = io::ErrorKind::NotFound.into();
            self.fail(writes, &self.files.error("write", name.as_str(), &error));
        }
    }

    /// Carries writes out and gives back those that were not: memory was short, or another failed.
    fn carry_out(&mut self, runs: Vec<FileRun<Accepted>>) -> Vec<FileRun<Accepted>> {
        let (lanes, files) = (&self.lanes, &self.files);
        let mut again = Vec::new();
        self.backend.write(runs, &mut |run, end| {
            let name = run.file.name();
            match end {
                RunEnd::Done => run.writes.into_iter().for_each(|job| lanes.complete(job, Ok(Done::Nothing))),
                RunEnd::Skipped => again.push(run),
                RunEnd::Failed(error) if is_shortage(&error) => again.push(run),
                RunEnd::Failed(error) => {
                    let error = files.error("write", name.as_str(), &error);
                    run.writes.into_iter().for_each(|job| lanes.complete(job, Err(error.clone())));
                }
            }
        });
        again
    }

    /// One group commit. It covers everything that was written before, by any owner.
    fn sync(&mut self, jobs: Vec<Accepted>) {
        if self.is_over() {
            return jobs.into_iter().for_each(|job| self.lanes.complete_offline(job));
        }
        let names = jobs.iter().flat_map(|job| match &job.work {
            Work::Command(DiskCommand::Sync { files }) => files.iter(),
            other => panic!("only syncs are grouped, not {other:?}"),
        });
        match sync_files(&self.files, &mut *self.backend, names.collect()) {
            Ok(()) => jobs.into_iter().for_each(|job| self.lanes.complete(job, Ok(Done::Nothing))),
            Err(error) => self.fail(jobs, &error),
        }
    }

    fn truncate(&mut self, job: Accepted) {
        if self.is_over() {
            return self.lanes.complete_offline(job);
        }
        let Work::Command(DiskCommand::Truncate { file: name, len }) = &job.work else {
            panic!("only truncations cut, not {:?}", job.work)
        };
        let cut = self
            .files
            .to_change(name)
            .and_then(|file| self.files.call(|| rustix::fs::ftruncate(&*file, *len)))
            .map_err(|error| self.files.error("truncate", name.as_str(), &error));
        self.lanes.complete(job, cut.map(|()| Done::Nothing));
    }

    /// Whether everything ends `Offline` from here on: what comes next must not be done without
    /// what was given up before it.
    fn is_over(&self) -> bool {
        self.lanes.lost().is_some() || self.files.gave_up()
    }

    fn fail(&self, jobs: Vec<Accepted>, error: &DiskError) {
        jobs.into_iter().for_each(|job| self.lanes.complete(job, Err(error.clone())));
    }
}

/// Puts a batch into an order that needs few operations.
fn plan(batch: Vec<Accepted>) -> Vec<Step> {
    let mut steps = Vec::new();
    let (mut writes, mut syncs) = (Vec::new(), Vec::new());
    for job in batch {
        match &job.work {
            Work::Command(DiskCommand::Write { .. }) => writes.push(job),
            Work::Command(DiskCommand::Sync { .. }) => syncs.push(job),
            Work::Command(DiskCommand::Publish { .. }) => {
                flush(&mut steps, &mut writes, &mut syncs);
                match steps.last_mut() {
                    Some(Step::Publications(jobs)) => jobs.push(job),
                    _ => steps.push(Step::Publications(vec![job])),
                }
            }
            Work::Command(DiskCommand::Truncate { .. }) => {
                flush(&mut steps, &mut writes, &mut syncs);
                steps.push(Step::Truncation(job));
            }
            other => panic!("{other:?} does not stand in the write lane"),
        }
    }
    flush(&mut steps, &mut writes, &mut syncs);
    steps
}

fn flush(steps: &mut Vec<Step>, writes: &mut Vec<Accepted>, syncs: &mut Vec<Accepted>) {
    if !writes.is_empty() {
        steps.push(Step::Writes(std::mem::take(writes)));
    }
    if !syncs.is_empty() {
        steps.push(Step::Syncs(std::mem::take(syncs)));
    }
}

/// Publishes the files of several commands together, or, to find out whose directory is not there,
/// each by itself. Also the housekeeping lane's way.
pub(crate) fn carry_out_publications(lanes: &Lanes, mut publisher: Publisher<'_>, jobs: Vec<Accepted>) {
    if lanes.lost().is_some() || publisher.files.gave_up() {
        return jobs.into_iter().for_each(|job| lanes.complete_offline(job));
    }
    let result = publish(&mut publisher, &jobs);
    let concerns_one = jobs.len() > 1 && result.as_ref().is_err_and(|error| !error.is_loss());
    for job in jobs {
        let own =
            if concerns_one { publish(&mut publisher, std::slice::from_ref(&job)) } else { result.clone() };
        lanes.complete(job, own.map(|()| Done::Nothing));
    }
}

fn publish(publisher: &mut Publisher<'_>, jobs: &[Accepted]) -> Result<(), DiskError> {
    let wanted: Vec<&SmallFile> = jobs
        .iter()
        .flat_map(|job| match &job.work {
            Work::Command(DiskCommand::Publish { files, .. }) => files.iter(),
            other => panic!("only publications are published, not {other:?}"),
        })
        .collect();
    publisher.publish(&wanted)
}

#[cfg(test)]
mod tests;
