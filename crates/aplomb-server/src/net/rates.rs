//! How fast connections may be made: all together and on a listener
//! (`max.connection.creation.rate`), and by address (the quota `connection_creation_rate`).
//!
//! What always holds: as in Apache Kafka (`ConnectionQuotas`), no connection waits for longer than
//! a window; one that an address may not have is held for as long as that, and then closed, so that
//! its client does not come back at once. No more than [`HELD`] are held: they take descriptors.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use aplomb_broker::quotas::{ConnectionRates, Rate, Windows, millis};
use aplomb_model::Instant;

/// Connections that wait to be closed.
const HELD: usize = 1000;
/// Addresses that are measured at a time.
const ADDRESSES: usize = 10_000;

/// The acceptor's measures.
#[derive(Debug)]
pub(crate) struct AcceptRates {
    windows: Windows,
    limits: ConnectionRates,
    all: Rate,
    by_ip: HashMap<IpAddr, Rate>,
    by_listener: HashMap<Arc<str>, Rate>,
    /// Nothing is accepted before.
    paused_until: Option<Instant>,
    /// Nothing is accepted on these listeners before.
    listeners_paused_until: HashMap<Arc<str>, Instant>,
    held: BTreeMap<(Instant, u64), OwnedFd>,
    next: u64,
}

impl AcceptRates {
    /// Without any limits.
    pub(crate) fn new(windows: Windows) -> Self {
        Self {
            windows,
            limits: ConnectionRates::default(),
            all: Rate::default(),
            by_ip: HashMap::new(),
            by_listener: HashMap::new(),
            paused_until: None,
            listeners_paused_until: HashMap::new(),
            held: BTreeMap::new(),
            next: 0,
        }
    }

    /// Other limits from here on.
    pub(crate) fn set(&mut self, limits: ConnectionRates) {
        self.limits = limits;
    }

    /// Whether connections may be accepted.
    pub(crate) fn may_accept(&self, now: Instant) -> bool {
        self.paused_until.is_none_or(|until| until <= now)
    }

    /// Whether they may on this listener, if they may at all.
    pub(crate) fn may_accept_at(&self, listener: &str, now: Instant) -> bool {
        self.listeners_paused_until.get(listener).is_none_or(|until| *until <= now)
    }

    /// Counts a connection of a listener. If its address has had too many, gives until when it is
    /// to be held.
    pub(crate) fn admit(&mut self, listener: &Arc<str>, ip: IpAddr, now: Instant) -> Result<(), Instant> {
        let at = millis(now);
        if let Some(limit) = self.limits.by_ip.get(&ip).copied().or(self.limits.default) {
            if self.by_ip.len() >= ADDRESSES && !self.by_ip.contains_key(&ip) {
                let windows = self.windows;
                self.by_ip.retain(|_, rate| !rate.is_over(windows, at));
                if self.by_ip.len() >= ADDRESSES {
                    self.by_ip.clear();
                }
            }
            let rate = self.by_ip.entry(ip).or_default();
            rate.record(self.windows, 1.0, at);
            if let Some(excess) = rate.excess(self.windows, limit, at).filter(|excess| *excess > 0) {
                rate.record(self.windows, -1.0, at);
                return Err(now + self.within_window(excess));
            }
        }
        if let Some(limit) = self.limits.by_listener.get(listener) {
            let rate = self.by_listener.entry(Arc::clone(listener)).or_default();
            rate.record(self.windows, 1.0, at);
            if let Some(excess) = rate.excess(self.windows, *limit, at) {
                let until = now + self.within_window(excess);
                self.listeners_paused_until.insert(Arc::clone(listener), until);
            }
        }
        if let Some(limit) = self.limits.all {
            self.all.record(self.windows, 1.0, at);
            if let Some(excess) = self.all.excess(self.windows, limit, at) {
                self.paused_until = Some(now + self.within_window(excess));
            }
        }
        Ok(())
    }

    /// Keeps a connection open until then, or closes it where too many are kept.
    pub(crate) fn hold(&mut self, socket: OwnedFd, until: Instant) {
        if self.held.len() < HELD {
            self.next += 1;
            self.held.insert((until, self.next), socket);
        }
    }

    /// Closes those that were held for long enough.
    pub(crate) fn close_held(&mut self, now: Instant) {
        while self.held.first_key_value().is_some_and(|((until, _), _)| *until <= now) {
            self.held.pop_first();
        }
    }

    /// For how long there is nothing to do here.
    pub(crate) fn patience(&self, now: Instant) -> Option<Duration> {
        let held = self.held.first_key_value().map(|((until, _), _)| *until);
        let pauses = self.listeners_paused_until.values().copied().chain(self.paused_until);
        held.into_iter().chain(pauses.filter(|until| *until > now)).min().map(|at| at.since(now))
    }

    fn within_window(&self, millis: i64) -> Duration {
        Duration::from_millis(u64::try_from(millis.min(self.windows.millis)).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    const HOME: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    const PUBLIC: &str = "PUBLIC";
    const AWAY: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));

    fn rates(limits: ConnectionRates) -> AcceptRates {
        let mut rates = AcceptRates::new(Windows { count: 11, millis: 1000 });
        rates.set(limits);
        rates
    }

    fn at(millis: u64) -> Instant {
        Instant::START + Duration::from_millis(millis)
    }

    #[test]
    fn an_address_waits_for_a_window_at_most_and_others_do_not() {
        let mut rates = rates(ConnectionRates { by_ip: [(HOME, 1.0)].into(), ..ConnectionRates::default() });
        for _ in 0..10 {
            assert_eq!(rates.admit(&PUBLIC.into(), HOME, at(5)), Ok(()));
        }
        assert_eq!(rates.admit(&PUBLIC.into(), HOME, at(5)), Err(at(1005)));
        assert_eq!(rates.admit(&PUBLIC.into(), AWAY, at(5)), Ok(()));
        assert_eq!(rates.admit(&PUBLIC.into(), HOME, at(12_000)), Ok(()), "what was refused is not counted");
    }

    #[test]
    fn all_together_pause_the_acceptor() {
        let mut rates = rates(ConnectionRates { all: Some(2.0), ..ConnectionRates::default() });
        for _ in 0..20 {
            assert_eq!(rates.admit(&PUBLIC.into(), AWAY, at(0)), Ok(()));
        }
        assert!(rates.may_accept(at(0)));
        assert_eq!(rates.admit(&PUBLIC.into(), AWAY, at(0)), Ok(()));
        assert!(!rates.may_accept(at(499)) && rates.may_accept(at(500)));
        assert_eq!(rates.patience(at(100)), Some(Duration::from_millis(400)));
    }

    #[test]
    fn few_are_held_and_closed_in_their_order() {
        let mut rates = rates(ConnectionRates::default());
        let socket = || OwnedFd::from(TcpListener::bind((HOME, 0)).expect("a port"));
        rates.hold(socket(), at(20));
        rates.hold(socket(), at(10));
        assert_eq!(rates.patience(at(5)), Some(Duration::from_millis(5)));
        rates.close_held(at(10));
        assert_eq!(rates.patience(at(10)), Some(Duration::from_millis(10)));
        rates.close_held(at(20));
        assert_eq!(rates.patience(at(20)), None);
    }

    #[test]
    fn addresses_are_measured_within_bounds() {
        let mut rates = rates(ConnectionRates { default: Some(1.0), ..ConnectionRates::default() });
        for address in 0..ADDRESSES as u32 * 3 {
            let _ = rates.admit(&PUBLIC.into(), IpAddr::V4(address.into()), at(0));
            assert!(rates.by_ip.len() <= ADDRESSES);
        }
    }

    #[test]
    fn a_listener_pauses_by_itself() {
        let by_listener = [(PUBLIC.into(), 2.0)].into();
        let mut rates = rates(ConnectionRates { by_listener, ..ConnectionRates::default() });
        for _ in 0..21 {
            assert_eq!(rates.admit(&PUBLIC.into(), AWAY, at(0)), Ok(()));
        }
        assert!(rates.may_accept(at(0)) && rates.may_accept_at("INTERNAL", at(0)));
        assert!(!rates.may_accept_at(PUBLIC, at(499)) && rates.may_accept_at(PUBLIC, at(500)));
        assert_eq!(rates.patience(at(0)), Some(Duration::from_millis(500)));
    }
}
