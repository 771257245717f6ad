//! What clients with quotas have used: one book for all shards, since a client may have connections
//! to each, and a quota is the broker's.
//!
//! What always holds: a lock is held for some arithmetic, and no shard waits for one. A shard that
//! finds it taken is told so, and charges the next time. There are no more accounts than
//! [`MOST`]; those that have used nothing for the longest time lose theirs for new ones.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use aplomb_model::Instant;

use super::rate::{Rate, Windows, millis};
use super::rules::{Match, QuotaKind};

/// Parts of the book, each with a lock of its own.
const STRIPES: usize = 64;
/// Accounts that there are at most, in all parts together.
pub const MOST: usize = 64_000;
/// How often a shard looks whether a lock is free. It is held for less than this takes.
const LOOKS: usize = 100;
/// The longest name that is kept.
const LONGEST: usize = 256;

/// Where a client's use is written down: the same for all that share a quota.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Account {
    pub(super) id: u64,
    pub(super) shared_by: Match,
}

/// What was used by those that share a quota.
#[derive(Debug)]
struct Used {
    kind: QuotaKind,
    user: Option<Arc<str>>,
    client: Option<Arc<str>>,
    limit: f64,
    rate: Rate,
    /// What they were throttled for last, in milliseconds.
    throttled: i64,
}

/// How those that share a quota stand.
#[derive(Clone, Debug, PartialEq)]
pub struct QuotaUse {
    /// What is measured.
    pub kind: QuotaKind,
    /// The user that shares it; `None` is all.
    pub user: Option<Arc<str>>,
    /// The client id that shares it; `None` is all.
    pub client: Option<Arc<str>>,
    /// What they may use in a second.
    pub limit: f64,
    /// What they use in a second.
    pub rate: f64,
    /// For how many milliseconds they were throttled last.
    pub throttled: i64,
}

/// The book.
#[derive(Debug)]
pub struct Ledger {
    windows: Windows,
    hasher: RandomState,
    stripes: Vec<Mutex<HashMap<u64, Used>>>,
}

impl Default for Ledger {
    /// With Apache Kafka's default windows.
    fn default() -> Self {
        Self::new(Windows { count: 11, millis: 1000 })
    }
}

/// What came of writing something down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Charged {
    /// For how many milliseconds there is to be nothing more; 0 if it is not too much.
    pub(super) excess: i64,
    /// There was nothing before.
    pub(super) is_all: bool,
}

/// Another thread is writing.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Taken;

impl Ledger {
    /// An empty one, with what rates are measured over.
    #[must_use]
    pub fn new(windows: Windows) -> Self {
        let stripes = (0..STRIPES).map(|_| Mutex::default()).collect();
        Self { windows, hasher: RandomState::new(), stripes }
    }

    /// What rates are measured over.
    pub(super) fn windows(&self) -> Windows {
        self.windows
    }

    /// A number for something, as good as its name: clients cannot find two with the same.
    pub(super) fn number(&self, name: impl std::hash::Hash) -> u64 {
        self.hasher.hash_one(name)
    }

    /// The account of those that share a quota.
    pub(super) fn account(&self, kind: QuotaKind, shared_by: Match) -> Account {
        Account { id: self.number((kind, &shared_by.user, &shared_by.client)), shared_by }
    }

    /// Writes down what was used, or takes back what was.
    pub(super) fn charge(
        &self,
        kind: QuotaKind,
        account: &Account,
        amount: f64,
        now: i64,
    ) -> Result<Charged, Taken> {
        let Match { user, client, limit } = &account.shared_by;
        let mut stripe = self.stripe(account.id)?;
        if !stripe.contains_key(&account.id) && stripe.len() >= MOST / STRIPES {
            forget_half(&mut stripe);
        }
        let used = stripe.entry(account.id).or_insert_with(|| Used {
            kind,
            user: user.as_deref().map(short),
            client: client.as_deref().map(short),
            limit: *limit,
            rate: Rate::default(),
            throttled: 0,
        });
        used.limit = *limit;
        let is_all = used.rate.measure(self.windows, now) <= 0.0;
        used.rate.record(self.windows, amount, now);
        Ok(Charged { excess: used.rate.excess(self.windows, *limit, now).unwrap_or(0), is_all })
    }

    /// Remembers for how long those were throttled, for who looks.
    pub(super) fn note_throttled(&self, account: &Account, millis: i64) {
        if let Ok(mut stripe) = self.stripe(account.id)
            && let Some(used) = stripe.get_mut(&account.id)
        {
            used.throttled = millis;
        }
    }

    /// How those stand that have used something lately, `most` of them.
    #[must_use]
    pub fn standings(&self, most: usize, now: Instant) -> Vec<QuotaUse> {
        let now = millis(now);
        let mut standings = Vec::new();
        for stripe in &self.stripes {
            // Shards do not wait for who looks, and who looks may wait for them.
            let mut stripe = stripe.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            stripe.retain(|_, used| !used.rate.is_over(self.windows, now));
            standings.extend(stripe.values_mut().take(most - standings.len()).map(|used| QuotaUse {
                kind: used.kind,
                user: used.user.clone(),
                client: used.client.clone(),
                limit: used.limit,
                rate: used.rate.measure(self.windows, now),
                throttled: used.throttled,
            }));
        }
        standings.sort_by(|a, b| (a.kind, &a.user, &a.client).cmp(&(b.kind, &b.user, &b.client)));
        standings
    }

    fn stripe(&self, id: u64) -> Result<MutexGuard<'_, HashMap<u64, Used>>, Taken> {
        let stripe = &self.stripes[id as usize % STRIPES];
        for _ in 0..LOOKS {
            match stripe.try_lock() {
                Ok(stripe) => return Ok(stripe),
                Err(TryLockError::Poisoned(poisoned)) => return Ok(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => std::hint::spin_loop(),
            }
        }
        Err(Taken)
    }
}

/// Makes room: as many at once, so that the next newcomers need not.
fn forget_half(stripe: &mut HashMap<u64, Used>) {
    let mut ids: Vec<_> = stripe.iter().map(|(id, used)| (used.rate.last(), *id)).collect();
    ids.sort_unstable();
    for (_, id) in &ids[..ids.len() / 2] {
        stripe.remove(id);
    }
}

/// The beginning of a name that is very long: only the page of figures shows it.
fn short(name: &str) -> Arc<str> {
    Arc::from(&name[..name.floor_char_boundary(LONGEST)])
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const WINDOWS: Windows = Windows { count: 11, millis: 1000 };

    fn account(ledger: &Ledger, client: &str) -> Account {
        let shared_by = Match { user: None, client: Some(Arc::from(client)), limit: 100.0 };
        ledger.account(QuotaKind::Fetch, shared_by)
    }

    #[test]
    fn those_that_share_a_quota_are_charged_together_and_others_are_not() {
        let ledger = Ledger::new(WINDOWS);
        let (a, b) = (account(&ledger, "a"), account(&ledger, "b"));
        let charged = |excess, is_all| Ok(Charged { excess, is_all });
        assert_eq!(ledger.charge(QuotaKind::Fetch, &a, 1000.0, 0), charged(0, true));
        assert_eq!(ledger.charge(QuotaKind::Fetch, &a, 500.0, 0), charged(5000, false));
        assert_eq!(ledger.charge(QuotaKind::Fetch, &b, 1000.0, 0), charged(0, true));
        let standings = ledger.standings(10, Instant::START);
        let seen: Vec<_> = standings.iter().map(|one| (one.client.as_deref(), one.rate, one.limit)).collect();
        assert_eq!(seen, [(Some("a"), 150.0, 100.0), (Some("b"), 100.0, 100.0)]);
    }

    #[test]
    fn a_lock_that_is_taken_is_not_waited_for() {
        let ledger = Ledger::new(WINDOWS);
        let a = account(&ledger, "a");
        let held = ledger.stripe(a.id).unwrap();
        assert_eq!(ledger.charge(QuotaKind::Fetch, &a, 1.0, 0), Err(Taken));
        drop(held);
        assert!(ledger.charge(QuotaKind::Fetch, &a, 1.0, 0).is_ok());
    }

    #[test]
    fn accounts_are_bounded_and_the_oldest_goes() {
        let ledger = Ledger::new(WINDOWS);
        for number in 0..MOST as i64 * 2 {
            let client = account(&ledger, &number.to_string());
            ledger.charge(QuotaKind::Fetch, &client, 1.0, number / 1000).unwrap();
        }
        let kept: usize = ledger.stripes.iter().map(|stripe| stripe.lock().unwrap().len()).sum();
        assert!(kept <= MOST && kept > MOST * 4 / 10, "{kept}");
        let newest = account(&ledger, &(MOST * 2 - 1).to_string());
        assert!(ledger.stripe(newest.id).unwrap().contains_key(&newest.id));
        let oldest = account(&ledger, "0");
        assert!(!ledger.stripe(oldest.id).unwrap().contains_key(&oldest.id));
    }

    #[test]
    fn what_is_over_is_not_shown_and_long_names_are_cut() {
        let ledger = Ledger::new(WINDOWS);
        let long = account(&ledger, &"ü".repeat(1000));
        ledger.charge(QuotaKind::Fetch, &long, 1.0, 0).unwrap();
        ledger.note_throttled(&long, 7);
        let shown = ledger.standings(10, Instant::START + Duration::from_millis(10));
        assert_eq!((shown[0].client.as_ref().map(|name| name.len()), shown[0].throttled), (Some(256), 7));
        assert_eq!(ledger.standings(10, Instant::START + Duration::from_secs(11)), []);
    }
}
