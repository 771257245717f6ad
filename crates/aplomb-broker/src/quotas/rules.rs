//! Whose quota is whose: the quotas of the metadata image, and which of them counts for a client
//! (`DefaultQuotaCallback` in Apache Kafka's `ClientQuotaManager`).

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use crate::config::{ListenerLimits, NetworkConfig};
use crate::metadata::{QuotaEntity, Security};

/// What is measured of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QuotaKind {
    /// Bytes of Produce requests in a second.
    Produce,
    /// Bytes of Fetch responses in a second.
    Fetch,
    /// Percent of an event loop's time.
    Request,
    /// Partitions created and deleted in a second.
    Mutation,
}

impl QuotaKind {
    /// In the order of their numbers.
    pub(super) const ALL: [Self; 4] = [Self::Produce, Self::Fetch, Self::Request, Self::Mutation];

    /// The key that its quota has.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Produce => "producer_byte_rate",
            Self::Fetch => "consumer_byte_rate",
            Self::Request => "request_percentage",
            Self::Mutation => "controller_mutation_rate",
        }
    }
}

/// Types of entities (`ClientQuotaEntity`).
pub(crate) const USER: &str = "user";
pub(crate) const CLIENT_ID: &str = "client-id";
pub(crate) const IP: &str = "ip";
/// The key of the quota that addresses have.
pub(crate) const CONNECTION_RATE: &str = "connection_creation_rate";

/// A quota that counts for a client.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Match {
    /// The user whose clients share it; `None` is all users.
    pub(super) user: Option<Arc<str>>,
    /// As above, of the client id.
    pub(super) client: Option<Arc<str>>,
    /// How much there may be.
    pub(super) limit: f64,
}

/// How closely a quota is meant for a client.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Closeness {
    Named,
    Default,
    Absent,
}

/// From the closest on.
const LEVELS: [(Closeness, Closeness); 8] = [
    (Closeness::Named, Closeness::Named),
    (Closeness::Named, Closeness::Default),
    (Closeness::Named, Closeness::Absent),
    (Closeness::Default, Closeness::Named),
    (Closeness::Default, Closeness::Default),
    (Closeness::Default, Closeness::Absent),
    (Closeness::Absent, Closeness::Named),
    (Closeness::Absent, Closeness::Default),
];

/// The quotas that count for a client, by kind.
pub(super) fn matching(security: &Security, user: &str, client: &str) -> [Option<Match>; 4] {
    let mut found = [None, None, None, None];
    for (user_part, client_part) in LEVELS {
        let entity = entity((user_part, user), (client_part, client));
        let Some(quotas) = security.quotas.get(&entity) else { continue };
        for (kind, found) in QuotaKind::ALL.into_iter().zip(&mut found) {
            if let (None, Some(limit)) = (&found, quotas.get(kind.key())) {
                let tag = |part, name: &str| (part != Closeness::Absent).then(|| Arc::from(name));
                let (user, client) = (tag(user_part, user), tag(client_part, client));
                *found = Some(Match { user, client, limit: *limit });
            }
        }
    }
    found
}

fn entity(user: (Closeness, &str), client: (Closeness, &str)) -> QuotaEntity {
    let of = |kind: &str, (part, name): (Closeness, &str)| match part {
        Closeness::Named => Some((kind.to_owned(), Some(name.to_owned()))),
        Closeness::Default => Some((kind.to_owned(), None)),
        Closeness::Absent => None,
    };
    // In the order of their types, as the image has them.
    [of(CLIENT_ID, client), of(USER, user)].into_iter().flatten().collect()
}

/// How many connections may be made in a second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConnectionRates {
    /// By all together (`max.connection.creation.rate`); `None` is as many as come.
    pub all: Option<f64>,
    /// Any address without a quota of its own; `None` is as many as it likes.
    pub default: Option<f64>,
    /// Single addresses.
    pub by_ip: BTreeMap<IpAddr, f64>,
    /// Single listeners (`listener.name.<name>.max.connection.creation.rate`).
    pub by_listener: BTreeMap<Arc<str>, f64>,
}

impl ConnectionRates {
    /// What the image says. Names of hosts are left out: no name server is asked.
    pub(crate) fn of(security: &Security, network: &NetworkConfig) -> Self {
        let of_listener =
            |(name, limits): (&Arc<str>, &ListenerLimits)| Some((Arc::clone(name), f64::from(limits.rate?)));
        let mut rates = Self {
            all: network.connection_rate.map(f64::from),
            by_listener: network.of_listeners.iter().filter_map(of_listener).collect(),
            ..Self::default()
        };
        // All entities of addresses are of this type alone.
        let from: QuotaEntity = vec![(IP.to_owned(), None)];
        let of_ips = security.quotas.range(from..).take_while(|(entity, _)| entity[0].0 == IP);
        for (entity, quotas) in of_ips {
            let Some(rate) = quotas.get(CONNECTION_RATE) else { continue };
            match entity[0].1.as_deref().map(str::parse::<IpAddr>) {
                None => rates.default = Some(*rate),
                Some(Ok(ip)) => drop(rates.by_ip.insert(ip.to_canonical(), *rate)),
                Some(Err(_)) => {}
            }
        }
        rates
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::BrokerConfig;

    type Quota<'a> = (&'a [(&'a str, Option<&'a str>)], &'a str, f64);

    fn security(quotas: &[Quota<'_>]) -> Security {
        let mut security = Security::default();
        for (entity, key, value) in quotas {
            let mut entity: QuotaEntity =
                entity.iter().map(|(kind, name)| ((*kind).to_owned(), name.map(str::to_owned))).collect();
            entity.sort();
            security.quotas.entry(entity).or_default().insert((*key).to_owned(), *value);
        }
        security
    }

    #[test]
    fn the_closest_counts_for_each_kind_by_itself() {
        let mut quotas: Vec<Quota<'_>> = vec![
            (&[(CLIENT_ID, None)], "producer_byte_rate", 8.0),
            (&[(CLIENT_ID, Some("c"))], "producer_byte_rate", 7.0),
            (&[(USER, None)], "producer_byte_rate", 6.0),
            (&[(USER, None), (CLIENT_ID, None)], "producer_byte_rate", 5.0),
            (&[(USER, None), (CLIENT_ID, Some("c"))], "producer_byte_rate", 4.0),
            (&[(USER, Some("u"))], "producer_byte_rate", 3.0),
            (&[(USER, Some("u")), (CLIENT_ID, None)], "producer_byte_rate", 2.0),
            (&[(USER, Some("u")), (CLIENT_ID, Some("c"))], "producer_byte_rate", 1.0),
            (&[(CLIENT_ID, None)], "consumer_byte_rate", 9.0),
        ];
        for (expected, tags) in [
            (1.0, (true, true)),
            (2.0, (true, true)),
            (3.0, (true, false)),
            (4.0, (true, true)),
            (5.0, (true, true)),
            (6.0, (true, false)),
            (7.0, (false, true)),
            (8.0, (false, true)),
        ] {
            let found = matching(&security(&quotas), "u", "c");
            let produce = found[QuotaKind::Produce as usize].clone().unwrap();
            assert_eq!(produce.limit, expected);
            assert_eq!((produce.user.is_some(), produce.client.is_some()), tags);
            assert_eq!(found[QuotaKind::Fetch as usize].as_ref().unwrap().limit, 9.0);
            assert_eq!(found[QuotaKind::Request as usize], None);
            quotas.retain(|(_, _, limit)| *limit != expected);
        }
        assert_eq!(matching(&security(&quotas), "u", "c")[QuotaKind::Produce as usize], None);
    }

    #[test]
    fn addresses_have_rates_and_names_of_hosts_do_not() {
        let quotas = security(&[
            (&[(IP, None)], CONNECTION_RATE, 9.0),
            (&[(IP, Some("10.0.0.1"))], CONNECTION_RATE, 2.0),
            (&[(IP, Some("localhost"))], CONNECTION_RATE, 1.0),
            (&[(USER, None)], "producer_byte_rate", 5.0),
        ]);
        let settings = [
            ("max.connection.creation.rate", "7"),
            ("listener.name.plaintext.max.connection.creation.rate", "3"),
            ("listener.name.plaintext.max.connections", "30"),
        ];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let (config, warnings) = BrokerConfig::from_properties(&settings.into()).unwrap();
        assert!(warnings.is_empty(), "{warnings:?}");
        let connections = config.network.connections_of_listeners();
        assert_eq!(connections, BTreeMap::from([("PLAINTEXT".into(), 30)]));
        let rates = ConnectionRates::of(&quotas, &config.network);
        assert_eq!(rates.all, Some(7.0));
        assert_eq!(rates.by_listener, BTreeMap::from([("PLAINTEXT".into(), 3.0)]));
        assert_eq!(rates.default, Some(9.0));
        assert_eq!(rates.by_ip, BTreeMap::from([("10.0.0.1".parse().unwrap(), 2.0)]));
    }
}
