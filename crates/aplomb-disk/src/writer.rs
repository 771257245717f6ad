//! The write lane's thread: everything that is queued, in as few and as large operations as its
//! order allows.
//!
//! Between two barriers (a truncation, a publication) all writes come first, joined by file, then
//! all syncs as one group commit. That reorders a write only before syncs of other writes, which
//! may cover more than they have to, never less.

use std::collections::BTreeMap;
use std::sync::Arc;

use aplomb_disk_api::{DiskCommand, DiskError, Done, FileName, Lane, SmallFile};
use bytes::Bytes;

use crate::errors::{disk_error, is_absent, uninterrupted};
use crate::files::Files;
use crate::io::{Backend, FileRun, RunEnd, Write};
use crate::lane::{Accepted, Work};
use crate::lanes::Lanes;
use crate::publish::{Publisher, sync_failed, sync_names};
use crate::readers::Windows;

/// The thread's belongings.
pub(crate) struct Writer {
    pub(crate) lanes: Arc<Lanes>,
    pub(crate) files: Arc<Files>,
    pub(crate) windows: Arc<Windows>,
    pub(crate) backend: Box<dyn Backend<Accepted>>,
    pub(crate) syncfs_above: usize,
}

/// Commands that are carried out together.
enum Step {
    Writes(Vec<Accepted>),
    Syncs(Vec<Accepted>),
    Publications(Vec<Accepted>),
    Truncation(Accepted),
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
                            syncfs_above: self.syncfs_above,
                            stats: self.lanes.stats(),
                        };
                        carry_out_publications(&self.lanes, &self.windows, publisher, jobs);
                    }

                    Step::Truncation(job) => self.truncate(job),
                }
            }
        }
    }

    fn write(&mut self, jobs: Vec<Accepted>) {
        let mut by_file: BTreeMap<FileName, Vec<Accepted>> = BTreeMap::new();
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
                RunEnd::Done => run.writes.into_iter().for_each(|job| lanes.complete(job, Ok(Done::Nothing))),
                RunEnd::Skipped => run.writes.into_iter().for_each(|job| lanes.complete_offline(job)),
                RunEnd::Failed(error) => {
                    let error = disk_error("write", name.as_str(), &error);
                    run.writes.into_iter().for_each(|job| lanes.complete(job, Err(error.clone())));
                }
            }
        });
    }

    /// One group commit. It covers everything that was written before, by any owner.
    fn sync(&mut self, jobs: Vec<Accepted>) {
        if self.lanes.lost().is_some() {
            return jobs.into_iter().for_each(|job| self.lanes.complete_offline(job));
        }
        match self.sync_files(&jobs) {
            Ok(()) => jobs.into_iter().for_each(|job| self.lanes.complete(job, Ok(Done::Nothing))),
            Err(error) => self.fail(jobs, &error),
        }
    }

    fn sync_files(&mut self, jobs: &[Accepted]) -> Result<(), DiskError> {
        let mut names: Vec<&FileName> = jobs
            .iter()
            .flat_map(|job| match &job.work {
                Work::Command(DiskCommand::Sync { files }) => files.iter(),
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

    fn truncate(&mut self, job: Accepted) {
        if self.lanes.lost().is_some() {
            return self.lanes.complete_offline(job);
        }
        let Work::Command(DiskCommand::Truncate { file: name, len }) = &job.work else {
            panic!("only truncations cut, not {:?}", job.work)
        };
        let cut =
            self.files.existing(name).and_then(|file| uninterrupted(|| rustix::fs::ftruncate(&*file, *len)));
        self.windows.changed(name, std::iter::once(*len..u64::MAX));
        let result =
            cut.map(|()| Done::Nothing).map_err(|error| disk_error("truncate", name.as_str(), &error));
        self.lanes.complete(job, result);
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

/// Publishes the files of several commands together. Also the housekeeping lane's way.
pub(crate) fn carry_out_publications(
    lanes: &Lanes,
    windows: &Windows,
    mut publisher: Publisher<'_>,
    jobs: Vec<Accepted>,
) {
    if lanes.lost().is_some() {
        return jobs.into_iter().for_each(|job| lanes.complete_offline(job));
    }
    let wanted: Vec<&SmallFile> = jobs
        .iter()
        .flat_map(|job| match &job.work {
            Work::Command(DiskCommand::Publish { files, .. }) => files.iter(),
            other => panic!("only publications are published, not {other:?}"),
        })
        .collect();
    let result = publisher.publish(&wanted);
    wanted.iter().for_each(|file| windows.forget(file.name.as_str()));
    jobs.into_iter().for_each(|job| lanes.complete(job, result.clone().map(|()| Done::Nothing)));
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use aplomb_disk_api::{Completion, CompletionSink, DiskIndex, Ticket};

    use super::*;
    use crate::readahead::Bounds;

    #[derive(Default)]
    struct Letters(Mutex<Vec<Completion>>);

    impl CompletionSink for Letters {
        fn complete(&self, completion: Completion) {
            self.0.lock().expect("one thread").push(completion);
        }
    }

    fn write(file: &str, at: u64) -> DiskCommand {
        DiskCommand::Write { file: FileName::new(file), at, data: vec![Bytes::from_static(b"x")] }
    }

    fn sync(file: &str) -> DiskCommand {
        DiskCommand::Sync { files: vec![FileName::new(file)] }
    }

    fn publish(file: &str) -> DiskCommand {
        let files = vec![SmallFile { name: FileName::new(file), content: Bytes::from_static(b"x") }];
        DiskCommand::Publish { files, lane: Lane::Write }
    }

    /// Lanes that hold these commands, and where their letters go.
    fn queued(commands: Vec<DiskCommand>) -> (Arc<Lanes>, Arc<Letters>) {
        let lanes = Arc::new(Lanes::new(DiskIndex(0), 1000, None));
        let letters = Arc::new(Letters::default());
        let sink = Arc::clone(&letters) as Arc<dyn CompletionSink>;
        for (ticket, command) in (0..).zip(commands) {
            let now = crate::clock::now();
            lanes.submit(command.lane(), command, Ticket(ticket), &sink, now).expect("there is room");
        }
        lanes.close();
        (lanes, letters)
    }

    /// Carries the commands out as one batch and gives how often it waited for the disk.
    fn syncs_of(directory: &std::path::Path, commands: Vec<DiskCommand>) -> u64 {
        let count = commands.len();
        let (lanes, letters) = queued(commands);
        let writer = Writer {
            lanes: Arc::clone(&lanes),
            files: Arc::new(Files::open(directory, 100).expect("it is there")),
            windows: Arc::new(Windows::new(Bounds { window: 4096, ahead: 1, budget: 0 }, 2)),
            backend: crate::io::backend(crate::EngineKind::Threads).expect("it works everywhere"),
            syncfs_above: 64,
        };
        writer.run();
        let letters = letters.0.lock().expect("one thread");
        assert!(letters.iter().all(|letter| letter.result == Ok(Done::Nothing)), "{letters:?}");
        assert_eq!(letters.len(), count);
        lanes.stats().syncs()
    }

    #[test]
    fn between_barriers_writes_come_first_and_syncs_become_one() {
        let cut = DiskCommand::Truncate { file: FileName::new("a"), len: 0 };
        let commands = vec![
            write("a", 0),
            sync("a"),
            write("b", 0),
            sync("b"),
            publish("c"),
            publish("d"),
            sync("a"),
            write("a", 1),
            cut,
            write("a", 0),
        ];
        let (lanes, letters) = queued(commands);
        let batch = lanes.take_all(Lane::Write).expect("it is not empty");
        let steps = plan(batch);
        let shape: Vec<(&str, usize)> = steps
            .iter()
            .map(|step| match step {
                Step::Writes(jobs) => ("writes", jobs.len()),
                Step::Syncs(jobs) => ("syncs", jobs.len()),
                Step::Publications(jobs) => ("publications", jobs.len()),
                Step::Truncation(_) => ("truncation", 1),
            })
            .collect();
        let expected = [
            ("writes", 2),
            ("syncs", 2),
            ("publications", 2),
            ("writes", 1),
            ("syncs", 1),
            ("truncation", 1),
            ("writes", 1),
        ];
        assert_eq!(shape, expected);
        assert!(letters.0.lock().expect("one thread").is_empty());
    }

    #[test]
    fn a_hundred_acknowledged_appends_cost_one_sync_of_their_file() {
        let directory = tempfile::tempdir().expect("a directory for the test");
        let commands = (0..100).flat_map(|n| [write("0.log", n), sync("0.log")]).collect();
        // The file's content, and its name once.
        assert_eq!(syncs_of(directory.path(), commands), 2);
        assert_eq!(std::fs::read(directory.path().join("0.log")).expect("it was written").len(), 100);
    }

    #[test]
    fn very_many_files_are_synced_by_one_sync_of_the_file_system() {
        let directory = tempfile::tempdir().expect("a directory for the test");
        let files: Vec<String> = (0..80).map(|n| format!("{n}.log")).collect();
        let writes = files.iter().map(|file| write(file, 0));
        let all =
            DiskCommand::Sync { files: files.iter().map(|file| FileName::new(file.as_str())).collect() };
        assert_eq!(syncs_of(directory.path(), writes.chain([all]).collect()), 1);
    }

    #[test]
    fn neighbouring_publications_share_their_directory_syncs() {
        let directory = tempfile::tempdir().expect("a directory for the test");
        let commands = (0..20).map(|n| publish(&format!("orders-3/{n}"))).collect();
        // Twenty files, their directory, and the directory above it.
        assert_eq!(syncs_of(directory.path(), commands), 22);
    }
}
