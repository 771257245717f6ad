//! What clients say they are, by connection (KIP-511).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// So many kinds of software are told apart; what else comes counts as [`OTHER`], since names are
/// the clients' to choose.
const KINDS: usize = 100;
const OTHER: &str = "other";

/// A kind of client on a listener.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientSoftware {
    /// Its name, as the client says it.
    pub name: Arc<str>,
    /// Its version.
    pub version: Arc<str>,
    /// The listener that the connection came in by.
    pub listener: Arc<str>,
}

/// A kind of client, and how many connections it has.
#[derive(Debug)]
pub(super) struct ClientKind {
    software: ClientSoftware,
    connections: AtomicU64,
}

impl ClientKind {
    pub(super) fn counted(&self) -> (ClientSoftware, u64) {
        (self.software.clone(), self.connections.load(Ordering::Relaxed))
    }
}

/// The software of a shard's connections. Others see the list of kinds when it is shown to them,
/// and each kind's count at any time.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    by_connection: HashMap<u64, Arc<ClientKind>>,
    kinds: BTreeMap<ClientSoftware, Arc<ClientKind>>,
    has_changed: bool,
}

impl Clients {
    /// The client of a connection says what it is. It may say so again, and something else.
    pub(crate) fn introduce(&mut self, connection: u64, name: &str, version: &str, listener: &Arc<str>) {
        self.leave(connection);
        let mut software =
            ClientSoftware { name: name.into(), version: version.into(), listener: Arc::clone(listener) };
        if self.kinds.len() >= KINDS && !self.kinds.contains_key(&software) {
            (software.name, software.version) = (OTHER.into(), OTHER.into());
        }
        let kind = self.kinds.entry(software).or_insert_with_key(|software| {
            self.has_changed = true;
            Arc::new(ClientKind { software: software.clone(), connections: AtomicU64::new(0) })
        });
        kind.connections.fetch_add(1, Ordering::Relaxed);
        self.by_connection.insert(connection, Arc::clone(kind));
    }

    /// The connection is gone.
    pub(crate) fn leave(&mut self, connection: u64) {
        let Some(kind) = self.by_connection.remove(&connection) else { return };
        if kind.connections.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.kinds.remove(&kind.software);
            self.has_changed = true;
        }
    }

    /// Whether there are other kinds than were shown last.
    pub(super) fn has_changed(&self) -> bool {
        self.has_changed
    }

    /// Shows the kinds that there are.
    pub(super) fn show(&mut self, shown: &mut Vec<Arc<ClientKind>>) {
        shown.clear();
        shown.extend(self.kinds.values().cloned());
        self.has_changed = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn software(clients: &mut Clients) -> Vec<(ClientSoftware, u64)> {
        let mut shown = Vec::new();
        clients.show(&mut shown);
        shown.iter().map(|kind| kind.counted()).collect()
    }

    #[test]
    fn connections_are_counted_by_what_their_clients_say_and_kinds_are_bounded() {
        let listener: Arc<str> = "PLAINTEXT".into();
        let mut clients = Clients::default();
        clients.introduce(1, "librdkafka", "2.0.2", &listener);
        clients.introduce(2, "librdkafka", "2.0.2", &listener);
        clients.introduce(2, "librdkafka", "2.0.2", &listener);
        clients.leave(1);
        clients.leave(7);
        let found = software(&mut clients);
        assert_eq!((found.len(), &*found[0].0.name, found[0].1), (1, "librdkafka", 1));

        for n in 10..1000 {
            clients.introduce(n, &format!("client{n}"), "1", &listener);
        }
        assert_eq!(software(&mut clients).len(), KINDS + 1);
        assert_eq!(software(&mut clients).iter().map(|(_, count)| count).sum::<u64>(), 991);
        for n in 0..1000 {
            clients.leave(n);
        }
        assert_eq!(software(&mut clients), []);
    }
}
