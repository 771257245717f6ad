//! What was encrypted for a listener's clients and has not left: a copy of replies, beside their
//! own bound, which no budget of theirs counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How much of that one connection may have, in bytes.
const MOST: usize = 256 * 1024;

/// How much while all together have a lot: a connection then gets on in small steps, and takes no
/// more than its session does.
const LEAST: usize = 4 * 1024;

/// How much that is, in bytes.
const MANY: usize = 64 << 20;

/// What all connections of a listener have.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    used: AtomicUsize,
}

/// What one connection has. Forgotten when dropped.
#[derive(Debug)]
pub(crate) struct Unsent {
    backlog: Arc<Backlog>,
    bytes: usize,
}

impl Backlog {
    /// Bytes that wait for sockets.
    #[cfg(test)]
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// A connection without any.
    pub(crate) fn unsent(self: &Arc<Self>) -> Unsent {
        Unsent { backlog: Arc::clone(self), bytes: 0 }
    }
}

impl Unsent {
    /// How much a connection may have encrypted now.
    pub(crate) fn allowance(&self) -> usize {
        if self.backlog.used.load(Ordering::Relaxed) < MANY { MOST } else { LEAST }
    }

    /// So much more.
    pub(crate) fn add(&mut self, bytes: usize) {
        self.bytes += bytes;
        self.backlog.used.fetch_add(bytes, Ordering::Relaxed);
    }

    /// So much has left. What else is sent than replies was not added.
    pub(crate) fn settle(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.backlog.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// All of it has left.
    pub(crate) fn settle_all(&mut self) {
        self.settle(self.bytes);
    }
}

impl Drop for Unsent {
    fn drop(&mut self) {
        self.settle_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_that_take_nothing_leave_each_a_small_step() {
        let backlog = Arc::new(Backlog::default());
        let mut connections = Vec::new();
        for _ in 0..10_000 {
            let mut unsent = backlog.unsent();
            unsent.add(unsent.allowance());
            connections.push(unsent);
        }
        assert!(backlog.used() <= MANY + 10_000 * LEAST, "{}", backlog.used());
        connections[0].settle(usize::MAX);
        connections.truncate(100);
        assert_eq!(backlog.used(), 99 * MOST);
        assert_eq!(connections[0].allowance(), MOST);
        drop(connections);
        assert_eq!(backlog.used(), 0);
    }
}
