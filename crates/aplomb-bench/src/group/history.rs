//! What groups did, one by one and with its time: for who wants to know what happened when.
//!
//! What always holds: a request that was sent is in it once, answered or not, from when it was due.

use std::time::{Duration, Instant};

/// A heartbeat or a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// When it was due, since [`GroupHistory::began`].
    pub at: Duration,
    /// From then to its answer, or to when it was clear that there would be none.
    pub took: Duration,
    /// Whether it was answered, and without an error.
    pub well: bool,
}

/// Everything that was due, and what became of groups that had been stable.
#[derive(Clone, Debug)]
pub struct GroupHistory {
    /// What all times count from.
    pub began: Instant,
    /// Heartbeats, in the order in which they were answered or given up.
    pub heartbeats: Vec<Due>,
    /// Commits, in that order.
    pub commits: Vec<Due>,
    /// When each rebalance began: a member had lost its partitions or was in another generation.
    pub rebalances: Vec<Duration>,
    /// When partitions of a group began to have no owner, and for how long they had none, as their
    /// members know it.
    pub gaps: Vec<(Duration, Duration)>,
}

/// Keeps it, where it is asked for.
#[derive(Debug, Default)]
pub(super) struct Diary {
    pub(super) is_kept: bool,
    pub(super) heartbeats: Vec<Due>,
    pub(super) commits: Vec<Due>,
}

impl Diary {
    pub(super) fn heartbeat(&mut self, due: Due) {
        if self.is_kept {
            self.heartbeats.push(due);
        }
    }

    pub(super) fn commit(&mut self, due: Due) {
        if self.is_kept {
            self.commits.push(due);
        }
    }
}
