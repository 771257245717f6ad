//! Access control as it can be seen (`StandardAuthorizer.AuthorizerMetrics`).

use std::sync::atomic::{AtomicU64, Ordering};

/// Decisions of a shard, and the ACLs that there are.
#[derive(Debug, Default)]
pub struct AccessFigures {
    allowed: AtomicU64,
    denied: AtomicU64,
    /// One more than there are: 0 is no authorizer.
    acls: AtomicU64,
}

impl AccessFigures {
    /// How many decisions have allowed something since the start, and how many have not.
    #[must_use]
    pub fn decisions(&self) -> [u64; 2] {
        [&self.allowed, &self.denied].map(|count| count.load(Ordering::Relaxed))
    }

    /// How many ACLs there are, on the shard that has the controller; `None` without an authorizer,
    /// and on other shards.
    #[must_use]
    pub fn acls(&self) -> Option<u64> {
        self.acls.load(Ordering::Relaxed).checked_sub(1)
    }

    pub(crate) fn set_decisions(&self, [allowed, denied]: [u64; 2]) {
        self.allowed.store(allowed, Ordering::Relaxed);
        self.denied.store(denied, Ordering::Relaxed);
    }

    pub(crate) fn set_acls(&self, count: Option<usize>) {
        self.acls.store(count.map_or(0, |count| count as u64 + 1), Ordering::Relaxed);
    }
}
