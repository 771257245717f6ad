//! Stores that a client wants a listener to have while the broker runs: whether they can be used is
//! found out by other threads, since files may keep one waiting.
//!
//! The controller's shard asks ([`StoreChecks::find`]) and comes again; threads that may take
//! their time look at what was asked for ([`StoreChecks::next`]) and tell ([`StoreChecks::tell`]).
//! What is decided then is said here, too ([`StoreChecks::put_in_force`]). What always holds: a
//! shard waits for no answer; what is asked for has an end; an answer counts for the request that
//! asked.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aplomb_model::Instant;

use crate::config::{SecurityConfig, TlsConfig};

/// Checks at a time. Each may stand still with its disk.
pub const MOST_CHECKS: usize = 16;

/// How long a request waits for a check: less than clients wait for requests.
const PATIENCE: Duration = Duration::from_secs(10);
/// The first and the longest wait between two looks for an answer.
const LOOKS: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(500)];

/// Another TLS for a listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreChange {
    /// Whose it would be, by the listener's name.
    pub listener: Arc<str>,
    /// What it would have.
    pub tls: Arc<TlsConfig>,
    /// Whether it has had a trust store.
    pub had_trust: bool,
}

/// All listeners with TLS, and what each is to have.
pub type TlsOfListeners = BTreeMap<Arc<str>, Arc<TlsConfig>>;

/// What is known of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CheckAnswer {
    /// Nothing yet: come again then.
    Pending(Instant),
    /// It can be used, or why it cannot.
    Known(Result<(), String>),
    /// It was not found out in time, or too much else is being.
    TooLate,
}

/// Work for a thread that may take its time.
#[derive(Debug)]
pub enum StoreTask {
    /// Find out whether this can be used, and tell.
    Check(StoreChange),
    /// This is decided: it is to be used.
    PutInForce(TlsOfListeners),
}

/// The checks that are asked for.
pub struct StoreChecks {
    state: Mutex<CheckState>,
    /// Has [`Self::next`] called soon.
    call: Box<dyn Fn() + Send + Sync>,
}

#[derive(Default)]
struct CheckState {
    checks: Vec<Check>,
    in_force: Option<TlsOfListeners>,
    is_closed: bool,
}

struct Check {
    change: StoreChange,
    since: Instant,
    /// Some thread looks at it.
    is_begun: bool,
    /// Who asked has been answered already.
    is_given_up: bool,
    verdict: Option<Result<(), String>>,
}

impl StoreChecks {
    /// None are asked for. `call` is to have [`Self::next`] called by a thread that may take its
    /// time, and may not wait for that.
    #[must_use]
    pub fn new(call: impl Fn() + Send + Sync + 'static) -> Self {
        Self { state: Mutex::default(), call: Box::new(call) }
    }

    /// What is known of a change. It is asked for if it has not been.
    pub(crate) fn find(&self, change: &StoreChange, now: Instant) -> CheckAnswer {
        let mut state = self.lock();
        if state.is_closed {
            return CheckAnswer::TooLate;
        }
        // Of connections that have gone meanwhile.
        state.checks.retain(|check| check.verdict.is_none() || now < check.since + 2 * PATIENCE);
        let full = state.checks.len() >= MOST_CHECKS;
        let Some(check) = state.checks.iter().find(|check| check.change == *change) else {
            if full {
                return CheckAnswer::TooLate;
            }
            let (change, verdict) = (change.clone(), None);
            state.checks.push(Check { change, since: now, is_begun: false, is_given_up: false, verdict });
            drop(state);
            (self.call)();
            return CheckAnswer::Pending(now + LOOKS[0]);
        };
        let waited = now.since(check.since);
        match &check.verdict {
            Some(verdict) => CheckAnswer::Known(verdict.clone()),
            // Who asks for the same again is told so at once, until the thread has ended.
            None if waited >= PATIENCE => CheckAnswer::TooLate,
            None => CheckAnswer::Pending(now + (waited / 2).clamp(LOOKS[0], LOOKS[1])),
        }
    }

    /// Who asked for a change is being answered: what is found out of it counts no more.
    pub(crate) fn forget(&self, change: &StoreChange) {
        let mut state = self.lock();
        let is_it = |check: &Check| check.change == *change;
        state.checks.retain(|check| !is_it(check) || check.is_begun && check.verdict.is_none());
        state.checks.iter_mut().filter(|check| is_it(check)).for_each(|check| check.is_given_up = true);
    }

    /// What is decided of all listeners.
    pub(crate) fn put_in_force(&self, security: &SecurityConfig) {
        self.lock().in_force = Some(tls_of_listeners(security));
        (self.call)();
    }

    /// The broker stops: nothing is found out any more.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
    }

    /// Takes out what some thread is to do now.
    pub fn next(&self) -> Option<StoreTask> {
        let mut state = self.lock();
        if let Some(all) = state.in_force.take() {
            return Some(StoreTask::PutInForce(all));
        }
        let check = state.checks.iter_mut().find(|check| !check.is_begun)?;
        check.is_begun = true;
        Some(StoreTask::Check(check.change.clone()))
    }

    /// Tells what was found out of a change.
    pub fn tell(&self, change: &StoreChange, verdict: Result<(), String>) {
        let mut state = self.lock();
        let place = state.checks.iter().position(|check| check.is_begun && check.change == *change);
        let Some(place) = place else { return };
        if state.checks[place].is_given_up {
            state.checks.swap_remove(place);
        } else {
            state.checks[place].verdict = Some(verdict);
        }
    }

    /// It is held to move a few pointers, and for no longer, as the locks of allocators are.
    fn lock(&self) -> MutexGuard<'_, CheckState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for StoreChecks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreChecks").finish_non_exhaustive()
    }
}

/// What the settings say of each listener with TLS.
#[must_use]
pub fn tls_of_listeners(security: &SecurityConfig) -> TlsOfListeners {
    let tls = |(name, of): (&Arc<str>, &crate::config::ListenerSecurity)| {
        Some((Arc::clone(name), Arc::clone(of.tls.as_ref()?)))
    };
    security.listeners.iter().filter_map(tls).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::config::{BrokerConfig, Properties};

    fn change(path: &str) -> StoreChange {
        let pairs = [
            ("listeners", "OUT://:9093"),
            ("listener.security.protocol.map", "OUT:SSL"),
            ("ssl.keystore.type", "PEM"),
            ("ssl.keystore.location", path),
        ];
        let pairs: Properties =
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let (config, _) = BrokerConfig::from_properties(&pairs).expect("valid");
        let (listener, tls) = tls_of_listeners(&config.security).pop_first().expect("one listener");
        StoreChange { listener, tls, had_trust: false }
    }

    fn after(time: Duration) -> Instant {
        Instant::START + time
    }

    #[test]
    fn a_change_is_looked_at_once_and_its_answer_is_for_who_asked() {
        let called = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&called);
        let checks = StoreChecks::new(move || {
            count.fetch_add(1, Ordering::Relaxed);
        });
        let (good, bad) = (change("good.pem"), change("bad.pem"));
        let now = Instant::START;
        for _ in 0..3 {
            assert_eq!(checks.find(&good, now), CheckAnswer::Pending(now + LOOKS[0]));
            assert_eq!(checks.find(&bad, now), CheckAnswer::Pending(now + LOOKS[0]));
        }
        assert_eq!(called.load(Ordering::Relaxed), 2, "each is asked for once");
        for expected in [&good, &bad] {
            let Some(StoreTask::Check(asked)) = checks.next() else { panic!("it was asked for") };
            assert_eq!(asked, *expected);
        }
        assert!(checks.next().is_none());
        checks.tell(&bad, Err("there is no key".to_owned()));
        assert_eq!(checks.find(&good, now), CheckAnswer::Pending(now + LOOKS[0]));
        checks.tell(&good, Ok(()));
        assert_eq!(checks.find(&good, now), CheckAnswer::Known(Ok(())));
        assert_eq!(checks.find(&bad, now), CheckAnswer::Known(Err("there is no key".to_owned())));
        checks.forget(&bad);
        assert!(
            matches!(checks.find(&bad, now), CheckAnswer::Pending(_)),
            "the next request has it looked at anew"
        );
    }

    #[test]
    fn a_disk_that_stands_still_costs_who_asked_its_patience_and_the_others_nothing() {
        let checks = StoreChecks::new(|| {});
        let (frozen, other) = (change("frozen.pem"), change("other.pem"));
        assert!(matches!(checks.find(&frozen, Instant::START), CheckAnswer::Pending(_)));
        assert!(matches!(checks.next(), Some(StoreTask::Check(_))));
        let almost = after(PATIENCE - Duration::from_millis(1));
        assert_eq!(checks.find(&frozen, almost), CheckAnswer::Pending(almost + LOOKS[1]));
        assert_eq!(checks.find(&frozen, after(PATIENCE)), CheckAnswer::TooLate);
        checks.forget(&frozen);
        assert!(matches!(checks.find(&other, after(PATIENCE)), CheckAnswer::Pending(_)));
        let Some(StoreTask::Check(asked)) = checks.next() else { panic!("the other is looked at") };
        assert_eq!(asked, other);
        let again = after(2 * PATIENCE);
        assert_eq!(checks.find(&frozen, again), CheckAnswer::TooLate, "it still stands still");
        checks.tell(&frozen, Ok(()));
        assert!(matches!(checks.find(&frozen, again), CheckAnswer::Pending(_)), "an old answer is none");
    }

    #[test]
    fn there_are_no_more_checks_than_may_stand_still() {
        let checks = StoreChecks::new(|| {});
        let change = |n: usize| change(&format!("{n}.pem"));
        for n in 0..MOST_CHECKS {
            assert!(matches!(checks.find(&change(n), Instant::START), CheckAnswer::Pending(_)));
        }
        assert_eq!(checks.find(&change(MOST_CHECKS), Instant::START), CheckAnswer::TooLate);
        let Some(StoreTask::Check(first)) = checks.next() else { panic!("the first") };
        checks.tell(&first, Ok(()));
        // Its client has gone without having come again.
        let later = after(2 * PATIENCE);
        assert!(matches!(checks.find(&change(MOST_CHECKS), later), CheckAnswer::Pending(_)));
        checks.close();
        assert_eq!(checks.find(&change(1), later), CheckAnswer::TooLate);
    }
}
