//! One lane: what request threads hand over, and what disk threads take and complete.
//!
//! Request threads push into a lock-free queue, count with atomics and ring a [`Bell`]: they wait
//! for no thread of the disk, wherever that one lost its processor. The lock in here is one between
//! disk threads.
//!
//! Always holds:
//! - `completed <= taken <= accepted <= completed + depth`, but for a lost disk, which takes more.
//! - While a command is outstanding, the lane's counters have an age that is at least its own, or
//!   its submitter is about to put it there.
//! - Nothing is accepted once the lane is closed, and what was accepted before is taken.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use aplomb_disk_api::stats::{DiskStats, LaneStats};
use aplomb_disk_api::{CompletionSink, DiskCommand, DiskJob, Lane, QueueFull, Ticket};
use aplomb_model::Instant;
use crossbeam_queue::SegQueue;

use crate::bell::Bell;

/// In the number of accepted commands: the lane is closed.
const CLOSED: u64 = 1 << 63;

/// What a lane takes in.
pub(crate) enum Work {
    Command(DiskCommand),
    Job(Box<dyn DiskJob>),
}

impl Work {
    pub(crate) fn lane(&self) -> Lane {
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
    pub(crate) ticket: Ticket,
    pub(crate) sink: Arc<dyn CompletionSink>,
    pub(crate) submitted: Instant,
    /// Given when it is taken.
    number: u64,
}

/// A lane's queue and its counts.
pub(crate) struct LaneQueue {
    lane: Lane,
    depth: u64,
    stats: Arc<DiskStats>,
    waiting: SegQueue<Accepted>,
    /// Ever, and whether the lane is closed.
    accepted: AtomicU64,
    /// Ever.
    completed: AtomicU64,
    bell: Bell,
    /// Locked by disk threads only.
    taken: Mutex<Taken>,
}

/// What disk threads have taken.
#[derive(Default)]
struct Taken {
    /// Ever.
    count: u64,
    /// When those without a completion were submitted, by their number.
    outstanding: BTreeMap<u64, Instant>,
    /// When the last one was submitted.
    last: Instant,
}

impl LaneQueue {
    pub(crate) fn new(lane: Lane, depth: usize, stats: Arc<DiskStats>) -> Self {
        Self {
            lane,
            depth: depth.max(1) as u64,
            stats,
            waiting: SegQueue::new(),
            accepted: AtomicU64::new(0),
            completed: AtomicU64::new(0),
            bell: Bell::default(),
            taken: Mutex::default(),
        }
    }

    /// Takes work in, or gives it back: when the lane is closed, or (not on a lost disk) full.
    pub(crate) fn hand_over<W: Into<Work>>(
        &self,
        work: W,
        ticket: Ticket,
        sink: &Arc<dyn CompletionSink>,
        now: Instant,
        is_lost: bool,
    ) -> Result<(), QueueFull<W>> {
        let mut accepted = self.accepted.load(Ordering::SeqCst);
        loop {
            let held = accepted.saturating_sub(self.completed.load(Ordering::SeqCst));
            if accepted & CLOSED != 0 || (!is_lost && held >= self.depth) {
                return Err(QueueFull(work));
            }
            let counted = self.accepted.compare_exchange_weak(
                accepted,
                accepted + 1,
                Ordering::SeqCst,
                Ordering::SeqCst,
            );
            match counted {
                Ok(_) => break,
                Err(found) => accepted = found,
            }
        }
        self.stats().on_submit();
        if self.lane != Lane::Job {
            self.stats().offer_oldest(now);
        }
        let (work, sink) = (work.into(), Arc::clone(sink));
        self.waiting.push(Accepted { work, ticket, sink, submitted: now, number: 0 });
        self.bell.ring_one();
        Ok(())
    }

    /// Takes no more work in.
    pub(crate) fn close(&self) {
        self.accepted.fetch_or(CLOSED, Ordering::SeqCst);
        self.bell.ring_all();
    }

    /// Takes up to `most` of what waits, in order; waits for the first. `None` when the lane is
    /// closed and empty.
    pub(crate) fn take(&self, most: usize) -> Option<Vec<Accepted>> {
        loop {
            let look = self.bell.look();
            let mut taken = self.lock();
            let batch = self.pop(most, &mut taken);
            let is_over = self.accepted.load(Ordering::SeqCst) == taken.count | CLOSED;
            drop(taken);
            if is_over {
                // The others may sleep, because they saw the lane closed before it was empty.
                self.bell.ring_all();
            }
            if !batch.is_empty() {
                return Some(batch);
            }
            if is_over {
                return None;
            }
            self.bell.sleep(look);
        }
    }

    /// Takes everything that was accepted before this call, and does not wait for more.
    pub(crate) fn take_waiting(&self) -> Vec<Accepted> {
        let accepted = self.accepted.load(Ordering::SeqCst) & !CLOSED;
        let mut batch = Vec::new();
        loop {
            let mut taken = self.lock();
            batch.append(&mut self.pop(usize::MAX, &mut taken));
            if taken.count >= accepted {
                return batch;
            }
            drop(taken);
            // A request thread is between counting and pushing.
            thread::yield_now();
        }
    }

    /// Counts a completion, and whether the lane has an age now.
    pub(crate) fn complete(&self, accepted: &Accepted) {
        let mut taken = self.lock();
        let known = taken.outstanding.remove(&accepted.number);
        assert!(known.is_some(), "a command was completed twice: {:?}", accepted.ticket);
        self.completed.fetch_add(1, Ordering::SeqCst);
        self.note_oldest(&taken);
    }

    fn pop(&self, most: usize, taken: &mut Taken) -> Vec<Accepted> {
        let mut batch = Vec::new();
        while batch.len() < most {
            let Some(mut accepted) = self.waiting.pop() else { break };
            accepted.number = taken.count;
            taken.count += 1;
            taken.last = accepted.submitted;
            taken.outstanding.insert(accepted.number, accepted.submitted);
            batch.push(accepted);
        }
        if !batch.is_empty() {
            self.note_oldest(taken);
        }
        batch
    }

    /// Owners have clocks of their own, a little apart, so the first to arrive need not be the
    /// first that was handed over; it is close enough for an age.
    fn note_oldest(&self, taken: &Taken) {
        if self.lane == Lane::Job {
            return; // said by the jobs' calls
        }
        let oldest = taken.outstanding.first_key_value().map(|(_, submitted)| *submitted);
        self.stats().set_oldest(oldest);
        let something_waits = self.accepted.load(Ordering::SeqCst) & !CLOSED > taken.count;
        if oldest.is_none() && something_waits {
            // Its own time is in the queue; it came after the last one that was taken.
            self.stats().offer_oldest(taken.last);
        }
    }

    /// Is, for as long as `call` takes, a disk thread that lost its processor with the lock held.
    #[cfg(test)]
    pub(crate) fn with_its_lock_held(&self, call: impl FnOnce()) {
        let taken = self.lock();
        call();
        drop(taken);
    }

    fn stats(&self) -> &LaneStats {
        self.stats.lane(self.lane)
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().expect("nothing panics with the lane's lock held")
    }
}
