//! What can be seen of a reactor from outside: counters that it writes and anybody reads.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use aplomb_model::Instant;

use crate::metrics::requests::RequestFigures;

/// Counters of one reactor.
#[derive(Debug, Default)]
pub struct ReactorStats {
    requests: AtomicU64,
    turns: AtomicU64,
    busy_nanos: AtomicU64,
    longest_turn_nanos: AtomicU64,
    congested_turns: AtomicU64,
    unwritten: AtomicU64,
    last_turn: AtomicU64,
    listeners: Vec<ListenerStats>,
    exchanges: RequestFigures,
}

/// What a reactor has of one listener.
#[derive(Debug)]
pub struct ListenerStats {
    name: Arc<str>,
    opened: AtomicU64,
    closed: AtomicU64,
}

impl ListenerStats {
    /// The listener's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Connections since the start.
    #[must_use]
    pub fn opened(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }

    /// Those of them that are closed.
    #[must_use]
    pub fn closed(&self) -> u64 {
        self.closed.load(Ordering::Relaxed)
    }
}

impl ReactorStats {
    /// For a reactor with connections of these listeners.
    pub(crate) fn new(listeners: impl Iterator<Item = Arc<str>>) -> Self {
        let listener = |name| ListenerStats { name, opened: AtomicU64::new(0), closed: AtomicU64::new(0) };
        Self { listeners: listeners.map(listener).collect(), ..Self::default() }
    }

    /// What it has of each listener.
    #[must_use]
    pub fn listeners(&self) -> &[ListenerStats] {
        &self.listeners
    }

    /// When its last turn ended; `None` before the first.
    #[must_use]
    pub fn last_turn(&self) -> Option<Instant> {
        match self.last_turn.load(Ordering::Relaxed) {
            0 => None,
            nanos => Some(Instant::from_nanos(nanos)),
        }
    }

    /// Times of requests.
    pub(crate) fn exchanges(&self) -> &RequestFigures {
        &self.exchanges
    }

    pub(crate) fn on_connection(&self, listener: &str) {
        if let Some(listener) = self.listeners.iter().find(|known| &*known.name == listener) {
            listener.opened.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn on_connection_closed(&self, listener: &str) {
        if let Some(listener) = self.listeners.iter().find(|known| &*known.name == listener) {
            listener.closed.fetch_add(1, Ordering::Relaxed);
        }
    }

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

    pub(crate) fn on_turn(&self, ended: Instant, nanos: u64, congested: bool) {
        self.last_turn.store(ended.as_nanos(), Ordering::Relaxed);
        self.turns.fetch_add(1, Ordering::Relaxed);
        self.busy_nanos.fetch_add(nanos, Ordering::Relaxed);
        self.longest_turn_nanos.fetch_max(nanos, Ordering::Relaxed);
        if congested {
            self.congested_turns.fetch_add(1, Ordering::Relaxed);
        }
    }
}
