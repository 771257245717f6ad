//! How many connections there may be: in all, on one listener, and from one address.
//!
//! What always holds: a connection is counted as long as its [`Permit`] lives. The lock is held for
//! a look into a small table only.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aplomb_broker::ports::ShardId;
use aplomb_broker::quotas::ConnectionRates;

use crate::mail::Waker;

/// The bounds.
#[derive(Clone, Debug)]
pub struct ConnectionLimits {
    /// In all (`max.connections`). Beyond it new connections wait to be accepted.
    pub total: usize,
    /// On single listeners (`listener.name.<name>.max.connections`): their new ones wait.
    pub of_listeners: BTreeMap<Arc<str>, usize>,
    /// In all, whatever that says: descriptors that connections have are not there for files.
    pub ceiling: usize,
    /// From one address (`max.connections.per.ip`). Beyond it new connections are closed at once.
    pub per_ip: usize,
    /// From certain addresses (`max.connections.per.ip.overrides`).
    pub per_ip_overrides: HashMap<IpAddr, usize>,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            total: usize::MAX,
            of_listeners: BTreeMap::new(),
            ceiling: usize::MAX,
            per_ip: usize::MAX,
            per_ip_overrides: HashMap::new(),
        }
    }
}

/// The connections there are.
#[derive(Debug)]
pub(crate) struct Connections {
    most: AtomicUsize,
    ceiling: usize,
    by_ip: Mutex<ByIp>,
    by_listener: Mutex<ByListener>,
    /// Those that serve them.
    shards: Range<u16>,
    /// By all shards, those included that serve none.
    by_shard: Vec<AtomicUsize>,
    total: AtomicUsize,
    accepted: AtomicUsize,
    refused: AtomicUsize,
    throttled: AtomicUsize,
    new_rates: Mutex<Option<ConnectionRates>>,
    congested_nanos: AtomicU64,
    acceptor_waits: AtomicBool,
    acceptor: Arc<Waker>,
}

#[derive(Debug)]
struct ByIp {
    counts: HashMap<IpAddr, usize>,
    most: usize,
    overrides: HashMap<IpAddr, usize>,
}

#[derive(Debug)]
struct ByListener {
    counts: HashMap<Arc<str>, usize>,
    most: BTreeMap<Arc<str>, usize>,
}

impl ByListener {
    fn has_room(&self, listener: &str) -> bool {
        let count = self.counts.get(listener).copied().unwrap_or(0);
        self.most.get(listener).is_none_or(|most| count < *most)
    }
}

/// One connection's place among them. Gives it back when dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    connections: Arc<Connections>,
    ip: IpAddr,
    listener: Arc<str>,
    shard: ShardId,
}

/// The address has as many connections as it may have.
pub(crate) struct TooMany {
    pub(crate) limit: usize,
}

impl Connections {
    /// For connections of these shards.
    pub(crate) fn new(limits: ConnectionLimits, shards: Range<u16>, acceptor: Arc<Waker>) -> Arc<Self> {
        assert!(!shards.is_empty(), "a shard that serves clients");
        Arc::new(Self {
            most: AtomicUsize::new(limits.total.min(limits.ceiling)),
            ceiling: limits.ceiling,
            by_ip: Mutex::new(ByIp {
                counts: HashMap::new(),
                most: limits.per_ip,
                overrides: limits.per_ip_overrides,
            }),
            by_listener: Mutex::new(ByListener { counts: HashMap::new(), most: limits.of_listeners }),
            by_shard: (0..shards.end).map(|_| AtomicUsize::new(0)).collect(),
            shards,
            total: AtomicUsize::new(0),
            accepted: AtomicUsize::new(0),
            refused: AtomicUsize::new(0),
            throttled: AtomicUsize::new(0),
            new_rates: Mutex::default(),
            congested_nanos: AtomicU64::new(0),
            acceptor_waits: AtomicBool::new(false),
            acceptor,
        })
    }

    /// Whether another connection may be accepted. If not, the acceptor is woken when one has
    /// ended.
    pub(crate) fn has_room(&self) -> bool {
        if self.total.load(Ordering::SeqCst) < self.most.load(Ordering::SeqCst) {
            return true;
        }
        self.acceptor_waits.store(true, Ordering::SeqCst);
        self.total.load(Ordering::SeqCst) < self.most.load(Ordering::SeqCst)
    }

    /// Whether another connection may be accepted on a listener; otherwise as for all.
    pub(crate) fn has_room_at(&self, listener: &str) -> bool {
        if self.listeners().has_room(listener) {
            return true;
        }
        self.acceptor_waits.store(true, Ordering::SeqCst);
        self.listeners().has_room(listener)
    }

    /// Counts a connection of a listener from `ip`, to be served by the shard that has the fewest.
    pub(crate) fn admit(
        self: &Arc<Self>,
        listener: &Arc<str>,
        ip: IpAddr,
    ) -> Result<(Permit, ShardId), TooMany> {
        let mut by_ip = self.by_ip.lock().unwrap_or_else(PoisonError::into_inner);
        let limit = *by_ip.overrides.get(&ip).unwrap_or(&by_ip.most);
        let count = by_ip.counts.get(&ip).copied().unwrap_or(0);
        if count >= limit {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return Err(TooMany { limit });
        }
        by_ip.counts.insert(ip, count + 1);
        drop(by_ip);
        *self.listeners().counts.entry(Arc::clone(listener)).or_default() += 1;

        let turn = self.accepted.fetch_add(1, Ordering::Relaxed);
        // Among equals they take turns.
        let shards = self.shards.len();
        let turns = self.shards.clone().cycle().skip(turn % shards).take(shards);
        let fewest = turns.min_by_key(|&n| self.by_shard[usize::from(n)].load(Ordering::Relaxed));
        let index = fewest.expect("there is a shard");
        self.by_shard[usize::from(index)].fetch_add(1, Ordering::Relaxed);
        self.total.fetch_add(1, Ordering::SeqCst);
        let shard = ShardId(index);
        let permit = Permit { connections: Arc::clone(self), ip, listener: Arc::clone(listener), shard };
        Ok((permit, shard))
    }

    /// Other bounds from here on. Connections that there are stay.
    pub(crate) fn set_limits(
        &self,
        total: usize,
        of_listeners: BTreeMap<Arc<str>, usize>,
        per_ip: usize,
        overrides: Option<HashMap<IpAddr, usize>>,
    ) {
        self.listeners().most = of_listeners;
        let mut by_ip = self.by_ip.lock().unwrap_or_else(PoisonError::into_inner);
        by_ip.most = per_ip;
        if let Some(overrides) = overrides {
            by_ip.overrides = overrides;
        }
        drop(by_ip);
        self.most.store(total.min(self.ceiling), Ordering::SeqCst);
        self.wake_acceptor();
    }

    /// Other rates of new connections from here on. The acceptor takes them when it wakes.
    pub(crate) fn set_rates(&self, rates: ConnectionRates) {
        *self.new_rates.lock().unwrap_or_else(PoisonError::into_inner) = Some(rates);
        self.acceptor.wake();
    }

    /// Rates that were set since this was asked last.
    pub(crate) fn take_rates(&self) -> Option<ConnectionRates> {
        self.new_rates.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// A connection was not taken because its address makes too many in a second.
    pub(crate) fn on_throttled(&self) {
        self.throttled.fetch_add(1, Ordering::Relaxed);
    }

    /// How many such there were since the start.
    pub(crate) fn throttled(&self) -> usize {
        self.throttled.load(Ordering::Relaxed)
    }

    fn listeners(&self) -> MutexGuard<'_, ByListener> {
        self.by_listener.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// There may be room now: the acceptor looks again, if it waits for some.
    fn wake_acceptor(&self) {
        if self.acceptor_waits.load(Ordering::SeqCst) && self.acceptor_waits.swap(false, Ordering::SeqCst) {
            self.acceptor.wake();
        }
    }

    /// The acceptor was kept from handing connections on by a full mailbox for so long.
    pub(crate) fn on_congested(&self, nanos: u64) {
        self.congested_nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    /// How long that was since the start, in nanoseconds.
    pub(crate) fn congested_nanos(&self) -> u64 {
        self.congested_nanos.load(Ordering::Relaxed)
    }

    /// Connections now.
    pub(crate) fn total(&self) -> usize {
        self.total.load(Ordering::Relaxed)
    }

    /// Connections of one shard now.
    pub(crate) fn of_shard(&self, shard: usize) -> usize {
        self.by_shard[shard].load(Ordering::Relaxed)
    }

    /// Connections accepted since the start.
    pub(crate) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::Relaxed)
    }

    /// Connections closed at once since the start, because their address had too many.
    pub(crate) fn refused(&self) -> usize {
        self.refused.load(Ordering::Relaxed)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let connections = &self.connections;
        let mut by_ip = connections.by_ip.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = by_ip.counts.get_mut(&self.ip) {
            *count -= 1;
            if *count == 0 {
                by_ip.counts.remove(&self.ip);
            }
        }
        drop(by_ip);
        let mut by_listener = connections.listeners();
        *by_listener.counts.get_mut(&self.listener).expect("it is counted") -= 1;
        drop(by_listener);
        connections.by_shard[usize::from(self.shard.0)].fetch_sub(1, Ordering::Relaxed);
        connections.total.fetch_sub(1, Ordering::SeqCst);
        connections.wake_acceptor();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    const AWAY: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));

    const PUBLIC: &str = "PUBLIC";

    fn connections(limits: ConnectionLimits, shards: u16) -> Arc<Connections> {
        Connections::new(limits, 0..shards, Arc::new(Waker::new().expect("an eventfd")))
    }

    #[test]
    fn connections_are_dealt_out_evenly_also_after_some_have_ended() {
        let connections = connections(ConnectionLimits::default(), 3);
        let mut permits: Vec<_> =
            (0..6).filter_map(|_| connections.admit(&PUBLIC.into(), HOME).ok()).collect();
        assert_eq!((0..3).map(|n| connections.of_shard(n)).collect::<Vec<_>>(), [2, 2, 2]);
        permits.retain(|(_, shard)| *shard != ShardId(1));
        let (_permit, shard) = connections.admit(&PUBLIC.into(), HOME).ok().expect("there is room");
        assert_eq!(shard, ShardId(1));
    }

    #[test]
    fn shards_that_serve_no_connections_get_none() {
        let acceptor = Arc::new(Waker::new().expect("an eventfd"));
        let connections = Connections::new(ConnectionLimits::default(), 1..3, acceptor);
        let _permits: Vec<_> = (0..6).filter_map(|_| connections.admit(&PUBLIC.into(), HOME).ok()).collect();
        assert_eq!((0..3).map(|n| connections.of_shard(n)).collect::<Vec<_>>(), [0, 3, 3]);
    }

    #[test]
    fn an_address_has_its_limit_and_its_override() {
        let limits = ConnectionLimits {
            per_ip: 1,
            per_ip_overrides: [(AWAY, 2)].into(),
            ..ConnectionLimits::default()
        };
        let connections = connections(limits, 1);
        let first = connections.admit(&PUBLIC.into(), HOME).ok().expect("the first");
        assert!(connections.admit(&PUBLIC.into(), HOME).is_err());
        let _two = [connections.admit(&PUBLIC.into(), AWAY), connections.admit(&PUBLIC.into(), AWAY)];
        assert!(connections.admit(&PUBLIC.into(), AWAY).is_err_and(|too_many| too_many.limit == 2));
        drop(first);
        assert!(connections.admit(&PUBLIC.into(), HOME).is_ok());
        assert_eq!(connections.refused(), 2);
    }

    #[test]
    fn other_limits_count_for_the_next_connection() {
        let connections = connections(ConnectionLimits { total: 1, ..ConnectionLimits::default() }, 1);
        let _first = connections.admit(&PUBLIC.into(), HOME).ok().expect("the first");
        assert!(!connections.has_room());
        connections.set_limits(10, BTreeMap::new(), 1, Some([(AWAY, 2)].into()));
        assert!(!connections.acceptor_waits.load(Ordering::SeqCst), "the acceptor was told");
        assert!(connections.has_room());
        assert!(connections.admit(&PUBLIC.into(), HOME).is_err());
        let _two = [connections.admit(&PUBLIC.into(), AWAY), connections.admit(&PUBLIC.into(), AWAY)];
        assert!(connections.admit(&PUBLIC.into(), AWAY).is_err_and(|too_many| too_many.limit == 2));
        connections.set_limits(10, BTreeMap::new(), 5, None);
        assert!(connections.admit(&PUBLIC.into(), HOME).is_ok());
        assert!(connections.admit(&PUBLIC.into(), AWAY).is_err(), "overrides are as they were");
    }

    #[test]
    fn the_ceiling_holds_whatever_is_set() {
        let connections = connections(ConnectionLimits { ceiling: 1, ..ConnectionLimits::default() }, 1);
        let _only = connections.admit(&PUBLIC.into(), HOME).ok().expect("the first");
        assert!(!connections.has_room());
        connections.set_limits(10, BTreeMap::new(), 10, None);
        assert!(!connections.has_room());
    }

    #[test]
    fn the_acceptor_waits_at_the_limit_and_is_told_when_a_connection_ends() {
        let connections = connections(ConnectionLimits { total: 1, ..ConnectionLimits::default() }, 1);
        assert!(connections.has_room());
        let only = connections.admit(&PUBLIC.into(), HOME).ok().expect("the first");
        assert!(!connections.has_room());
        drop(only);
        assert!(!connections.acceptor_waits.load(Ordering::SeqCst), "the wish was taken up");
        assert!(connections.has_room());
    }

    #[test]
    fn a_listener_at_its_limit_waits_and_others_do_not() {
        let of_listeners = BTreeMap::from([(PUBLIC.into(), 1)]);
        let connections = connections(ConnectionLimits { of_listeners, ..ConnectionLimits::default() }, 1);
        assert!(connections.has_room_at(PUBLIC));
        let only = connections.admit(&PUBLIC.into(), HOME).ok().expect("the first");
        assert!(
            !connections.has_room_at(PUBLIC) && connections.has_room_at("INTERNAL") && connections.has_room()
        );
        assert!(connections.acceptor_waits.load(Ordering::SeqCst));
        drop(only);
        assert!(!connections.acceptor_waits.load(Ordering::SeqCst), "the acceptor was told");
        let _again = connections.admit(&PUBLIC.into(), HOME).ok().expect("there is room again");
        assert!(!connections.has_room_at(PUBLIC));
        connections.set_limits(10, BTreeMap::new(), 10, None);
        assert!(connections.has_room_at(PUBLIC));
    }
}
