//! The write lane's thread: everything that is queued, in as few and as large operations as its order allows.
//!
//! Between two barriers (a truncation, a publication) all writes come first, joined by file, then all syncs as one group commit. That
//! reorders a write only before syncs of other writes, which may cover more than they have to, never less.

use std::collections::BTreeMap;
use std::sync::Arc;

use aplomb_disk_api::{DiskCommand, DiskError, Done, FileName, Lane, SmallFile};
use bytes::Bytes;

use crate::errors::{disk_error, is_absent, uninterrupted};
use crate::files::Files;
use crate::io::{Backend, FileRun, RunEnd, Write};
use crate::lanes::{Job, Lanes};
use crate::publish::{publish, sync_failed, sync_names};
use crate::readers::Windows;

/// The thread's belongings.
pub(crate) struct Writer {
    pub(crate) lanes: Arc<Lanes>,
    pub(crate) files: Arc<Files>,
    pub(crate) windows: Arc<Windows>,
    pub(crate) backend: Box<dyn Backend<Job>>,
    pub(crate) syncfs_above: usize,
}

/// Commands that are carried out together.
enum Step {
    Writes(Vec<Job>),
    Syncs(Vec<Job>),
    Publications(Vec<Job>),
    Truncation(Job),
}

impl Write for Job {
    fn at(&self) -> u64 {
        self.write().1
    }

    fn data(&self) -> &[Bytes] {
        self.write().2
    }
}

impl Job {
    fn write(&self) -> (&FileName, u64, &[Bytes]) {
        match &self.command {
            DiskCommand::Write { file, at, data } => (file, *at, data),
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
                        carry_out_publications(
                            &self.lanes,
                            &self.files,
                            &self.windows,
                            jobs,
                            self.syncfs_above,
                        );
                    }
                    Step::Truncation(job) => self.truncate(job),
                }
            }
        }
    }

    fn write(&mut self, jobs: Vec<Job>) {
        let mut by_file: BTreeMap<FileName, Vec<Job>> = BTreeMap::new();
        for job in jobs {
            by_file.entry(job.write().0.clone()).or_default().push(job);
        }
        let mut runs = Vec::with_capacity(by_file.len());
        for (name, writes) in by_file {
            if self.lanes.lost().is_some() {
                writes.into_iter().for_each(|job| self.lanes.complete_offline(job));
                continue;
            }
            match self.files.existing_or_new(&name) {
                Ok(file) => runs.push(FileRun { file, writes }),
                Err(error) => self.fail(writes, &disk_error("open", name.as_str(), &error)),
            }
        }
        if self.lanes.lost().is_some() {
            runs.into_iter().flat_map(|run| run.writes).for_each(|job| self.lanes.complete_offline(job));
            return;
        }
        let (lanes, windows) = (&self.lanes, &self.windows);
        self.backend.write(runs, &mut |run, end| {
            let name = run.file.name();
            let changed = run.writes.iter().map(|job| {
                let (_, at, data) = job.write();
                at..at + data.iter().map(|part| part.len() as u64).sum::<u64>()
            });
            windows.changed(name, changed);
            match end {
                RunEnd::Done => run.writes.into_iter().for_each(|job| lanes.complete(job, Ok(Done::Done))),
                RunEnd::Skipped => run.writes.into_iter().for_each(|job| lanes.complete_offline(job)),
                RunEnd::Failed(error) => {
                    let error = disk_error("write", name.as_str(), &error);
                    run.writes.into_iter().for_each(|job| lanes.complete(job, Err(error.clone())));
                }
            }
        });
    }

    /// One group commit. It covers everything that was written before, whoever asked.
    fn sync(&mut self, jobs: Vec<Job>) {
        if self.lanes.lost().is_some() {
            return jobs.into_iter().for_each(|job| self.lanes.complete_offline(job));
        }
        match self.sync_files(&jobs) {
            Ok(()) => jobs.into_iter().for_each(|job| self.lanes.complete(job, Ok(Done::Done))),
            Err(error) => self.fail(jobs, &error),
        }
    }

    fn sync_files(&mut self, jobs: &[Job]) -> Result<(), DiskError> {
        let mut names: Vec<&FileName> = jobs
            .iter()
            .flat_map(|job| match &job.command {
                DiskCommand::Sync { files } => files.iter(),
                other => panic!("only syncs are grouped, not {other:?}"),
            })
            .collect();
        names.sort_unstable();
        names.dedup();
        let stats = self.lanes.stats();
        if names.len() > self.syncfs_above {
            let unsettled = self.files.unsettled(names.iter().copied());
            stats.on_sync();
            self.files.sync_file_system().map_err(|error| sync_failed(&self.files, &error))?;
            unsettled.iter().for_each(|(directory, mark)| self.files.settle(directory, *mark));
            return Ok(());
        }
        let mut open = Vec::with_capacity(names.len());
        for name in names {
            match self.files.existing(name) {
                Ok(file) => open.push(file),
                Err(error) if is_absent(&error) => {}
                Err(error) => return Err(disk_error("open", name.as_str(), &error)),
            }
        }
        open.iter().for_each(|_| stats.on_sync());
        self.backend
            .sync(&open)
            .map_err(|failed| disk_error("sync", failed.file.name().as_str(), &failed.error))?;
        sync_names(&self.files, open.iter().map(|file| file.name()), self.syncfs_above, stats)
    }

    fn truncate(&mut self, job: Job) {
        if self.lanes.lost().is_some() {
            return self.lanes.complete_offline(job);
        }
        let DiskCommand::Truncate { file: name, len } = &job.command else {
            panic!("only truncations cut, not {:?}", job.command)
        };
        let cut =
            self.files.existing(name).and_then(|file| uninterrupted(|| rustix::fs::ftruncate(&*file, *len)));
        self.windows.changed(name, std::iter::once(*len..u64::MAX));
        let result = cut.map(|()| Done::Done).map_err(|error| disk_error("truncate", name.as_str(), &error));
        self.lanes.complete(job, result);
    }

    fn fail(&self, jobs: Vec<Job>, error: &DiskError) {
        jobs.into_iter().for_each(|job| self.lanes.complete(job, Err(error.clone())));
    }
}

/// Puts a batch into an order that needs few operations.
fn plan(batch: Vec<Job>) -> Vec<Step> {
    let mut steps = Vec::new();
    let (mut writes, mut syncs) = (Vec::new(), Vec::new());
    for job in batch {
        match &job.command {
            DiskCommand::Write { .. } => writes.push(job),
            DiskCommand::Sync { .. } => syncs.push(job),
            DiskCommand::Publish { .. } => {
                flush(&mut steps, &mut writes, &mut syncs);
                match steps.last_mut() {
                    Some(Step::Publications(jobs)) => jobs.push(job),
                    _ => steps.push(Step::Publications(vec![job])),
                }
            }
            DiskCommand::Truncate { .. } => {
                flush(&mut steps, &mut writes, &mut syncs);
                steps.push(Step::Truncation(job));
            }
            other => panic!("{other:?} does not stand in the write lane"),
        }
    }
    flush(&mut steps, &mut writes, &mut syncs);
    steps
}

fn flush(steps: &mut Vec<Step>, writes: &mut Vec<Job>, syncs: &mut Vec<Job>) {
    if !writes.is_empty() {
        steps.push(Step::Writes(std::mem::take(writes)));
    }
    if !syncs.is_empty() {
        steps.push(Step::Syncs(std::mem::take(syncs)));
    }
}

/// Publishes the files of several commands together. Also the housekeeping lane's way.
pub(crate) fn carry_out_publications(
    lanes: &Lanes,
    files: &Files,
    windows: &Windows,
    jobs: Vec<Job>,
    syncfs_above: usize,
) {
    if lanes.lost().is_some() {
        return jobs.into_iter().for_each(|job| lanes.complete_offline(job));
    }
    let wanted: Vec<&SmallFile> = jobs
        .iter()
        .flat_map(|job| match &job.command {
            DiskCommand::Publish { files, .. } => files.iter(),
            other => panic!("only publications are published, not {other:?}"),
        })
        .collect();
    let result = publish(files, &wanted, syncfs_above, lanes.stats());
    wanted.iter().for_each(|file| windows.forget(file.name.as_str()));
    jobs.into_iter().for_each(|job| lanes.complete(job, result.clone().map(|()| Done::Done)));
}
