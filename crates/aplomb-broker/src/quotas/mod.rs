//! Quotas: what clients use is written down when they are answered, and who has used too much is
//! told for how long its connection is not listened to.
//!
//! A request has a [`Bill`] if a quota counts for its client. It is paid at the end: bytes by the
//! operation ([`Till`]), time by the desk. What is measured, when, and what follows is Apache
//! Kafka's (`ClientQuotaManager`, `KafkaApis`, `RequestHandlerHelper`); what differs is in
//! `docs/operating/quotas.md`.
//!
//! What always holds: a bill is settled once; who is answered with a throttle time is not read from
//! for so long, and no other client waits for it.

mod ledger;
mod permits;
mod rate;
mod rules;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use aplomb_model::Instant;
use aplomb_protocol::ApiKey;

use self::ledger::{Account, Charged, Taken};
pub use self::ledger::{Ledger, MOST as MOST_ACCOUNTS, QuotaUse};
pub use self::permits::{Permits, Throttled};
use self::rate::TokenBucket;
pub use self::rate::{Rate, Windows, millis};
pub(crate) use self::rules::{CLIENT_ID, CONNECTION_RATE, IP, USER};
pub use self::rules::{ConnectionRates, QuotaKind};
use crate::metadata::Security;
use crate::ports::{Reply, Request};

/// Clients whose quotas a shard remembers; it looks them up anew when there are more.
const REMEMBERED: usize = 10_000;
/// Accounts that a shard may be behind with.
const OWED: usize = 1000;
/// All of a second of a thread's time, as quotas have it.
const PERCENT_OF_A_SECOND: f64 = 100.0;

/// Which accounts a client's use goes to.
#[derive(Debug)]
struct Payer {
    accounts: [Option<Account>; 4],
}

impl Payer {
    fn account(&self, kind: QuotaKind) -> Option<&Account> {
        self.accounts[kind as usize].as_ref()
    }
}

/// What one request has to pay.
#[derive(Debug)]
pub(crate) struct Bill {
    payer: Arc<Payer>,
    /// Of the request, with its header.
    bytes: usize,
    /// Percent of a second that its connection has taken since it was asked last.
    time: f64,
    /// Whether its time is not counted, or is already.
    time_is_settled: bool,
    throttle: Duration,
}

/// A shard's part of the quotas.
#[derive(Debug)]
pub(crate) struct Quotas {
    ledger: Arc<Ledger>,
    /// What partitions that are created and deleted are measured over.
    mutation_windows: Windows,
    security: Arc<Security>,
    payers: HashMap<u64, Option<Arc<Payer>>>,
    /// What could not be written down yet.
    owed: HashMap<(QuotaKind, u64), f64>,
    buckets: HashMap<u64, TokenBucket>,
}

/// Where a request's bill is paid.
pub(crate) struct Till<'a> {
    pub(crate) quotas: &'a mut Quotas,
    pub(crate) bill: Option<&'a mut Bill>,
    pub(crate) now: Instant,
}

impl Quotas {
    /// With the book that it shares with the other shards.
    pub(crate) fn new(ledger: Arc<Ledger>, mutation_windows: Windows, security: Arc<Security>) -> Self {
        Self {
            ledger,
            mutation_windows,
            security,
            payers: HashMap::new(),
            owed: HashMap::new(),
            buckets: HashMap::new(),
        }
    }

    /// Other quotas from here on. What was used stays used.
    pub(crate) fn set(&mut self, security: &Arc<Security>) {
        if !Arc::ptr_eq(&self.security, security) {
            self.security = Arc::clone(security);
            self.payers.clear();
        }
    }

    /// The bill of a request; none if no quota counts for its client.
    pub(crate) fn bill(&mut self, request: &Request, api: ApiKey, client_id: Option<&str>) -> Option<Bill> {
        if self.security.quotas.is_empty() {
            return None;
        }
        let (user, client) = (request.session.principal.name(), client_id.unwrap_or_default());
        let payer = self.payer(user, client)?;
        Some(Bill {
            payer,
            bytes: request.frame.len(),
            time: request.spent.as_secs_f64() * PERCENT_OF_A_SECOND,
            // What brokers ask of each other, Apache Kafka calls exempt.
            time_is_settled: api == ApiKey::WriteTxnMarkers,
            throttle: Duration::ZERO,
        })
    }

    /// As much as a client may be sent at once.
    pub(crate) fn most_fetched(&self, bill: Option<&Bill>) -> Option<u64> {
        let account = bill?.payer.account(QuotaKind::Fetch)?;
        Some(self.ledger.windows().at_most(account.shared_by.limit) as u64)
    }

    /// What the request may create and delete. To be given back ([`Self::give_back`]).
    pub(crate) fn permits(&mut self, bill: Option<&Bill>, is_strict: bool, now: Instant) -> Permits {
        let Some(account) = bill.and_then(|bill| bill.payer.account(QuotaKind::Mutation)) else {
            return Permits::unlimited();
        };
        let (windows, rate, now) = (self.mutation_windows, account.shared_by.limit, millis(now));
        if self.buckets.len() >= MOST_ACCOUNTS {
            // Clients whose names are all different use no more than they could without quotas.
            self.buckets.clear();
        }
        let full = TokenBucket::full(windows, rate, now);
        let bucket = self.buckets.get(&account.id).copied().unwrap_or(full);
        Permits::of(account.id, bucket, windows, rate, is_strict, now)
    }

    /// Takes back what is left of the permits.
    pub(crate) fn give_back(&mut self, bill: Option<&mut Bill>, permits: &Permits) {
        if let Some((account, bucket)) = permits.left() {
            self.buckets.insert(account, bucket);
        }
        if let Some(bill) = bill {
            bill.throttle = bill.throttle.max(permits.throttle());
        }
    }

    fn payer(&mut self, user: &str, client: &str) -> Option<Arc<Payer>> {
        let number = self.ledger.number((user, client));
        if let Some(payer) = self.payers.get(&number) {
            return payer.clone();
        }
        if self.payers.len() >= REMEMBERED {
            self.payers.clear();
        }
        let matching = rules::matching(&self.security, user, client);
        let mut kinds = QuotaKind::ALL.into_iter();
        let accounts = matching.map(|found| {
            let kind = kinds.next().expect("one for each kind");
            found.map(|found| self.ledger.account(kind, found))
        });
        let payer = accounts.iter().any(Option::is_some).then(|| Arc::new(Payer { accounts }));
        self.payers.insert(number, payer.clone());
        payer
    }

    /// Writes down what was used.
    fn charge(&mut self, kind: QuotaKind, account: &Account, amount: f64, now: i64) -> Charged {
        let debt = (kind, account.id);
        let amount = amount + self.owed.remove(&debt).unwrap_or(0.0);
        match self.ledger.charge(kind, account, amount, now) {
            Ok(charged) => charged,
            Err(Taken) => {
                // Beyond so many, one goes free: that many locks are never taken at once.
                if self.owed.len() < OWED {
                    self.owed.insert(debt, amount);
                }
                Charged::default()
            }
        }
    }
}

impl Till<'_> {
    /// Pays for a Produce request. Gives for how long its client is throttled.
    pub(crate) fn produced(&mut self, is_answered: bool) -> Duration {
        let Some(bytes) = self.bill.as_ref().map(|bill| bill.bytes) else { return Duration::ZERO };
        let charged = self.charge(QuotaKind::Produce, bytes as f64);
        self.note(QuotaKind::Produce, charged.excess);
        match (is_answered, &mut self.bill) {
            (true, _) => self.answered(),
            (false, Some(bill)) => {
                bill.time_is_settled = true;
                bill.throttle
            }
            (false, None) => unreachable!("looked at above"),
        }
    }

    /// Pays for a response of so many bytes to a Fetch request. If its client is throttled for it,
    /// it does not get these bytes, and has not paid for them: but for the first, however many they
    /// are, or a batch that is larger than the quota would never be read.
    pub(crate) fn fetched(&mut self, bytes: impl FnOnce() -> u64) -> Duration {
        if self.bill.is_none() {
            return Duration::ZERO;
        }
        let bytes = bytes() as f64;
        let by_time = self.answered();
        let charged = self.charge(QuotaKind::Fetch, bytes);
        if !charged.is_all {
            self.note(QuotaKind::Fetch, charged.excess);
        }
        let throttle = self.bill.as_ref().map_or(by_time, |bill| bill.throttle);
        if !throttle.is_zero() {
            self.charge(QuotaKind::Fetch, -bytes);
        }
        throttle
    }

    /// Pays for the time that the client's connection has taken, once. Gives for how long the
    /// client is throttled, by that or by anything else.
    pub(crate) fn answered(&mut self) -> Duration {
        let Some(bill) = &mut self.bill else { return Duration::ZERO };
        if !std::mem::replace(&mut bill.time_is_settled, true) {
            let time = bill.time;
            let charged = self.charge(QuotaKind::Request, time);
            self.note(QuotaKind::Request, charged.excess.min(self.quotas.ledger.windows().millis));
        }
        self.bill.as_ref().map_or(Duration::ZERO, |bill| bill.throttle)
    }

    /// Settles the bill, and tells who is answered for how long it is throttled.
    pub(crate) fn settle(mut self, reply: &mut Reply) {
        let throttle = match reply {
            Reply::Frame { .. } => self.answered(),
            Reply::Nothing { .. } => self.bill.as_ref().map_or(Duration::ZERO, |bill| bill.throttle),
            Reply::Close { .. } => return,
        };
        if !throttle.is_zero() {
            reply.set_throttle(throttle);
        }
    }

    /// Charges the account that the client has of this kind, if it has one.
    fn charge(&mut self, kind: QuotaKind, amount: f64) -> Charged {
        let Some(bill) = &self.bill else { return Charged::default() };
        let payer = Arc::clone(&bill.payer);
        let charge = |account| self.quotas.charge(kind, account, amount, millis(self.now));
        payer.account(kind).map(charge).unwrap_or_default()
    }

    /// The client is throttled for so many milliseconds, if it is for any.
    fn note(&mut self, kind: QuotaKind, excess: i64) {
        let Some(bill) = self.bill.as_mut().filter(|_| excess > 0) else { return };
        let excess_millis = u64::try_from(excess).expect("it is above 0");
        bill.throttle = bill.throttle.max(Duration::from_millis(excess_millis));
        let account = bill.payer.account(kind).expect("it was charged");
        self.quotas.ledger.note_throttled(account, excess);
    }
}

#[cfg(test)]
mod tests;
