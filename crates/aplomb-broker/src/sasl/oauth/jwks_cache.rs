//! Where the keys of an issuer lie: put there by the thread that fetches them, looked up by those
//! that carry requests.
//!
//! What always holds: who looks keys up waits for nothing. Two sets lie here, one of which counts;
//! a new one is put in place of the other, and counts from then on.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, TryLockError};
use std::time::Duration;

use aplomb_model::Instant;

use super::jwks::KeySet;

/// How many ids that no key has are remembered; the one that was asked for least lately is
/// forgotten first.
const REMEMBERED: usize = 16;

/// How long new keys are not asked for again because of the same id.
const PAUSE: Duration = Duration::from_secs(60);

/// A longer id is no reason to ask for new keys, in characters.
const LONGEST_ID: usize = 1000;

/// Keys of one issuer.
pub struct JwksCache {
    sets: [RwLock<Arc<KeySet>>; 2],
    counts: AtomicUsize,
    missing: Mutex<VecDeque<(String, Instant)>>,
    is_wanted: AtomicBool,
    bell: Box<dyn Fn() + Send + Sync>,
}

impl fmt::Debug for JwksCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JwksCache").field("keys", &self.keys()).finish_non_exhaustive()
    }
}

impl JwksCache {
    /// One without keys. `bell` wakes who fetches them, and may not wait.
    #[must_use]
    pub fn new(bell: Box<dyn Fn() + Send + Sync>) -> Self {
        Self {
            sets: Default::default(),
            counts: AtomicUsize::new(0),
            missing: Mutex::default(),
            is_wanted: AtomicBool::new(false),
            bell,
        }
    }

    /// The keys that count.
    #[must_use]
    pub fn keys(&self) -> Arc<KeySet> {
        loop {
            let counts = self.counts.load(Ordering::Acquire);
            // What counts is not written to: this goes round again only if two new sets came
            // meanwhile.
            match self.sets[counts].try_read() {
                Ok(set) => return Arc::clone(&set),
                Err(TryLockError::Poisoned(set)) => return Arc::clone(&set.into_inner()),
                Err(TryLockError::WouldBlock) => std::hint::spin_loop(),
            }
        }
    }

    /// These keys count from here on. One thread alone may call this.
    pub fn put(&self, keys: KeySet) {
        {
            let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
            missing.retain(|(id, _)| keys.ids().all(|found| found != id));
        }
        let other = 1 - self.counts.load(Ordering::Acquire);
        *self.sets[other].write().unwrap_or_else(PoisonError::into_inner) = Arc::new(keys);
        self.counts.store(other, Ordering::Release);
    }

    /// A token was signed by a key of this id, at `now`, and there is none: newer keys may have it.
    pub(super) fn miss(&self, id: &str, now: Instant) {
        if id.chars().count() > LONGEST_ID {
            return;
        }
        // Who has it is about the same, or puts new keys in.
        let Ok(mut missing) = self.missing.try_lock() else { return };
        let known = missing.iter().position(|(known, _)| known == id).and_then(|at| missing.remove(at));
        let until = known.map(|(_, until)| until).filter(|until| *until > now);
        missing.push_back((id.to_owned(), until.unwrap_or(now + PAUSE)));
        if missing.len() > REMEMBERED {
            missing.pop_front();
        }
        drop(missing);
        if until.is_none() {
            self.is_wanted.store(true, Ordering::Release);
            (self.bell)();
        }
    }

    /// Whether newer keys are asked for, since this was asked last.
    #[must_use]
    pub fn take_wish(&self) -> bool {
        self.is_wanted.swap(false, Ordering::AcqRel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache() -> JwksCache {
        JwksCache::new(Box::new(|| {}))
    }

    fn at(seconds: u64) -> Instant {
        Instant::START + Duration::from_secs(seconds)
    }

    fn set(id: &str) -> KeySet {
        let x = "A".repeat(43);
        let text =
            format!("{{\"keys\":[{{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"{id}\",\"x\":\"{x}\"}}]}}");
        KeySet::parse(text.as_bytes()).expect("a set")
    }

    #[test]
    fn the_newest_keys_count_and_older_ones_stay_with_who_has_them() {
        let cache = cache();
        assert!(cache.keys().is_empty());
        cache.put(set("a"));
        let before = cache.keys();
        for id in ["b", "c", "d"] {
            cache.put(set(id));
            assert_eq!(cache.keys().ids().collect::<Vec<_>>(), [id]);
        }
        assert_eq!(before.ids().collect::<Vec<_>>(), ["a"]);
    }

    #[test]
    fn an_id_that_no_key_has_asks_for_new_keys_once_a_minute() {
        let cache = cache();
        cache.miss("a", at(0));
        assert!(cache.take_wish() && !cache.take_wish());
        cache.miss("a", at(59));
        assert!(!cache.take_wish());
        cache.miss("a", at(60));
        assert!(cache.take_wish());
        // One that was found counts as new when it is missing again.
        cache.put(set("a"));
        cache.miss("a", at(61));
        assert!(cache.take_wish());
    }

    #[test]
    fn what_strangers_name_is_forgotten_again() {
        let cache = cache();
        for n in 0..1_000_000 {
            cache.miss(&n.to_string(), at(0));
        }
        let missing = cache.missing.lock().expect("one thread");
        assert_eq!((missing.len(), missing[0].0.as_str()), (REMEMBERED, "999984"));
        drop(missing);
        assert!(cache.take_wish());
        cache.miss(&"é".repeat(1001), at(0));
        assert!(!cache.take_wish());
        cache.miss(&"é".repeat(1000), at(0));
        assert!(cache.take_wish());
    }

    #[test]
    fn who_looks_while_keys_change_finds_some() {
        let cache = cache();
        cache.put(set("0"));
        std::thread::scope(|threads| {
            for _ in 0..2 {
                threads.spawn(|| (0..20_000).for_each(|_| assert_eq!(cache.keys().len(), 1)));
            }
            (1..2_000).for_each(|n| cache.put(set(&n.to_string())));
        });
        assert_eq!(cache.keys().ids().collect::<Vec<_>>(), ["1999"]);
    }
}
