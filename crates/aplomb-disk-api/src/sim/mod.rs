//! A deterministic disk that freezes, tears and forgets, by seed.
//!
//! [`SimDisk`] is both the queues of a running broker ([`SimDisk::queue`]) and what its jobs and
//! its start use ([`PatientDisk`]), over one tree of files. Time is virtual: nothing happens
//! between two calls of [`SimDisk::advance`], which carries out what is due and delivers the
//! completions, always in the same order for the same seed and the same calls. The test says what
//! goes wrong: see [`SimDisk::freeze`], [`SimDisk::fail`], [`SimDisk::process_killed`] and
//! [`SimDisk::power_cut`].
//!
//! `schedule` decides when a command ends, `world` what it does, `tree` and `content` what of that
//! a power cut forgets.

mod away;
mod content;
mod options;
mod schedule;
mod tree;
mod world;
mod written;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use aplomb_model::Instant;
use bytes::Bytes;

pub use options::{Fault, ServiceTimes, SimOperation, SimOptions};

use crate::stats::DiskStats;
use crate::{
    CompletionSink, DiskCommand, DiskError, DiskIndex, DiskJob, DiskQueue, Entry, EntryKind, FileName,
    FileStamp, Lane, PatientDisk, QueueFull, SmallFile, Ticket,
};
use schedule::{Schedule, Work};
use tree::Kind;
use world::{Step, World};
use written::Written;

/// A simulated disk. Clones are the same disk.
#[derive(Clone, Debug)]
pub struct SimDisk {
    index: DiskIndex,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    world: World,
    schedule: Schedule,
    options: SimOptions,
    /// Counts processes: an entrance of a dead one is of no use.
    process: u64,
    stats: Arc<DiskStats>,
}

impl SimDisk {
    /// An empty disk.
    #[must_use]
    pub fn new(index: DiskIndex, options: SimOptions) -> Self {
        let world = World::new(&options);
        let stats = Arc::new(DiskStats::default());
        let schedule = Schedule::new(&options, Arc::clone(&stats), Instant::START);
        let state = State { world, schedule, options, process: 0, stats };
        Self { index, state: Arc::new(Mutex::new(state)) }
    }

    /// The same disk in another place of `log.dirs`.
    #[must_use]
    pub fn at(&self, index: DiskIndex) -> Self {
        Self { index, state: Arc::clone(&self.state) }
    }

    /// Another disk with all the files that this one has now, and what was taken away back in its
    /// place.
    /// Nothing is going to go wrong with it, and it draws from `seed`.
    #[must_use]
    pub fn copy(&self, seed: u64) -> Self {
        let state = self.lock();
        let copy = Self::new(self.index, SimOptions { seed, ..state.options.clone() });
        {
            let World { tree, away, .. } = &mut copy.lock().world;
            (*tree, *away) = (state.world.tree.clone(), state.world.away.clone());
        }
        copy.bring_back();
        copy
    }

    /// An entrance for one owner. Its completions are delivered by [`SimDisk::advance`].
    #[must_use]
    pub fn queue(&self, sink: Arc<dyn CompletionSink>) -> SimQueue {
        let process = self.lock().process;
        SimQueue { disk: self.clone(), sink, process, next: 0 }
    }

    /// Carries out what is due by `now` and delivers the completions, in order. Time never goes
    /// back.
    pub fn advance(&self, now: Instant) {
        let mut ended = Vec::new();
        loop {
            let mut state = self.lock();
            let State { world, schedule, options, .. } = &mut *state;
            let Some(mut due) = schedule.advance(now, world, options, &mut ended) else { break };
            drop(state);
            let result = due.step(self);
            let mut state = self.lock();
            let State { world, schedule, options, .. } = &mut *state;
            schedule.stepped(due, result, world, options, &mut ended);
        }
        // Outside the lock: a sink may submit again.
        ended.into_iter().for_each(|end| end.deliver(self.index));
    }

    /// When [`SimDisk::advance`] has something to do next; `None` while the disk is idle or frozen.
    #[must_use]
    pub fn next_event(&self) -> Option<Instant> {
        self.lock().schedule.next_event()
    }

    /// The disk answers nothing any more.
    pub fn freeze(&self) {
        self.lock().schedule.frozen = true;
    }

    /// The disk answers again; what was at work has been done meanwhile.
    pub fn thaw(&self) {
        let mut state = self.lock();
        let State { world, schedule, options, .. } = &mut *state;
        schedule.frozen = false;
        schedule.start(world, options);
    }

    /// Changes how long things take, for commands that start from now on.
    pub fn set_service(&self, service: ServiceTimes) {
        self.lock().options.service = service;
    }

    /// Changes how much fits. A write beyond it fails and the disk is lost, as with a real
    /// `ENOSPC`.
    pub fn set_capacity(&self, bytes: u64) {
        self.lock().world.capacity = bytes;
    }

    /// Arms a fault.
    pub fn fail(&self, fault: Fault) {
        self.lock().world.faults.push(fault);
    }

    /// Lets an operation run short of descriptors, once. A command that has its order waits and is
    /// carried out a little later; a read, and a call of a job, ends with [`DiskError::Shortage`].
    pub fn run_short(&self, fault: Fault) {
        self.lock().world.shortages.push(fault);
    }

    /// Takes a file, or a directory with all in it, away, as an operator does who deletes it under
    /// a running broker. `None`: the log directory itself.
    pub fn vanish(&self, name: Option<&str>) {
        self.lock().world.vanish(name);
    }

    /// Gives a directory a name that no process knows, as an operator does who moves it away under
    /// a running broker. False if it is not there.
    #[must_use]
    pub fn take_away(&self, name: &str) -> bool {
        let mut state = self.lock();
        let World { away, tree, .. } = &mut state.world;
        away.take(name, tree)
    }

    /// Puts back what was taken away, for the next process, unless something else has its name by
    /// now.
    pub fn bring_back(&self) {
        let mut state = self.lock();
        let World { away, tree, .. } = &mut state.world;
        away.bring_back(tree);
    }

    /// The first error, if the disk is lost to this process. A new process
    /// ([`SimDisk::process_killed`], [`SimDisk::power_cut`]) finds it working again, unless
    /// something goes wrong again.
    #[must_use]
    pub fn lost(&self) -> Option<Arc<str>> {
        self.lock().schedule.lost.clone()
    }

    /// The process dies. Of what its queues held, some has happened, in an order that the lanes
    /// allow; all that was executed stays. No completion is delivered any more, and its entrances
    /// are dead.
    pub fn process_killed(&self) {
        let mut state = self.die();
        state.restart();
    }

    /// The power goes, and with it what was not synced: all of it, some of it, or single sectors,
    /// by seed. Names that were not made durable are the old or the new ones.
    pub fn power_cut(&self) {
        let mut state = self.die();
        let World { tree, random, .. } = &mut state.world;
        tree.power_cut(random);
        state.restart();
    }

    /// The process dies in the middle of what it does.
    fn die(&self) -> MutexGuard<'_, State> {
        let jobs = self.lock().schedule.take_jobs_at_work();
        for mut job in jobs {
            let mut state = self.lock();
            state.world.operations_left = Some(state.world.random.within(0..8));
            drop(state);
            // Whether the step succeeded is of no interest to the dead.
            let _ = job.step(self);
        }
        let mut state = self.lock();
        let State { world, schedule, .. } = &mut *state;
        world.operations_left = None;
        schedule.die(world);
        state
    }

    /// Counters, as a real engine keeps them.
    #[must_use]
    pub fn stats(&self) -> Arc<DiskStats> {
        Arc::clone(&self.lock().stats)
    }

    /// Every file and its content, as a process sees them now.
    #[must_use]
    pub fn image(&self) -> BTreeMap<String, Bytes> {
        let state = self.lock();
        let files = state.world.tree.files();
        files.into_iter().map(|(name, content)| (name, Bytes::copy_from_slice(content.bytes()))).collect()
    }

    /// The content of one file, as a process sees it now.
    #[must_use]
    pub fn file(&self, name: &str) -> Option<Bytes> {
        let state = self.lock();
        state.world.tree.content(name).ok().map(|content| Bytes::copy_from_slice(content.bytes()))
    }

    /// What of one file's content is sure to survive a power cut (if its name does).
    #[must_use]
    pub fn durable(&self, name: &str) -> Option<Bytes> {
        let state = self.lock();
        state.world.tree.content(name).ok().map(|content| Bytes::from(content.durable()))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .expect("a simulated disk's lock is never poisoned: its code does not panic half-way")
    }

    /// Runs steps for a caller that waits; it sees the same losses as the queues.
    fn steps(&self, plan: impl FnOnce(&World) -> Vec<Step>) -> Result<(), DiskError> {
        self.call(|world| plan(world).into_iter().try_for_each(|step| world.run(step)))
    }

    fn call<T>(&self, call: impl FnOnce(&mut World) -> Result<T, DiskError>) -> Result<T, DiskError> {
        let mut state = self.lock();
        if state.schedule.lost.is_some() {
            return Err(DiskError::Offline);
        }
        let result = call(&mut state.world);
        if let Err(error @ DiskError::Failed { .. }) = &result {
            state.schedule.lose(error);
        }
        result
    }
}

impl State {
    fn accept(&mut self, work: Work, next: &mut u64, sink: &Arc<dyn CompletionSink>, now: Instant) -> Ticket {
        let ticket = Ticket(*next);
        *next += 1;
        let Self { world, schedule, options, .. } = self;
        schedule.accept(work, ticket, sink, now, world, options);
        ticket
    }

    fn restart(&mut self) {
        self.process += 1;
        self.world.written = Written::default();
        self.stats = Arc::new(DiskStats::default());
        self.schedule = Schedule::new(&self.options, Arc::clone(&self.stats), self.schedule.now);
    }
}

/// One owner's entrance to a [`SimDisk`].
pub struct SimQueue {
    disk: SimDisk,
    sink: Arc<dyn CompletionSink>,
    process: u64,
    next: u64,
}

impl DiskQueue for SimQueue {
    fn disk(&self) -> DiskIndex {
        self.disk.index
    }

    /// # Panics
    /// If the process that the entrance belonged to was killed.
    fn try_submit(&mut self, command: DiskCommand, now: Instant) -> Result<Ticket, QueueFull<DiskCommand>> {
        let mut state = self.disk.lock();
        assert_eq!(state.process, self.process, "a dead process submitted {command:?}");
        if !state.schedule.has_room(command.lane(), &state.options) {
            return Err(QueueFull(command));
        }
        Ok(state.accept(Work::Command(command), &mut self.next, &self.sink, now))
    }

    /// # Panics
    /// If the process that the entrance belonged to was killed.
    fn try_submit_job(
        &mut self,
        job: Box<dyn DiskJob>,
        now: Instant,
    ) -> Result<Ticket, QueueFull<Box<dyn DiskJob>>> {
        let mut state = self.disk.lock();
        assert_eq!(state.process, self.process, "a dead process submitted a job");
        if !state.schedule.has_room(Lane::Job, &state.options) {
            return Err(QueueFull(job));
        }
        Ok(state.accept(Work::job(job), &mut self.next, &self.sink, now))
    }
}

impl PatientDisk for SimDisk {
    fn list(&self, directory: Option<&FileName>) -> Result<Vec<Entry>, DiskError> {
        let names = self.call(|world| world.list(directory))?;
        let entry = |(name, kind)| Entry {
            name,
            kind: match kind {
                Kind::File { len, modified_ms } => EntryKind::File { len, modified_ms },
                Kind::Directory => EntryKind::Directory,
            },
        };
        Ok(names.into_iter().map(entry).collect())
    }

    fn stamp(&self, name: &FileName) -> Result<FileStamp, DiskError> {
        self.call(|world| world.stamp(name))
    }

    fn read(&self, file: &FileName, at: u64, len: usize) -> Result<Bytes, DiskError> {
        self.call(|world| {
            let bytes = world.read(file, at, len)?;
            world.moved += bytes.len() as u64;
            Ok(bytes)
        })
    }

    fn write(&self, file: &FileName, at: u64, data: &[u8]) -> Result<(), DiskError> {
        self.call(|world| {
            world.moved += data.len() as u64;
            world.run(Step::Write { file: file.as_str().to_owned(), at, data: data.to_vec(), makes: true })
        })
    }

    fn truncate(&self, file: &FileName, len: u64) -> Result<(), DiskError> {
        self.steps(|_| vec![Step::Truncate { file: file.as_str().to_owned(), len }])
    }

    fn remove(&self, name: &FileName) -> Result<(), DiskError> {
        self.steps(|world| world.remove_steps(name.as_str()))?;
        self.lock().world.written.on_left(name.as_str());
        Ok(())
    }

    fn rename_all(&self, renames: &[(FileName, FileName)]) -> Result<(), DiskError> {
        self.steps(|_| World::rename_all_steps(renames))
    }

    fn publish(&self, files: &[SmallFile]) -> Result<(), DiskError> {
        self.steps(|world| world.publish_steps(files, true))
    }

    fn sync(&self, files: &[FileName]) -> Result<(), DiskError> {
        self.call(|world| world.sync(files))
    }
}
