//! The tables of all configuration keys: one file for each room of the broker, `aplomb` for our
//! own, `topic` for those of topics. What a key means is read from here and nowhere else: by the
//! parser of `server.properties`, by DescribeConfigs and by the controller.

mod aplomb;
mod client_metrics;
mod group;
mod groups;
mod log;
mod network;
mod node;
mod observation;
mod quotas;
mod reasons;
mod remote;
mod replication;
mod security;
mod topic;
mod transactions;

use super::key::{ConfigKey, GroupKey, Meaning, TopicKey, Update};

const BROKER_TABLES: [&[ConfigKey]; 11] = [
    aplomb::KEYS,
    groups::KEYS,
    log::KEYS,
    network::KEYS,
    node::KEYS,
    observation::KEYS,
    quotas::KEYS,
    remote::KEYS,
    replication::KEYS,
    security::KEYS,
    transactions::KEYS,
];

/// Keys that Apache Kafka 4.4 has for its own tests and does not document. Accepted, so that no
/// such file fails here; they do nothing.
const INTERNAL: [&str; 29] = [
    "controller.performance.always.log.threshold.ms",
    "controller.performance.sample.period.ms",
    "group.consumer.assignor.offload.enable",
    "group.consumer.regex.refresh.interval.ms",
    "group.share.assignor.offload.enable",
    "group.share.dlq.manager.class.name",
    "group.share.initialize.retry.interval.ms",
    "group.share.persister.class.name",
    "group.streams.acceptable.recovery.lag",
    "group.streams.assignor.offload.enable",
    "group.streams.max.warmup.replicas",
    "group.streams.min.task.offset.interval.ms",
    "group.streams.num.warmup.replicas",
    "group.streams.task.offset.interval.ms",
    "internal.metadata.delete.delay.millis",
    "internal.metadata.log.segment.bytes",
    "internal.metadata.max.batch.size.in.bytes",
    "log.initial.task.delay.ms",
    "producer.id.expiration.check.interval.ms",
    "remote.log.index.file.cache.ttl.ms",
    "remote.log.manager.task.retry.backoff.max.ms",
    "remote.log.manager.task.retry.backoff.ms",
    "remote.log.manager.task.retry.jitter",
    "server.max.startup.time.ms",
    "share.coordinator.cold.partition.snapshot.interval.ms",
    "share.coordinator.state.topic.prune.interval.ms",
    "unclean.leader.election.interval.ms",
    "unstable.api.versions.enable",
    "unstable.feature.versions.enable",
];

/// What Apache Kafka hands on to plug-ins and listeners by prefix.
const PREFIXES: [&str; 5] =
    ["listener.name.", "rlmm.config.", "rsm.config.", "config.providers.", "internal."];

/// All keys of the broker.
pub fn broker_keys() -> impl Iterator<Item = &'static ConfigKey> {
    BROKER_TABLES.iter().flat_map(|table| table.iter())
}

/// All keys of topics, by name.
#[must_use]
pub fn topic_keys() -> &'static [TopicKey] {
    topic::KEYS
}

/// All keys of subscriptions to clients' metrics, by name.
#[must_use]
pub fn client_metrics_keys() -> &'static [ConfigKey] {
    client_metrics::KEYS
}

/// All keys of groups, by name.
#[must_use]
pub fn group_keys() -> &'static [GroupKey] {
    group::KEYS
}

/// The key of groups with this name.
#[must_use]
pub fn group_key(name: &str) -> Option<&'static GroupKey> {
    group::KEYS.iter().find(|group| group.key.name == name)
}

/// The key of the broker with this name.
#[must_use]
pub fn broker_key(name: &str) -> Option<&'static ConfigKey> {
    broker_keys().find(|key| key.name == name)
}

/// The key of topics with this name.
#[must_use]
pub fn topic_key(name: &str) -> Option<&'static TopicKey> {
    topic::KEYS.iter().find(|topic| topic.key.name == name)
}

/// Whether DescribeConfigs names a key of the broker only where it is set: throttles, which are no
/// settings of a file, and the authorizer's own.
#[must_use]
pub fn is_only_shown_when_set(key: &ConfigKey) -> bool {
    const KEYS: [&str; 3] = [
        "leader.replication.throttled.rate",
        "follower.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
    ];
    is_of_the_authorizer(key) || KEYS.contains(&key.name)
}

/// Whether a key is the authorizer's own. Apache Kafka's broker does not know these, so that
/// DescribeConfigs hides their values.
#[must_use]
pub fn is_of_the_authorizer(key: &ConfigKey) -> bool {
    matches!(key.name, "allow.everyone.if.no.acl.found" | "super.users")
}

/// What becomes of a change at run time that does not count at once; `None` where it does, or where
/// the key does nothing at all.
#[must_use]
pub fn not_at_once(key: &ConfigKey) -> Option<&'static str> {
    match key.name {
        "config.providers" => Some(
            "a change at run time is refused: references are followed at start, in what stands in the file",
        ),
        _ if is_of_the_file_alone(key) => {
            Some("a change at run time is refused: listeners are opened at start")
        }
        _ if is_changed_by_listener(key) => Some(
            "at run time it can be changed for one listener, as `listener.name.<listener>.` with this name",
        ),
        _ if matches!(key.meaning, Meaning::Used("security.listeners")) && key.update != Update::ReadOnly => {
            Some(
                "a change at run time does nothing: what counts is in the file, and in the stores that it names",
            )
        }
        "num.network.threads" | "num.recovery.threads.per.data.dir" => {
            Some("a change at run time counts from the next start on")
        }
        _ => None,
    }
}

/// Whether a key that Apache Kafka can change at run time is only what the file says here.
#[must_use]
pub fn is_of_the_file_alone(key: &ConfigKey) -> bool {
    matches!(key.name, "config.providers" | "listeners" | "listener.security.protocol.map")
}

/// Why a name that is in no table is accepted and does nothing; `None` for one that is unknown.
#[must_use]
pub(super) fn accepted_without_a_table(name: &str) -> Option<&'static str> {
    if INTERNAL.contains(&name) {
        return Some("Apache Kafka's own tests use it");
    }
    PREFIXES
        .iter()
        .any(|prefix| name.starts_with(prefix))
        .then_some("there is no plug-in or listener that reads it")
}

/// The known broker key that is nearest to `name`, if any is near enough to be what was meant.
#[must_use]
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    let limit = (name.chars().count() / 3).clamp(2, 6);
    broker_keys()
        .map(|key| (edit_distance(name, key.name), key.name))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, known)| known)
}

/// The name that a listener's own setting stands for: `listener.name.<listener>.<name>`, or with
/// the SASL mechanism before the name (`DynamicBrokerConfig#brokerConfigSynonyms`).
#[must_use]
pub fn behind_listener(name: &str) -> Option<&str> {
    const OF_A_MECHANISM: [&str; 5] = [
        "connections.max.reauth.ms",
        "sasl.jaas.config",
        "sasl.login.callback.handler.class",
        "sasl.login.class",
        "sasl.server.callback.handler.class",
    ];
    let (_, base) = name.strip_prefix("listener.name.")?.split_once('.')?;
    Some(OF_A_MECHANISM.into_iter().find(|known| base.ends_with(known)).unwrap_or(base))
}

/// The listener that a setting's name speaks of, and what is behind it.
#[must_use]
pub(super) fn split_listener_name(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("listener.name.")?.split_once('.')
}

/// The key that a listener's own setting stands for, if there is one: with a mechanism of SASL
/// before it, or without.
#[must_use]
pub(super) fn listener_key(name: &str) -> Option<&'static ConfigKey> {
    const MECHANISMS: [&str; 5] = ["gssapi", "oauthbearer", "plain", "scram-sha-256", "scram-sha-512"];
    let (_, rest) = split_listener_name(name)?;
    broker_key(rest).or_else(|| {
        let (mechanism, rest) = rest.split_once('.')?;
        MECHANISMS.contains(&mechanism).then(|| broker_key(rest))?
    })
}

/// Whether a setting can change at run time only for one listener, by its prefix
/// (`SslConfigs.RECONFIGURABLE_CONFIGS`).
#[must_use]
pub fn is_changed_by_listener(key: &ConfigKey) -> bool {
    const STORES: [&str; 2] = ["ssl.keystore.", "ssl.truststore."];
    key.name == "ssl.key.password" || STORES.iter().any(|store| key.name.starts_with(store))
}

/// Whether this is a setting of one listener's stores, which can change at run time.
#[must_use]
pub(crate) fn is_of_a_listeners_stores(name: &str) -> bool {
    let key = split_listener_name(name).and_then(|(_, key)| broker_key(key));
    key.is_some_and(is_changed_by_listener)
}

/// How many connections there may be, of all and of a listener.
pub(super) const CONNECTIONS: &str = "max.connections";
/// How many new ones there may be in a second, likewise.
pub(super) const CONNECTION_RATE: &str = "max.connection.creation.rate";

/// Whether a setting is one of a listener's limits.
pub(super) fn is_of_listener_limits(name: &str) -> bool {
    split_listener_name(name).is_some_and(|(_, key)| key == CONNECTIONS || key == CONNECTION_RATE)
}

/// Other names under which a setting of the broker is set, itself included, the strongest first
/// (`DynamicBrokerConfig#brokerConfigSynonyms`).
#[must_use]
pub fn broker_synonyms(name: &str) -> Vec<&str> {
    const IN_SEVERAL_UNITS: [&[&str]; 3] = [
        &["log.roll.ms", "log.roll.hours"],
        &["log.roll.jitter.ms", "log.roll.jitter.hours"],
        &["log.retention.ms", "log.retention.minutes", "log.retention.hours"],
    ];
    if name == "log.flush.interval.ms" {
        return vec![name, "log.flush.scheduler.interval.ms"];
    }
    if let Some(base) = behind_listener(name) {
        return vec![name, base];
    }
    IN_SEVERAL_UNITS
        .iter()
        .find(|names| names.contains(&name))
        .map_or_else(|| vec![name], |names| names.to_vec())
}

/// Levenshtein's distance in characters.
fn edit_distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, l) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, r) in right.iter().enumerate() {
            let substituted = diagonal + usize::from(l != *r);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_listeners_setting_stands_for_the_one_behind_its_prefix() {
        let base = behind_listener;
        assert_eq!(base("listener.name.inner.ssl.keystore.type"), Some("ssl.keystore.type"));
        assert_eq!(base("listener.name.inner.plain.sasl.jaas.config"), Some("sasl.jaas.config"));
        assert_eq!(base("listener.name.inner.what.it.is"), Some("what.it.is"));
        assert_eq!(base("listener.name.inner"), None);
        assert_eq!(base("ssl.keystore.type"), None);
    }

    #[test]
    fn every_default_is_a_value_that_its_key_accepts() {
        for key in broker_keys().chain(topic_keys().iter().map(|topic| &topic.key)) {
            if let Some(default) = key.default {
                assert!(key.parse(default).is_ok(), "{}={default}", key.name);
            }
        }
    }

    #[test]
    fn no_key_is_in_two_tables() {
        let names: BTreeSet<_> = broker_keys().map(|key| key.name).collect();
        assert_eq!(names.len(), broker_keys().count());
    }

    #[test]
    fn every_topic_key_falls_back_to_broker_keys_that_exist() {
        for topic in topic_keys() {
            for name in topic.broker_keys {
                assert!(broker_key(name).is_some(), "{name}");
            }
        }
    }

    #[test]
    fn every_group_key_falls_back_to_a_broker_key_and_is_bounded_by_such() {
        for group in group_keys() {
            let names = group.broker_key.iter().chain(group.bounds);
            names.for_each(|name| assert!(broker_key(name).is_some(), "{name}"));
            let default = group.broker_key.and_then(|name| broker_key(name)?.default);
            assert!(group.broker_key.is_none() || default == group.key.default, "{}", group.key.name);
        }
        assert!(group_keys().is_sorted_by_key(|group| group.key.name));
    }

    #[test]
    fn every_key_is_documented_with_a_sentence() {
        let of_topics = topic_keys().iter().map(|topic| &topic.key);
        let of_groups = group_keys().iter().map(|group| &group.key);
        for key in broker_keys().chain(of_topics).chain(of_groups).chain(client_metrics_keys()) {
            assert!(key.documentation.ends_with('.'), "{}", key.name);
        }
    }

    #[test]
    fn a_topic_key_and_its_broker_key_have_the_same_default() {
        for topic in topic_keys().iter().filter(|topic| topic.broker_keys.len() == 1) {
            let broker = broker_key(topic.broker_keys[0]).expect("checked above");
            assert_eq!(topic.key.default, broker.default, "{}", topic.key.name);
        }
    }

    #[test]
    fn a_slip_of_the_finger_finds_its_key() {
        assert_eq!(nearest("log.retention.msec"), Some("log.retention.ms"));
        assert_eq!(nearest("aplomb.tail.byte"), Some("aplomb.tail.bytes"));
        assert_eq!(nearest("zookeeper.connect"), None);
    }
}
