//! The queues between the request path and the disk's threads: one a lane, bounded, shared by all owners.
//!
//! Always holds: a lane's lock is held for pushes and pops only, never across a system call that touches a file; an accepted command
//! is counted as outstanding until its completion is about to be delivered; the oldest outstanding command's time of
//! submission stands in the disk's counters, so that its age can be read while every thread of the disk hangs.
//!
//! A lost disk takes everything and ends it `Offline`: the lane's thread does that if it is free, the undertaker
//! ([`Lanes::bury`]) if it is not.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};

use aplomb_disk_api::stats::DiskStats;
use aplomb_disk_api::{
    Completion, CompletionSink, DiskCommand, DiskError, DiskIndex, Done, Lane, QueueFull, Ticket,
};
use aplomb_model::Instant;

use crate::clock;

/// Called once, with the first error, when a disk is lost.
pub type OnLoss = Arc<dyn Fn(DiskIndex, &str) + Send + Sync>;

/// An accepted command. It, and the bytes it lent, lives until its completion is delivered.
pub(crate) struct Job {
    pub(crate) command: DiskCommand,
    ticket: Ticket,
    sink: Arc<dyn CompletionSink>,
    submitted: Instant,
    sequence: u64,
}

/// The lanes of one disk, and whether it is lost.
pub(crate) struct Lanes {
    disk: DiskIndex,
    depth: usize,
    lanes: [LaneQueue; 3],
    stats: Arc<DiskStats>,
    lost: OnceLock<Arc<str>>,
    on_loss: Option<OnLoss>,
    undertaker: (Mutex<Alarm>, Condvar),
}

#[derive(Default)]
struct LaneQueue {
    state: Mutex<LaneState>,
    wake: Condvar,
}

#[derive(Default)]
struct LaneState {
    waiting: VecDeque<Job>,
    /// When each command without a completion was submitted, in order of arrival.
    outstanding: BTreeMap<u64, Instant>,
    arrived: u64,
    closed: bool,
}

/// What the undertaker waits for.
#[derive(Default)]
struct Alarm {
    /// The disk was lost, or a lost disk took a command.
    work: bool,
    closed: bool,
}

impl Lanes {
    pub(crate) fn new(disk: DiskIndex, depth: usize, on_loss: Option<OnLoss>) -> Self {
        Self {
            disk,
            depth: depth.max(1),
            lanes: Default::default(),
            stats: Arc::default(),
            lost: OnceLock::new(),
            on_loss,
            undertaker: (Mutex::default(), Condvar::new()),
        }
    }

    pub(crate) fn disk(&self) -> DiskIndex {
        self.disk
    }

    pub(crate) fn stats(&self) -> &Arc<DiskStats> {
        &self.stats
    }

    /// The first error, if the disk is lost.
    pub(crate) fn lost(&self) -> Option<&Arc<str>> {
        self.lost.get()
    }

    /// Takes a command in, or gives it back.
    pub(crate) fn submit(
        &self,
        command: DiskCommand,
        ticket: Ticket,
        sink: &Arc<dyn CompletionSink>,
        now: Instant,
    ) -> Result<(), QueueFull<DiskCommand>> {
        let lane = command.lane();
        let queue = &self.lanes[lane.index()];
        let mut state = queue.lock();
        let lost = self.lost().is_some();
        if state.closed || (!lost && state.outstanding.len() >= self.depth) {
            return Err(QueueFull(command));
        }
        let sequence = state.arrived;
        state.arrived += 1;
        state.outstanding.insert(sequence, now);
        self.stats.lane(lane).on_submit();
        self.stats.lane(lane).set_oldest(state.oldest());
        let sink = Arc::clone(sink);
        state.waiting.push_back(Job { command, ticket, sink, submitted: now, sequence });
        drop(state);
        queue.wake.notify_one();
        if lost {
            self.ring(|alarm| alarm.work = true);
        }
        Ok(())
    }

    /// Everything that waits in a lane; waits for the first. However much it is, the lock is held for a moment. `None` when the lane is closed and empty.
    pub(crate) fn take_all(&self, lane: Lane) -> Option<Vec<Job>> {
        self.take(lane, std::mem::take).map(Vec::from)
    }

    /// The next command of a lane; waits for it. `None` when the lane is closed and empty.
    pub(crate) fn take_one(&self, lane: Lane) -> Option<Job> {
        self.take(lane, |waiting| waiting.pop_front().expect("it is not empty"))
    }

    fn take<T>(&self, lane: Lane, take: impl FnOnce(&mut VecDeque<Job>) -> T) -> Option<T> {
        let queue = &self.lanes[lane.index()];
        let mut state = queue.lock();
        while state.waiting.is_empty() {
            if state.closed {
                return None;
            }
            state = queue.wake.wait(state).expect("nothing in the lane's code panics");
        }
        Some(take(&mut state.waiting))
    }

    /// Delivers a completion. An error that is not the command's own (see [`DiskError::is_loss`]) loses the disk first, so that
    /// its owner cannot see the error of a disk that still takes itself for well.
    pub(crate) fn complete(&self, job: Job, result: Result<Done, DiskError>) {
        if let Err(error @ DiskError::Failed { .. }) = &result {
            self.lose(&error.to_string());
        }
        let bytes = match (&job.command, &result) {
            (DiskCommand::Write { data, .. }, Ok(_)) => data.iter().map(|part| part.len() as u64).sum(),
            (_, Ok(Done::Read(bytes))) => bytes.len() as u64,
            (_, _) => 0,
        };
        let lane = job.command.lane();
        let mut state = self.lanes[lane.index()].lock();
        let known = state.outstanding.remove(&job.sequence);
        assert!(known.is_some(), "a command was completed twice: {:?}", job.ticket);
        self.stats.lane(lane).set_oldest(state.oldest());
        self.stats.lane(lane).on_complete(clock::now().since(job.submitted), bytes);
        drop(state);
        job.sink.complete(Completion { disk: self.disk, ticket: job.ticket, result });
    }

    /// Ends a command that a lost disk will not carry out.
    pub(crate) fn complete_offline(&self, job: Job) {
        self.complete(job, Err(DiskError::Offline));
    }

    /// The first error ends the disk; later ones add nothing.
    pub(crate) fn lose(&self, why: &str) {
        if self.lost.set(why.into()).is_ok() {
            if let Some(on_loss) = &self.on_loss {
                on_loss(self.disk, why);
            }
            self.ring(|alarm| alarm.work = true);
        }
    }

    /// No lane takes anything any more; what waits is still carried out.
    pub(crate) fn close(&self) {
        for queue in &self.lanes {
            queue.lock().closed = true;
            queue.wake.notify_all();
        }
        self.ring(|alarm| alarm.closed = true);
    }

    /// The undertaker's life: once the disk is lost, it ends what waits in the lanes, so that nothing waits for a thread that may never
    /// come back from the kernel. `end_others` does the same for what waits elsewhere. Returns when the lanes are closed.
    pub(crate) fn bury(&self, end_others: impl Fn()) {
        let (alarm, bell) = &self.undertaker;
        loop {
            let asleep = alarm.lock().expect("nothing in the alarm's code panics");
            let mut woken = bell
                .wait_while(asleep, |alarm| !(alarm.work || alarm.closed))
                .expect("nothing in the alarm's code panics");
            woken.work = false;
            let closed = woken.closed;
            drop(woken);
            if self.lost().is_some() {
                self.end_waiting();
                end_others();
            }
            if closed {
                return;
            }
        }
    }

    /// Ends all commands that nobody works on.
    pub(crate) fn end_waiting(&self) {
        for queue in &self.lanes {
            let waiting: Vec<Job> = queue.lock().waiting.drain(..).collect();
            waiting.into_iter().for_each(|job| self.complete_offline(job));
        }
    }

    fn ring(&self, change: impl FnOnce(&mut Alarm)) {
        let (alarm, bell) = &self.undertaker;
        change(&mut alarm.lock().expect("nothing in the alarm's code panics"));
        bell.notify_all();
    }
}

impl LaneQueue {
    fn lock(&self) -> MutexGuard<'_, LaneState> {
        self.state.lock().expect("nothing in the lane's code panics")
    }
}

impl LaneState {
    /// Owners have clocks of their own, a little apart, so the first to arrive need not be the first to be handed over; it is
    /// close enough for an age.
    fn oldest(&self) -> Option<Instant> {
        self.outstanding.first_key_value().map(|(_, submitted)| *submitted)
    }
}
