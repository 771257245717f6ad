//! What can be seen of a reactor from outside: counters that it writes and anybody reads.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of one reactor.
#[derive(Debug, Default)]
pub struct ReactorStats {
    requests: AtomicU64,
    turns: AtomicU64,
    busy_nanos: AtomicU64,
    longest_turn_nanos: AtomicU64,
    congested_turns: AtomicU64,
    unwritten: AtomicU64,
}

impl ReactorStats {
    /// Requests handed to the shard since the start.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Turns of the loop since the start.
    #[must_use]
    pub fn turns(&self) -> u64 {
        self.turns.load(Ordering::Relaxed)
    }

    /// Time between waits since the start, in nanoseconds.
    #[must_use]
    pub fn busy_nanos(&self) -> u64 {
        self.busy_nanos.load(Ordering::Relaxed)
    }

    /// The longest time between two waits since this was asked last, in nanoseconds.
    #[must_use]
    pub fn take_longest_turn_nanos(&self) -> u64 {
        self.longest_turn_nanos.swap(0, Ordering::Relaxed)
    }

    /// Turns in which no requests were read because another shard's mailbox was full.
    #[must_use]
    pub fn congested_turns(&self) -> u64 {
        self.congested_turns.load(Ordering::Relaxed)
    }

    /// Bytes of replies that clients had not taken when this was last looked at, which is once a second.
    #[must_use]
    pub fn unwritten(&self) -> u64 {
        self.unwritten.load(Ordering::Relaxed)
    }

    pub(super) fn set_unwritten(&self, bytes: u64) {
        self.unwritten.store(bytes, Ordering::Relaxed);
    }

    pub(super) fn on_requests(&self, count: u64) {
        self.requests.fetch_add(count, Ordering::Relaxed);
    }

    pub(super) fn on_turn(&self, nanos: u64, congested: bool) {
        self.turns.fetch_add(1, Ordering::Relaxed);
        self.busy_nanos.fetch_add(nanos, Ordering::Relaxed);
        self.longest_turn_nanos.fetch_max(nanos, Ordering::Relaxed);
        if congested {
            self.congested_turns.fetch_add(1, Ordering::Relaxed);
        }
    }
}
