//! What one shard's loop counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use aplomb_broker::sasl::RefusalKind;
use aplomb_model::Instant;

use super::requests::RequestFigures;

/// A number that one thread changes and others read.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    pub(crate) fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }
}

/// Counters of one shard's loop, since the start where nothing else is said.
#[derive(Debug, Default)]
pub(crate) struct LoopFigures {
    /// Requests handed to the shard.
    pub(crate) requests: Counter,
    pub(crate) turns: Counter,
    /// Time between waits, in nanoseconds.
    pub(crate) busy_nanos: Counter,
    /// Turns in which no requests were read because another shard's mailbox was full.
    pub(crate) congested_turns: Counter,
    /// Bytes of replies that clients had not taken when this was last looked at, once a second.
    pub(crate) unwritten: Counter,
    /// Bytes of clients that had not shown who they are, the same.
    pub(crate) strangers: Counter,
    /// Such clients that were closed because all of them took too much.
    pub(crate) turned_out: Counter,
    longest_turn_nanos: AtomicU64,
    last_turn: Counter,
    listeners: Vec<ListenerFigures>,
    exchanges: RequestFigures,
}

/// The connections that came to a loop by one listener.
#[derive(Debug)]
pub(crate) struct ListenerFigures {
    pub(crate) name: Arc<str>,
    pub(crate) opened: Counter,
    pub(crate) closed: Counter,
    /// Those that showed who they are, did so anew, did not, did not anew, and went on when their
    /// time was up.
    pub(crate) authentications: [Counter; 5],
}

impl LoopFigures {
    /// For a loop with connections of these listeners.
    pub(crate) fn new(listeners: impl Iterator<Item = Arc<str>>) -> Self {
        let figures = |name| ListenerFigures {
            name,
            opened: Counter::default(),
            closed: Counter::default(),
            authentications: Default::default(),
        };
        Self { listeners: listeners.map(figures).collect(), ..Self::default() }
    }

    /// Its connections by listener.
    pub(crate) fn listeners(&self) -> &[ListenerFigures] {
        &self.listeners
    }

    /// Its requests by API.
    pub(crate) fn exchanges(&self) -> &RequestFigures {
        &self.exchanges
    }

    /// When its last turn ended; `None` before the first.
    pub(crate) fn last_turn(&self) -> Option<Instant> {
        match self.last_turn.get() {
            0 => None,
            nanos => Some(Instant::from_nanos(nanos)),
        }
    }

    /// The longest turn since this was asked last.
    pub(crate) fn take_longest_turn(&self) -> Duration {
        Duration::from_nanos(self.longest_turn_nanos.swap(0, Ordering::Relaxed))
    }

    pub(crate) fn on_connection(&self, listener: &str) {
        if let Some(listener) = self.listener(listener) {
            listener.opened.add(1);
        }
    }

    pub(crate) fn on_connection_closed(&self, listener: &str) {
        if let Some(listener) = self.listener(listener) {
            listener.closed.add(1);
        }
    }

    pub(crate) fn on_authenticated(&self, listener: &str, again: bool) {
        if let Some(listener) = self.listener(listener) {
            listener.authentications[usize::from(again)].add(1);
        }
    }

    pub(crate) fn on_refused(&self, listener: &str, kind: RefusalKind) {
        let place = match kind {
            RefusalKind::Failed => 2,
            RefusalKind::FailedAgain => 3,
            RefusalKind::Expired => 4,
        };
        if let Some(listener) = self.listener(listener) {
            listener.authentications[place].add(1);
        }
    }

    /// A turn has ended that began at `began`.
    pub(crate) fn on_turn(&self, began: Instant, ended: Instant, congested: bool) {
        let nanos = u64::try_from(ended.since(began).as_nanos()).unwrap_or(u64::MAX);
        self.last_turn.set(ended.as_nanos());
        self.turns.add(1);
        self.busy_nanos.add(nanos);
        self.longest_turn_nanos.fetch_max(nanos, Ordering::Relaxed);
        self.congested_turns.add(u64::from(congested));
    }

    fn listener(&self, name: &str) -> Option<&ListenerFigures> {
        self.listeners.iter().find(|listener| &*listener.name == name)
    }
}
