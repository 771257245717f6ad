//! The memory bound on clients that have not shown who they are, for one shard.
//!
//! A stranger is charged what a connection takes before a byte has come, and what it has sent that
//! is no whole request yet: half a handshake, half a frame. While all together take more than they
//! may, the loop closes those that it waits for (`loops/clients/sweep.rs`). What is charged here is
//! a part of the memory for frames, so that those who are in have the rest to themselves.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aplomb_model::Instant;

/// This part of a shard's memory for frames is for strangers.
const PART: usize = 4;

/// What a connection takes before a byte has come, without TLS and with it, in bytes: our own
/// state, and a session's.
const BASE: usize = 4 * 1024;
const BASE_TLS: usize = 8 * 1024;

/// The bound, and how much of it is in use.
#[derive(Debug)]
pub(crate) struct Strangers {
    limit: usize,
    used: AtomicUsize,
}

/// What one stranger takes. Forgotten when it is known, or dropped.
#[derive(Debug, Default)]
pub(crate) struct Stay {
    strangers: Option<Arc<Strangers>>,
    since: Instant,
    base: usize,
    bytes: usize,
}

/// Who is to go when strangers take too much: the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Overstay {
    /// Who holds twice as much goes first.
    size: std::cmp::Reverse<u32>,
    /// Then who is there for longest.
    pub(crate) since: Instant,
    pub(crate) number: u64,
}

impl Strangers {
    /// A bound for a shard whose frames may take so many bytes.
    pub(crate) fn new(frames: usize) -> Arc<Self> {
        Arc::new(Self { limit: frames / PART, used: AtomicUsize::new(0) })
    }

    /// Bytes that strangers take.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// The bound, in bytes.
    #[cfg(test)]
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// What they take more than they may.
    pub(crate) fn excess(&self) -> usize {
        self.used().saturating_sub(self.limit)
    }

    /// Whether they take twice as much as they may.
    pub(crate) fn are_too_many(&self) -> bool {
        self.used() / 2 >= self.limit
    }

    /// One that has come.
    pub(crate) fn stay(self: &Arc<Self>, has_tls: bool, since: Instant) -> Stay {
        let base = if has_tls { BASE_TLS } else { BASE };
        let mut stay = Stay { strangers: Some(Arc::clone(self)), since, base, bytes: 0 };
        stay.hold(0);
        stay
    }
}

impl Stay {
    /// It has sent so much that is no whole request.
    pub(crate) fn hold(&mut self, sent: usize) {
        let Some(strangers) = &self.strangers else { return };
        let bytes = self.base + sent;
        // What is added before it is taken away is never too little.
        strangers.used.fetch_add(bytes, Ordering::Relaxed);
        strangers.used.fetch_sub(self.bytes, Ordering::Relaxed);
        self.bytes = bytes;
    }

    /// It is no stranger any more.
    pub(crate) fn end(&mut self) {
        if let Some(strangers) = self.strangers.take() {
            strangers.used.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }

    /// What it takes, and since when, if it is a stranger.
    pub(crate) fn overstay(&self, number: u64) -> Option<(Overstay, usize)> {
        self.strangers.as_ref()?;
        let size = std::cmp::Reverse(self.bytes.checked_ilog2().unwrap_or(0));
        Some((Overstay { size, since: self.since, number }, self.bytes))
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_are_charged_until_they_are_known_or_gone() {
        let strangers = Strangers::new(64_000);
        let mut first = strangers.stay(true, Instant::START);
        let mut second = strangers.stay(false, Instant::START);
        assert_eq!(strangers.used(), BASE_TLS + BASE);
        first.hold(10_000);
        first.hold(9_000);
        assert_eq!((strangers.used(), strangers.excess()), (BASE_TLS + BASE + 9_000, 5_288));
        assert!(!strangers.are_too_many());
        second.hold(30_000);
        assert!(strangers.are_too_many());
        second.end();
        second.hold(1 << 20);
        assert_eq!(strangers.used(), BASE_TLS + 9_000);
        assert!(second.overstay(1).is_none());
        drop(first);
        assert_eq!(strangers.used(), 0);
    }

    #[test]
    fn who_holds_much_goes_before_who_is_there_for_long() {
        let strangers = Strangers::new(1 << 20);
        let at = Instant::from_nanos;
        let stays = [(at(3), 100_000), (at(1), 0), (at(2), 100)];
        let stays = stays.map(|(since, sent)| {
            let mut stay = strangers.stay(false, since);
            stay.hold(sent);
            stay
        });
        let mut order: Vec<_> =
            stays.iter().zip(0..).filter_map(|(stay, number)| stay.overstay(number)).collect();
        order.sort_unstable();
        assert_eq!(order.iter().map(|(overstay, _)| overstay.number).collect::<Vec<_>>(), [0, 1, 2]);
    }
}
