//! Deadlines, cancelled by key.
//!
//! A deadline that is not needed any more is taken out at once, so that the table is as large as
//! what waits, however far away the deadlines were: ten thousand members reset theirs every three
//! seconds, and a consumer's long poll says two billion milliseconds.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

use crate::Instant;

/// The deadlines of what is named by `K`: at most one each.
///
/// What always holds: both tables have the same keys, with the same times.
#[derive(Debug)]
pub struct Timers<K> {
    by_time: BTreeSet<(Instant, K)>,
    by_key: HashMap<K, Instant>,
}

impl<K> Default for Timers<K> {
    fn default() -> Self {
        Self { by_time: BTreeSet::new(), by_key: HashMap::new() }
    }
}

impl<K: Clone + Ord + Hash> Timers<K> {
    /// Sets the deadline of `key`, in place of the one that it may have.
    pub fn set(&mut self, key: K, at: Instant) {
        if let Some(before) = self.by_key.insert(key.clone(), at) {
            if before == at {
                return;
            }
            assert!(self.by_time.remove(&(before, key.clone())), "both tables have the same keys");
        }
        self.by_time.insert((at, key));
    }

    /// Takes the deadline of `key` out, if it has one.
    pub fn cancel(&mut self, key: &K) {
        if let Some((key, at)) = self.by_key.remove_entry(key) {
            assert!(self.by_time.remove(&(at, key)), "both tables have the same keys");
        }
    }

    /// Whether `key` has a deadline.
    #[must_use]
    pub fn has(&self, key: &K) -> bool {
        self.by_key.contains_key(key)
    }

    /// Takes all deadlines out.
    pub fn clear(&mut self) {
        self.by_time.clear();
        self.by_key.clear();
    }

    /// The earliest deadline.
    #[must_use]
    pub fn wake_at(&self) -> Option<Instant> {
        self.by_time.first().map(|(at, _)| *at)
    }

    /// Takes out the earliest deadline, if it has come by `now`.
    pub fn pop_due(&mut self, now: Instant) -> Option<K> {
        if self.by_time.first()?.0 > now {
            return None;
        }
        let (at, key) = self.by_time.pop_first().expect("there is a first one");
        assert_eq!(self.by_key.remove(&key), Some(at), "both tables have the same keys");
        Some(key)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::START + Duration::from_secs(seconds)
    }

    #[test]
    fn deadlines_come_up_in_their_order_and_only_when_their_time_has_come() {
        let mut timers = Timers::default();
        timers.set("late", at(9));
        timers.set("early", at(3));
        timers.set("same", at(3));
        assert_eq!(timers.wake_at(), Some(at(3)));
        assert_eq!(timers.pop_due(at(2)), None);
        assert_eq!(timers.pop_due(at(3)), Some("early"));
        assert_eq!(timers.pop_due(at(3)), Some("same"));
        assert_eq!(timers.pop_due(at(3)), None);
        assert_eq!(timers.wake_at(), Some(at(9)));
    }

    #[test]
    fn a_deadline_that_is_set_again_or_cancelled_leaves_nothing_behind() {
        let mut timers = Timers::default();
        for n in 0..1_000_000_u64 {
            timers.set(n % 10, at(1_000_000 + n));
        }
        assert_eq!((timers.by_time.len(), timers.by_key.len()), (10, 10));
        for key in 0..10 {
            timers.cancel(&key);
            timers.cancel(&key);
        }
        assert_eq!((timers.by_time.len(), timers.by_key.len()), (0, 0));
        assert_eq!(timers.wake_at(), None);
    }
}
