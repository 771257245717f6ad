//! The queues between the request path and the disk's threads: one a lane, bounded, shared by all
//! owners.
//!
//! Always holds: a lane's lock is held for pushes and pops only, never across a system call that
//! touches a file; an accepted command is counted as outstanding until its completion is about to
//! be delivered; the oldest outstanding command's time of submission stands in the disk's counters,
//! so that its age can be read while every thread of the disk hangs.
//!
//! A lost disk takes everything and ends it `Offline`: the lane's thread does that if it is free,
//! the loss thread ([`Lanes::end_on_loss`]) if it is not.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};

use aplomb_disk_api::stats::DiskStats;
use aplomb_disk_api::{
    Completion, CompletionSink, DiskCommand, DiskError, DiskIndex, DiskJob, Done, Lane, QueueFull, Ticket,
};
use aplomb_model::Instant;

use crate::clock;

/// Called once, with the first error, when a disk is lost.
pub type OnLoss = Arc<dyn Fn(DiskIndex, &str) + Send + Sync>;

/// What a lane takes in.
pub(crate) enum Work {
    Command(DiskCommand),
    Job(Box<dyn DiskJob>),
}

impl Work {
    fn lane(&self) -> Lane {
        match self {
            Self::Command(command) => command.lane(),
            Self::Job(_) => Lane::Job,
        }
    }
}

impl From<DiskCommand> for Work {
    fn from(command: DiskCommand) -> Self {
        Self::Command(command)
    }
}

impl From<Box<dyn DiskJob>> for Work {
    fn from(job: Box<dyn DiskJob>) -> Self {
        Self::Job(job)
    }
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(command) => command.fmt(f),
            Self::Job(job) => job.fmt(f),
        }
    }
}

/// An accepted command or job. It, and the bytes it lent, lives until its completion is delivered.
pub(crate) struct Accepted {
    pub(crate) work: Work,
    ticket: Ticket,
    sink: Arc<dyn CompletionSink>,
    submitted: Instant,
    sequence: u64,
}

/// The lanes of one disk, and whether it is lost.
pub(crate) struct Lanes {
    disk: DiskIndex,
    depth: usize,
    lanes: [LaneQueue; Lane::COUNT],
    stats: Arc<DiskStats>,
    lost: OnceLock<Arc<str>>,
    on_loss: Option<OnLoss>,
    loss_thread: (Mutex<Alarm>, Condvar),
}

#[derive(Default)]
struct LaneQueue {
    state: Mutex<LaneState>,
    wake: Condvar,
}

#[derive(Default)]
struct LaneState {
    waiting: VecDeque<Accepted>,
    /// When each command without a completion was submitted, in order of arrival.
    outstanding: BTreeMap<u64, Instant>,
    arrived: u64,
    closed: bool,
}

/// What the loss thread waits for.
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
            loss_thread: (Mutex::default(), Condvar::new()),
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

    /// Takes a command or a job in, or gives it back.
    pub(crate) fn submit<W: Into<Work>>(
        &self,
        lane: Lane,
        work: W,
        ticket: Ticket,
        sink: &Arc<dyn CompletionSink>,
        now: Instant,
    ) -> Result<(), QueueFull<W>> {
        let queue = &self.lanes[lane.index()];
        let mut state = queue.lock();
        let lost = self.lost().is_some();
        if state.closed || (!lost && state.outstanding.len() >= self.depth) {
            return Err(QueueFull(work));
        }
        let sequence = state.arrived;
        state.arrived += 1;
        state.outstanding.insert(sequence, now);
        self.stats.lane(lane).on_submit();
        self.note_oldest(lane, &state);
        let sink = Arc::clone(sink);
        state.waiting.push_back(Accepted { work: work.into(), ticket, sink, submitted: now, sequence });
        drop(state);
        queue.wake.notify_one();
        if lost {
            self.ring(|alarm| alarm.work = true);
        }
        Ok(())
    }

    /// Everything that waits in a lane; waits for the first. However much it is, the lock is held
    /// for a moment. `None` when the lane is closed and empty.
    pub(crate) fn take_all(&self, lane: Lane) -> Option<Vec<Accepted>> {
        self.take(lane, std::mem::take).map(Vec::from)
    }

    /// The next command of a lane; waits for it. `None` when the lane is closed and empty.
    pub(crate) fn take_one(&self, lane: Lane) -> Option<Accepted> {
        self.take(lane, |waiting| waiting.pop_front().expect("it is not empty"))
    }

    fn take<T>(&self, lane: Lane, take: impl FnOnce(&mut VecDeque<Accepted>) -> T) -> Option<T> {
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

    /// Delivers a completion. An error that is not the command's own (see [`DiskError::is_loss`])
    /// loses the disk first, so that its owner cannot see the error of a disk that still takes
    /// itself for well.
    pub(crate) fn complete(&self, accepted: Accepted, result: Result<Done, DiskError>) {
        let bytes = match (&accepted.work, &result) {
            (Work::Command(DiskCommand::Write { data, .. }), Ok(_)) => {
                data.iter().map(|part| part.len() as u64).sum()
            }
            (_, Ok(Done::Read(bytes))) => bytes.len() as u64,
            (_, _) => 0,
        };
        self.complete_counted(accepted, result, bytes);
    }

    /// The same for one that has moved so many bytes.
    pub(crate) fn complete_counted(&self, accepted: Accepted, result: Result<Done, DiskError>, bytes: u64) {
        if let Err(error @ DiskError::Failed { .. }) = &result {
            self.lose(&error.to_string());
        }
        let lane = accepted.work.lane();
        let mut state = self.lanes[lane.index()].lock();
        let known = state.outstanding.remove(&accepted.sequence);
        assert!(known.is_some(), "a command was completed twice: {:?}", accepted.ticket);
        self.note_oldest(lane, &state);
        self.stats.lane(lane).on_complete(clock::now().since(accepted.submitted), bytes);
        drop(state);
        accepted.sink.complete(Completion { disk: self.disk, ticket: accepted.ticket, result });
    }

    /// Ends what a lost disk will not carry out.
    pub(crate) fn complete_offline(&self, accepted: Accepted) {
        self.complete(accepted, Err(DiskError::Offline));
    }

    /// The age of the lane of jobs is that of their calls, and said by them.
    fn note_oldest(&self, lane: Lane, state: &LaneState) {
        if lane != Lane::Job {
            self.stats.lane(lane).set_oldest(state.oldest());
        }
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

    /// Whether a lane takes nothing any more.
    pub(crate) fn is_closed(&self, lane: Lane) -> bool {
        self.lanes[lane.index()].lock().closed
    }

    /// The loss thread's life: once the disk is lost, it ends what waits in the lanes, so that
    /// nothing waits for a thread that may never come back from the kernel. `end_others` does the
    /// same for what waits elsewhere. Returns when the lanes are closed.
    pub(crate) fn end_on_loss(&self, end_others: impl Fn()) {
        let (alarm, bell) = &self.loss_thread;
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

    /// Ends everything that was not begun.
    pub(crate) fn end_waiting(&self) {
        for queue in &self.lanes {
            let waiting: Vec<Accepted> = queue.lock().waiting.drain(..).collect();
            waiting.into_iter().for_each(|accepted| self.complete_offline(accepted));
        }
    }

    fn ring(&self, change: impl FnOnce(&mut Alarm)) {
        let (alarm, bell) = &self.loss_thread;
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
    /// Owners have clocks of their own, a little apart, so the first to arrive need not be the
    /// first to be handed over; it is close enough for an age.
    fn oldest(&self) -> Option<Instant> {
        self.outstanding.first_key_value().map(|(_, submitted)| *submitted)
    }
}
