//! Deadlines, cancelled by key.
//!
//! A deadline that is not needed any more is taken out at once, so that the table is as large as
//! what waits, however far away the deadlines were: a consumer's long poll says two billion
//! milliseconds. One that is put off stays in line where it was, and goes to its new place when it
//! gets to the front: ten thousand members put theirs off every three seconds, by forty-five.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher, Hash, RandomState};

use crate::Instant;

/// So many that were put off go to their new places in one call.
const PUT_OFF_AT_ONCE: usize = 64;

/// When something is to come up, and when it is looked at next, which is no later.
#[derive(Clone, Copy, Debug)]
struct Deadline {
    at: Instant,
    in_line: Instant,
}

/// The deadlines of what is named by `K`: at most one each. `S` hashes the names.
///
/// What always holds: both tables have the same keys, and nothing stands in line later than its
/// deadline.
#[derive(Debug)]
pub struct Timers<K, S = RandomState> {
    line: BTreeSet<(Instant, K)>,
    by_key: HashMap<K, Deadline, S>,
}

impl<K, S: Default> Default for Timers<K, S> {
    fn default() -> Self {
        Self { line: BTreeSet::new(), by_key: HashMap::default() }
    }
}

impl<K: Clone + Ord + Hash, S: BuildHasher> Timers<K, S> {
    /// Sets the deadline of `key`, in place of the one that it may have.
    pub fn set(&mut self, key: K, at: Instant) {
        match self.by_key.entry(key) {
            Entry::Vacant(entry) => {
                self.line.insert((at, entry.key().clone()));
                entry.insert(Deadline { at, in_line: at });
            }
            Entry::Occupied(mut entry) => {
                let deadline = *entry.get();
                let mut in_line = deadline.in_line;
                if at < in_line {
                    let mut place = (in_line, entry.key().clone());
                    assert!(self.line.remove(&place), "both tables have the same keys");
                    place.0 = at;
                    self.line.insert(place);
                    in_line = at;
                }
                entry.insert(Deadline { at, in_line });
            }
        }
    }

    /// Takes the deadline of `key` out, if it has one.
    pub fn cancel(&mut self, key: &K) {
        if let Some((key, deadline)) = self.by_key.remove_entry(key) {
            assert!(self.line.remove(&(deadline.in_line, key)), "both tables have the same keys");
        }
    }

    /// Whether `key` has a deadline.
    #[must_use]
    pub fn has(&self, key: &K) -> bool {
        self.by_key.contains_key(key)
    }

    /// Takes all deadlines out.
    pub fn clear(&mut self) {
        self.line.clear();
        self.by_key.clear();
    }

    /// When [`Self::pop_due`] is to be called: no later than the earliest deadline.
    #[must_use]
    pub fn wake_at(&self) -> Option<Instant> {
        self.line.first().map(|(at, _)| *at)
    }

    /// Takes out the earliest deadline, if it has come by `now`. Gives none also where many were
    /// put off that stand before it; [`Self::wake_at`] says then that it is to be called again.
    pub fn pop_due(&mut self, now: Instant) -> Option<K> {
        for _ in 0..=PUT_OFF_AT_ONCE {
            if self.line.first()?.0 > now {
                return None;
            }
            let (in_line, key) = self.line.pop_first().expect("there is a first one");
            let deadline = self.by_key.get_mut(&key).expect("both tables have the same keys");
            assert_eq!(deadline.in_line, in_line, "both tables have the same places");
            if deadline.at == in_line {
                self.by_key.remove(&key);
                return Some(key);
            }
            deadline.in_line = deadline.at;
            self.line.insert((deadline.at, key));
        }
        None
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
        let mut timers = Timers::<_>::default();
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
        let mut timers = Timers::<_>::default();
        for n in 0..1_000_000_u64 {
            timers.set(n % 10, at(1_000_000 + n));
        }
        assert_eq!((timers.line.len(), timers.by_key.len()), (10, 10));
        for key in 0..10 {
            timers.cancel(&key);
            timers.cancel(&key);
        }
        assert_eq!((timers.line.len(), timers.by_key.len()), (0, 0));
        assert_eq!(timers.wake_at(), None);
    }

    #[test]
    fn a_deadline_comes_up_when_it_was_last_set_to_be_earlier_or_later() {
        let mut timers = Timers::<_>::default();
        timers.set("put off", at(3));
        timers.set("put off", at(9));
        timers.set("put off", at(7));
        timers.set("brought forward", at(8));
        timers.set("brought forward", at(2));
        assert_eq!(timers.pop_due(at(2)), Some("brought forward"));
        assert_eq!(timers.pop_due(at(6)), None);
        assert_eq!(timers.wake_at(), Some(at(7)));
        assert_eq!(timers.pop_due(at(7)), Some("put off"));
        assert_eq!(timers.wake_at(), None);
    }

    #[test]
    fn however_many_were_put_off_a_call_looks_at_few() {
        let mut timers = Timers::<_>::default();
        for n in 0..1_000 {
            timers.set(n, at(3));
            timers.set(n, at(100));
        }
        timers.set(1_000, at(4));
        let mut calls = 0;
        let first = loop {
            calls += 1;
            assert!(timers.wake_at() <= Some(at(4)), "it is to be called again");
            if let Some(key) = timers.pop_due(at(4)) {
                break key;
            }
        };
        assert_eq!(first, 1_000);
        assert!(calls > 1_000 / (PUT_OFF_AT_ONCE + 1), "{calls} calls");
        assert_eq!(timers.wake_at(), Some(at(100)));
    }
}
