//! What holders of delegation tokens are compared with: keys that are derived from a token as from
//! a password, which takes a millisecond or two and so is not for a thread that carries requests.
//!
//! A shard asks ([`TokenKeys::find`]) and comes again; another thread derives
//! ([`TokenKeys::derive_next`]) what has been asked for, each once. What always holds: a shard
//! waits for no lock; what is kept and what is asked for has an end.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};

use aplomb_protocol::messages::UserScramCredentialRecord;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;

use crate::scram::{MIN_ITERATIONS, ScramHash};
use crate::security::TokenKey;

/// Keys that are kept: of half as many tokens, if both mechanisms are used.
const KEPT: usize = 32_768;
/// Keys that may be asked for at a time. Who asks for more comes again.
const WANTED: usize = 1024;

/// Which keys: a mechanism's, of a token.
type Which = (ScramHash, Box<str>);

/// The keys of tokens that were asked for.
pub struct TokenKeys {
    key: TokenKey,
    state: Mutex<Derived>,
    /// Has [`Self::derive_next`] called soon.
    call: Box<dyn Fn() + Send + Sync>,
}

#[derive(Default)]
struct Derived {
    kept: HashMap<Which, Arc<UserScramCredentialRecord>>,
    /// In the order in which they were derived.
    order: VecDeque<Which>,
    wanted: VecDeque<(Which, Bytes)>,
    /// What is in `wanted`, or being derived.
    pending: HashSet<Which>,
}

impl TokenKeys {
    /// Of tokens that are signed with `key`. `call` is to have [`Self::derive_next`] called by a
    /// thread that may take its time, and may not wait for that.
    #[must_use]
    pub fn new(key: TokenKey, call: impl Fn() + Send + Sync + 'static) -> Self {
        Self { key, state: Mutex::default(), call: Box::new(call) }
    }

    /// The keys of a token, salted so. `None`: not yet; they are being derived, or will be when it
    /// is asked again.
    pub(crate) fn find(
        &self,
        hash: ScramHash,
        token: &str,
        salt: &Bytes,
    ) -> Option<Arc<UserScramCredentialRecord>> {
        let mut state = self.state.try_lock().ok()?;
        let which = (hash, token.into());
        if let Some(kept) = state.kept.get(&which) {
            return Some(Arc::clone(kept));
        }
        if state.wanted.len() < WANTED && state.pending.insert(which.clone()) {
            state.wanted.push_back((which, salt.clone()));
            drop(state);
            (self.call)();
        }
        None
    }

    /// Derives what was asked for first, which takes a millisecond or two. Whether anything was.
    pub fn derive_next(&self) -> bool {
        let next = self.lock().wanted.pop_front();
        let Some((which, salt)) = next else { return false };
        let iterations = NonZeroU32::new(MIN_ITERATIONS.unsigned_abs()).expect("some thousands");
        let (hash, token) = &which;
        let password = STANDARD.encode(self.key.sign(token));
        let salted = hash.salt_password(&password, &salt, iterations);
        let derived = Arc::new(hash.credential(token, salt, &salted, MIN_ITERATIONS));
        let mut state = self.lock();
        state.pending.remove(&which);
        if state.order.len() == KEPT
            && let Some(oldest) = state.order.pop_front()
        {
            state.kept.remove(&oldest);
        }
        state.order.push_back(which.clone());
        state.kept.insert(which, derived);
        true
    }

    /// Not for a thread that carries requests.
    fn lock(&self) -> std::sync::MutexGuard<'_, Derived> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for TokenKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenKeys").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    const SALT: Bytes = Bytes::from_static(b"salt");

    fn keys() -> (TokenKeys, Arc<AtomicUsize>) {
        let called = Arc::new(AtomicUsize::new(0));
        let calls = Arc::clone(&called);
        let count = move || {
            calls.fetch_add(1, Ordering::Relaxed);
        };
        (TokenKeys::new(TokenKey::new("secret"), count), called)
    }

    #[test]
    fn keys_are_derived_once_however_often_they_are_asked_for() {
        let (keys, called) = keys();
        for _ in 0..3 {
            assert!(keys.find(ScramHash::Sha256, "token", &SALT).is_none());
        }
        assert_eq!(called.load(Ordering::Relaxed), 1);
        assert!(keys.derive_next());
        assert!(!keys.derive_next(), "once");
        let found = keys.find(ScramHash::Sha256, "token", &SALT).expect("derived");
        assert_eq!((found.iterations, &found.salt), (4096, &SALT));
        assert!(keys.find(ScramHash::Sha512, "token", &SALT).is_none(), "another mechanism's are others");
    }

    #[test]
    fn what_is_asked_for_at_a_time_has_an_end() {
        let (keys, called) = keys();
        for n in 0..WANTED + 10 {
            assert!(keys.find(ScramHash::Sha256, &format!("token {n}"), &SALT).is_none());
        }
        assert_eq!((keys.lock().wanted.len(), called.load(Ordering::Relaxed)), (WANTED, WANTED));
        assert!(keys.derive_next());
        let late = format!("token {}", WANTED + 5);
        assert!(keys.find(ScramHash::Sha256, &late, &SALT).is_none());
        assert_eq!(keys.lock().wanted.len(), WANTED, "there was room for one more");
    }

    #[test]
    fn what_is_kept_has_an_end_and_the_oldest_go_first() {
        let (keys, _) = keys();
        let which = |n: usize| (ScramHash::Sha256, format!("token {n}").into_boxed_str());
        let any = Arc::new(UserScramCredentialRecord::default());
        {
            let mut state = keys.lock();
            for n in 0..KEPT {
                state.order.push_back(which(n));
                state.kept.insert(which(n), Arc::clone(&any));
            }
        }
        assert!(keys.find(ScramHash::Sha256, "another", &SALT).is_none());
        assert!(keys.derive_next());
        let state = keys.lock();
        assert_eq!((state.kept.len(), state.order.len()), (KEPT, KEPT));
        assert!(!state.kept.contains_key(&which(0)) && state.kept.contains_key(&which(1)));
    }

    #[test]
    fn who_finds_the_lock_taken_comes_again() {
        let (keys, _) = keys();
        keys.find(ScramHash::Sha256, "token", &SALT);
        keys.derive_next();
        let held = keys.lock();
        assert!(keys.find(ScramHash::Sha256, "token", &SALT).is_none());
        drop(held);
        assert!(keys.find(ScramHash::Sha256, "token", &SALT).is_some());
    }
}
