//! What clients say they are, by connection (KIP-511).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// So many kinds of software are told apart; what else comes counts as [`OTHER`], since names are the clients' to choose.
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

/// The software of a shard's connections.
#[derive(Debug, Default)]
pub struct Clients {
    by_connection: HashMap<u64, ClientSoftware>,
    connections: BTreeMap<ClientSoftware, u64>,
}

impl Clients {
    /// The client of a connection says what it is. It may say so again, and something else.
    pub(crate) fn introduce(&mut self, connection: u64, name: &str, version: &str, listener: &Arc<str>) {
        self.leave(connection);
        let mut software =
            ClientSoftware { name: name.into(), version: version.into(), listener: Arc::clone(listener) };
        if self.connections.len() >= KINDS && !self.connections.contains_key(&software) {
            (software.name, software.version) = (OTHER.into(), OTHER.into());
        }
        *self.connections.entry(software.clone()).or_default() += 1;
        self.by_connection.insert(connection, software);
    }

    /// The connection is gone.
    pub(crate) fn leave(&mut self, connection: u64) {
        let Some(software) = self.by_connection.remove(&connection) else { return };
        if let Some(count) = self.connections.get_mut(&software) {
            *count -= 1;
            if *count == 0 {
                self.connections.remove(&software);
            }
        }
    }

    pub(super) fn software(&self) -> Vec<(ClientSoftware, u64)> {
        self.connections.iter().map(|(software, count)| (software.clone(), *count)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_counted_by_what_their_clients_say_and_kinds_are_bounded() {
        let listener: Arc<str> = "PLAINTEXT".into();
        let mut clients = Clients::default();
        clients.introduce(1, "librdkafka", "2.0.2", &listener);
        clients.introduce(2, "librdkafka", "2.0.2", &listener);
        clients.introduce(2, "librdkafka", "2.0.2", &listener);
        clients.leave(1);
        clients.leave(7);
        let found = clients.software();
        assert_eq!((found.len(), &*found[0].0.name, found[0].1), (1, "librdkafka", 1));

        for n in 10..1000 {
            clients.introduce(n, &format!("client{n}"), "1", &listener);
        }
        assert_eq!(clients.software().len(), KINDS + 1);
        assert_eq!(clients.software().iter().map(|(_, count)| count).sum::<u64>(), 991);
        for n in 0..1000 {
            clients.leave(n);
        }
        assert_eq!(clients.software(), []);
    }
}
