//! Plain system calls: writes one after the other on the calling thread, syncs of several files
//! side by side.
//!
//! Syncs are worth helpers: a disk merges the flushes that it is asked for at the same time, and a
//! journal commits for all of them. This is the engine of containers, whose default seccomp
//! profiles forbid io_uring.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use super::{Backend, Cursor, FileRun, RunEnd, SyncFailed, Syncs, Write};
use crate::errors::uninterrupted;
use crate::open_file::OpenFile;

/// Syncs at the same time.
const HELPERS: usize = 8;

/// The engine that works everywhere.
#[derive(Default)]
pub(super) struct Threads {
    /// Started when the first group of syncs comes; they end with the engine.
    helpers: Option<Sender<Task>>,
}

/// A file to sync, and where to report.
struct Task {
    file: Arc<OpenFile>,
    report: Sender<Result<(), SyncFailed>>,
}

impl<W: Write> Backend<W> for Threads {
    fn write(&mut self, runs: Vec<FileRun<W>>, ended: &mut dyn FnMut(FileRun<W>, RunEnd)) {
        let mut failed = false;
        for run in runs {
            let end = match if failed { None } else { Some(carry_out(&run)) } {
                None => RunEnd::Skipped,
                Some(Ok(())) => RunEnd::Done,
                Some(Err(error)) => RunEnd::Failed(error),
            };
            failed |= matches!(end, RunEnd::Failed(_));
            ended(run, end);
        }
    }
}

impl Syncs for Threads {
    fn sync(&mut self, files: &[Arc<OpenFile>]) -> Result<(), SyncFailed> {
        let helpers = if files.len() > 1 { self.helpers() } else { None };
        let Some(helpers) = helpers else {
            return files.iter().try_for_each(sync_file);
        };
        let (report, reports) = channel();
        for file in files {
            let task = Task { file: Arc::clone(file), report: report.clone() };
            helpers.send(task).expect("a helper ends only after its sender");
        }
        drop(report);
        // All of them, also after an error: none is left at work when this returns.
        reports.iter().fold(Ok(()), Result::and)
    }
}

impl Threads {
    /// The helpers' entrance; `None` if the system gives us no thread.
    fn helpers(&mut self) -> Option<&Sender<Task>> {
        if self.helpers.is_none() {
            let (sender, tasks) = channel();
            let tasks = Arc::new(Mutex::new(tasks));
            let started = (0..HELPERS)
                .filter(|_| {
                    let tasks = Arc::clone(&tasks);
                    std::thread::Builder::new().name("disk-sync".into()).spawn(move || help(&tasks)).is_ok()
                })
                .count();
            self.helpers = (started > 0).then_some(sender);
        }
        self.helpers.as_ref()
    }
}

/// A helper's life.
fn help(tasks: &Mutex<Receiver<Task>>) {
    loop {
        // The lock is held while waiting, by one helper at a time; a task is taken as soon as it
        // comes.
        let task = tasks.lock().expect("nothing in here panics").recv();
        let Ok(Task { file, report }) = task else { return };
        report.send(sync_file(&file)).expect("whoever asked waits for all reports");
    }
}

fn sync_file(file: &Arc<OpenFile>) -> Result<(), SyncFailed> {
    uninterrupted(|| rustix::fs::fdatasync(file))
        .map_err(|error| SyncFailed { file: Arc::clone(file), error })
}

/// Writes a run on the calling thread.
pub(super) fn carry_out<W: Write>(run: &FileRun<W>) -> io::Result<()> {
    let mut cursor = Cursor::default();
    while let Some((at, parts)) = cursor.span(&run.writes) {
        match uninterrupted(|| rustix::io::pwritev(&*run.file, &parts, at))? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            count => cursor.advance(&run.writes, count),
        }
    }
    Ok(())
}
