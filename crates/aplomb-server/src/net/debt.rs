//! The memory bound on replies that clients have not taken, over all shards
//! (`aplomb.replies.max.bytes`).
//!
//! Each connection owes its client what is made and not on the socket; bytes that have a budget of
//! their own do not count. While all together owe the limit, no request is taken up from who owes
//! anything, and the loop closes the slowest takers (`loops/clients.rs`).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The bound, and how much of it is in use.
#[derive(Debug)]
pub(crate) struct ReplyBudget {
    limit: usize,
    used: AtomicUsize,
    closed: AtomicUsize,
}

/// What one connection owes. Forgotten when dropped.
#[derive(Debug)]
pub(crate) struct Debt {
    budget: Arc<ReplyBudget>,
    bytes: usize,
}

impl ReplyBudget {
    /// A budget of `limit` bytes.
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, used: AtomicUsize::new(0), closed: AtomicUsize::new(0) })
    }

    /// Bytes that are owed.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// The bound, in bytes.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// Whether as much is owed as may be.
    pub(crate) fn is_full(&self) -> bool {
        self.used() >= self.limit
    }

    /// Whether twice as much is owed as may be.
    pub(crate) fn is_overfull(&self) -> bool {
        self.used() / 2 >= self.limit
    }

    /// A connection was closed because it took its replies the slowest.
    pub(crate) fn count_closed(&self) {
        self.closed.fetch_add(1, Ordering::Relaxed);
    }

    /// How often that was so.
    pub(crate) fn closed(&self) -> usize {
        self.closed.load(Ordering::Relaxed)
    }

    /// Nothing owed yet.
    pub(crate) fn debt(self: &Arc<Self>) -> Debt {
        Debt { budget: Arc::clone(self), bytes: 0 }
    }
}

impl Debt {
    /// So much more.
    pub(crate) fn add(&mut self, bytes: usize) {
        self.bytes += bytes;
        self.budget.used.fetch_add(bytes, Ordering::Relaxed);
    }

    /// So much was taken, or will not be sent.
    pub(crate) fn settle(&mut self, bytes: usize) {
        self.bytes -= bytes;
        self.budget.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether as much is owed as may be, by all connections.
    pub(crate) fn is_full(&self) -> bool {
        self.budget.is_full()
    }
}

impl Drop for Debt {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
