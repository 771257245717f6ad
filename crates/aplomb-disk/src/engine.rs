//! One disk's engine: its threads, from opening to stopping.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use aplomb_disk_api::stats::DiskStats;
use aplomb_disk_api::{
    CompletionSink, DiskCommand, DiskHealth, DiskIndex, DiskJob, DiskQueue, Lane, QueueFull, Ticket,
};
use aplomb_model::Instant;

use crate::errors::EngineError;
use crate::files::{self, Files, FilesOptions};
use crate::housekeeping::{Housekeeper, Slices};
use crate::io::{EngineKind, backend, choose};
use crate::jobs::{Calls, JobDisk, JobThread};
use crate::lane::Work;
use crate::lanes::{Lanes, OnLoss};
use crate::patient::RealPatientDisk;
use crate::readahead::Bounds;
use crate::readers::{Fetcher, Fetches, Reader};
use crate::shortage::Endurance;
use crate::urgency::Urgency;
use crate::writer::Writer;

/// Settings of an engine.
#[derive(Clone)]
pub struct EngineOptions {
    /// How bytes get onto the disk.
    pub engine: EngineKind,
    /// Commands that a lane holds, waiting or at work, before it gives them back. All owners share
    /// it.
    pub queue_depth: usize,
    /// Threads for lookups.
    pub readers: usize,
    /// Threads that wait for what streams read, or request it ahead.
    pub fetchers: usize,
    /// Threads that carry out jobs, one job each at a time.
    pub job_threads: usize,
    /// Bytes of a window of the read-ahead.
    pub window_bytes: u64,
    /// Windows requested ahead of a stream, at most.
    pub windows_ahead: u64,
    /// Bytes requested ahead of all streams, but for a window each.
    pub readahead_budget: u64,
    /// A deleted file is freed in slices of so many bytes.
    pub slice_bytes: u64,
    /// The pause between two slices.
    pub slice_pause: Duration,
    /// With more files (or directories) than this to sync at once, the whole file system is synced
    /// instead.
    pub syncfs_above: usize,
    /// Descriptors kept open; `None`: an eighth of what the process may have.
    pub open_files: Option<usize>,
    /// Called once, from a disk thread, when the disk is lost. Must not wait.
    pub on_loss: Option<OnLoss>,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            engine: EngineKind::Auto,
            queue_depth: 4096,
            readers: 8,
            fetchers: 8,
            job_threads: 2,
            window_bytes: 1 << 20,
            windows_ahead: 8,
            readahead_budget: 32 << 20,
            slice_bytes: 64 << 20,
            slice_pause: Duration::from_millis(10),
            syncfs_above: 64,
            open_files: None,
            on_loss: None,
        }
    }
}

/// An engine that did not stop in time: threads of it still wait for the disk.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{threads} threads of the disk still wait for it")]
pub struct StopError {
    /// How many.
    pub threads: usize,
}

/// The engine of one log directory. Dropping it closes the queues; its threads finish what is
/// queued and end by themselves.
pub struct DiskEngine {
    lanes: Arc<Lanes>,
    fetches: Arc<Fetches>,
    hurry: Arc<AtomicBool>,
    kind: EngineKind,
    threads: Vec<JoinHandle<()>>,
    alive: Arc<Alive>,
}

/// Counts the threads that run.
#[derive(Default)]
struct Alive {
    count: Mutex<usize>,
    ended: Condvar,
}

impl DiskEngine {
    /// Opens a log directory and starts its threads. May wait for the disk.
    ///
    /// # Errors
    /// See [`EngineError`].
    pub fn open(disk: DiskIndex, directory: &Path, options: EngineOptions) -> Result<Self, EngineError> {
        let limit = options.open_files.unwrap_or_else(files::default_limit);
        let lanes = Arc::new(Lanes::new(disk, options.queue_depth, options.on_loss));
        let stats = Arc::clone(lanes.stats());
        let files = Files::open(directory, FilesOptions { limit, syncfs_above: options.syncfs_above, stats })
            .map_err(|source| EngineError::Directory { path: directory.to_owned(), source })?;
        let kind = choose(options.engine)?;
        let bounds = Bounds {
            window: options.window_bytes.max(4096),
            ahead: options.windows_ahead.max(1),
            budget: options.readahead_budget,
        };
        let (readers, fetchers) = (options.readers.max(1), options.fetchers.max(2));
        let fetches = Arc::new(Fetches::new(bounds, fetchers));
        let hurry = Arc::new(AtomicBool::new(false));
        let mut engine = Self {
            lanes: Arc::clone(&lanes),
            fetches: Arc::clone(&fetches),
            hurry: Arc::clone(&hurry),
            kind,
            threads: Vec::new(),
            alive: Arc::default(),
        };
        let writer = Writer {
            lanes: Arc::clone(&lanes),
            files: files.with(Endurance::endless(&lanes)),
            backend: backend(kind)?,
        };
        engine.start("writer", Urgency::Behind, move || writer.run())?;
        let slices = Slices { bytes: options.slice_bytes.max(1 << 20), pause: options.slice_pause, hurry };
        let housekeeper = Housekeeper {
            lanes: Arc::clone(&lanes),
            files: files.with(Endurance::endless(&lanes)),
            backend: backend(kind)?,
            slices: slices.clone(),
        };
        engine.start("keeper", Urgency::BackgroundBehind, move || housekeeper.run())?;
        let working = Arc::new(AtomicUsize::new(readers));
        for _ in 0..readers {
            let reader = Reader {
                lanes: Arc::clone(&lanes),
                files: files.clone(),
                fetches: Arc::clone(&fetches),
                working: Arc::clone(&working),
            };
            engine.start("reader", Urgency::Background, move || reader.run())?;
        }
        for _ in 0..fetchers {
            let fetcher =
                Fetcher { lanes: Arc::clone(&lanes), files: files.clone(), fetches: Arc::clone(&fetches) };
            engine.start("fetcher", Urgency::Background, move || fetcher.run())?;
        }
        let calls = Arc::new(Calls::new(Arc::clone(lanes.stats())));
        for _ in 0..options.job_threads.max(1) {
            let disk = JobDisk::new(
                RealPatientDisk::on(files.clone(), slices.clone()),
                Arc::clone(&lanes),
                Arc::clone(&calls),
            );
            let thread = JobThread { lanes: Arc::clone(&lanes), disk };
            engine.start("job", Urgency::Background, move || thread.run())?;
        }
        engine.start("loss", Urgency::Normal, move || {
            lanes.end_on_loss(|| fetches.abandon().into_iter().for_each(|job| lanes.complete_offline(job)));
        })?;
        Ok(engine)
    }

    /// An entrance for one owner.
    #[must_use]
    pub fn queue(&self, sink: Arc<dyn CompletionSink>) -> Box<dyn DiskQueue> {
        Box::new(Entrance { lanes: Arc::clone(&self.lanes), sink, next: 0 })
    }

    /// The disk's counters. They stay right while the disk hangs.
    #[must_use]
    pub fn stats(&self) -> Arc<DiskStats> {
        Arc::clone(self.lanes.stats())
    }

    /// How the disk is: lost, or stalled if its oldest command is older than `patience`.
    #[must_use]
    pub fn health(&self, now: Instant, patience: Duration) -> DiskHealth {
        match self.lanes.lost() {
            Some(why) => DiskHealth::Lost { why: Arc::clone(why) },
            None => DiskHealth::Prompt.observe(self.lanes.stats().oldest(), now, patience),
        }
    }

    /// Which engine it is: what was asked for, or what the kernel allows of [`EngineKind::Auto`].
    #[must_use]
    pub fn kind(&self) -> EngineKind {
        self.kind
    }

    /// Closes the queues (they give everything further back), carries out the commands that they
    /// hold and ends the threads. Jobs end `Offline` at their next call or step. Waits, but not
    /// beyond `deadline`: commands that were not begun by then end `Offline`, those that hang in
    /// the kernel end when it lets them.
    ///
    /// # Errors
    /// [`StopError`] if threads still hang in the kernel at the deadline.
    pub fn stop(mut self, deadline: Duration) -> Result<(), StopError> {
        self.hurry.store(true, Ordering::Relaxed);
        self.lanes.close();
        let count = self.alive.count.lock().expect("nothing in the count's code panics");
        let (count, _) = self
            .alive
            .ended
            .wait_timeout_while(count, deadline, |count| *count > 0)
            .expect("nothing in the count's code panics");
        let threads = *count;
        drop(count);
        if threads > 0 {
            self.lanes.end_waiting();
            self.fetches.abandon().into_iter().for_each(|job| self.lanes.complete_offline(job));
            return Err(StopError { threads });
        }
        for thread in self.threads.drain(..) {
            thread.join().expect("a disk thread catches its panics");
        }
        Ok(())
    }

    /// Starts a thread. One that panics takes the disk with it, not the process.
    fn start(
        &mut self,
        role: &str,
        urgency: Urgency,
        work: impl FnOnce() + Send + 'static,
    ) -> Result<(), EngineError> {
        let (alive, lanes) = (Arc::clone(&self.alive), Arc::clone(&self.lanes));
        *alive.count.lock().expect("nothing in the count's code panics") += 1;
        let role = role.to_owned();
        let name = format!("disk-{}-{role}", self.lanes.disk().0);
        let thread = std::thread::Builder::new().name(name).spawn(move || {
            urgency.apply();
            if std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err() {
                lanes.lose(&format!("the disk's {role} thread panicked"));
            }
            *alive.count.lock().expect("nothing in the count's code panics") -= 1;
            alive.ended.notify_all();
        });
        match thread {
            Ok(thread) => {
                self.threads.push(thread);
                Ok(())
            }
            Err(source) => {
                *self.alive.count.lock().expect("nothing in the count's code panics") -= 1;
                Err(EngineError::Thread { source })
            }
        }
    }
}

impl Drop for DiskEngine {
    fn drop(&mut self) {
        self.hurry.store(true, Ordering::Relaxed);
        self.lanes.close();
    }
}

/// One owner's way into the lanes.
struct Entrance {
    lanes: Arc<Lanes>,
    sink: Arc<dyn CompletionSink>,
    next: u64,
}

impl Entrance {
    fn submit<W: Into<Work>>(&mut self, lane: Lane, work: W, now: Instant) -> Result<Ticket, QueueFull<W>> {
        let ticket = Ticket(self.next);
        self.lanes.submit(lane, work, ticket, &self.sink, now)?;
        self.next += 1;
        Ok(ticket)
    }
}

impl DiskQueue for Entrance {
    fn disk(&self) -> DiskIndex {
        self.lanes.disk()
    }

    fn try_submit(&mut self, command: DiskCommand, now: Instant) -> Result<Ticket, QueueFull<DiskCommand>> {
        self.submit(command.lane(), command, now)
    }

    fn try_submit_job(
        &mut self,
        job: Box<dyn DiskJob>,
        now: Instant,
    ) -> Result<Ticket, QueueFull<Box<dyn DiskJob>>> {
        self.submit(Lane::Job, job, now)
    }
}
