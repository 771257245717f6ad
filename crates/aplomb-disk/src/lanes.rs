//! The lanes of one disk, and what its loss does to them.
//!
//! A lost disk takes everything and ends it `Offline`: the lane's thread does that if it is free,
//! the loss thread ([`Lanes::end_on_loss`]) if it is not.
//!
//! Always holds: an accepted command is outstanding until its completion is about to be delivered,
//! and gets exactly one; no request thread waits here for a disk thread (see `lane` and `bell`).

use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, OnceLock};

use aplomb_disk_api::stats::DiskStats;
use aplomb_disk_api::{
    Completion, CompletionSink, DiskCommand, DiskError, DiskIndex, Done, Lane, QueueFull, Ticket,
};
use aplomb_model::Instant;

use crate::bell::Bell;
use crate::clock;
use crate::lane::{Accepted, LaneQueue, Work};

/// Called once, with the first error, when a disk is lost.
pub type OnLoss = Arc<dyn Fn(DiskIndex, &str) + Send + Sync>;

/// The lanes of one disk, and whether it is lost.
pub(crate) struct Lanes {
    disk: DiskIndex,
    lanes: [LaneQueue; Lane::COUNT],
    stats: Arc<DiskStats>,
    lost: OnceLock<Arc<str>>,
    closed: AtomicBool,
    on_loss: Option<OnLoss>,
    /// Wakes the loss thread: the disk was lost, a lost disk took something, the lanes were closed.
    loss: Bell,
}

impl Lanes {
    pub(crate) fn new(disk: DiskIndex, depth: usize, on_loss: Option<OnLoss>) -> Self {
        let stats = Arc::<DiskStats>::default();
        Self {
            disk,
            lanes: Lane::ALL.map(|lane| LaneQueue::new(lane, depth, Arc::clone(&stats))),
            stats,
            lost: OnceLock::new(),
            closed: AtomicBool::new(false),
            on_loss,
            loss: Bell::default(),
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

    /// Whether the lanes take nothing any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
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
        let is_lost = self.lost().is_some();
        self.lanes[lane.index()].hand_over(work, ticket, sink, now, is_lost)?;
        // Either the loss thread finds what was just pushed, or the loss is found here.
        fence(Ordering::SeqCst);
        if self.lost().is_some() {
            self.loss.ring_all();
        }
        Ok(())
    }

    /// Everything that waits in a lane; waits for the first. `None` when the lane is closed and
    /// empty.
    pub(crate) fn take_all(&self, lane: Lane) -> Option<Vec<Accepted>> {
        self.lanes[lane.index()].take(usize::MAX)
    }

    /// The next command of a lane; waits for it. `None` when the lane is closed and empty.
    pub(crate) fn take_one(&self, lane: Lane) -> Option<Accepted> {
        self.lanes[lane.index()].take(1)?.pop()
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
        self.lanes[lane.index()].complete(&accepted);
        self.stats.lane(lane).on_complete(clock::now().since(accepted.submitted), bytes);
        accepted.sink.complete(Completion { disk: self.disk, ticket: accepted.ticket, result });
    }

    /// Ends what a lost disk will not carry out.
    pub(crate) fn complete_offline(&self, accepted: Accepted) {
        self.complete(accepted, Err(DiskError::Offline));
    }

    /// The first error ends the disk; later ones add nothing.
    pub(crate) fn lose(&self, why: &str) {
        if self.lost.set(why.into()).is_ok() {
            fence(Ordering::SeqCst);
            if let Some(on_loss) = &self.on_loss {
                on_loss(self.disk, why);
            }
            self.loss.ring_all();
        }
    }

    /// No lane takes anything any more; what waits is still carried out.
    pub(crate) fn close(&self) {
        self.lanes.iter().for_each(LaneQueue::close);
        self.closed.store(true, Ordering::SeqCst);
        self.loss.ring_all();
    }

    /// The loss thread's life: once the disk is lost, it ends what waits in the lanes, so that
    /// nothing waits for a thread that may never come back from the kernel. `end_others` does the
    /// same for what waits elsewhere. Returns when the lanes are closed.
    pub(crate) fn end_on_loss(&self, end_others: impl Fn()) {
        loop {
            let look = self.loss.look();
            let closed = self.is_closed();
            if self.lost().is_some() {
                self.end_waiting();
                end_others();
            }
            if closed {
                return;
            }
            self.loss.sleep(look);
        }
    }

    /// Ends everything that was not begun.
    pub(crate) fn end_waiting(&self) {
        let waiting = self.lanes.iter().flat_map(LaneQueue::take_waiting);
        waiting.for_each(|accepted| self.complete_offline(accepted));
    }
}

#[cfg(test)]
mod tests;
