//! What a thread is there for, by its name.
//!
//! The kernel keeps fifteen characters of a name, which makes `data-plane-kafk` of request handlers
//! and of network threads alike; so a JVM is asked for whole names where it can be
//! ([`crate::brokers::BrokerUnderTest::thread_names`]). Aplomb's names are in docs/ARCHITECTURE.md.

use crate::record::Role;

/// How a name begins, and what that means. The first that fits counts.
const BEGINNINGS: &[(&str, Role)] = &[
    // Aplomb, and the kernel's threads that carry out what it has asked of io_uring.
    ("aplomb-shard-", Role::Request),
    ("disk-", Role::Disk),
    ("iou-wrk-", Role::Disk),
    // Apache Kafka: the scheduler flushes, deletes and checkpoints; the cleaner compacts.
    ("kafka-scheduler", Role::Disk),
    ("kafka-log-cleaner", Role::Disk),
    // Coordinators answer requests through event loops of their own.
    ("group-coordinator-event-processor", Role::Request),
    // HotSpot.
    ("VM Thread", Role::Collector),
    ("VM Periodic", Role::Collector),
    ("GC Thread#", Role::Collector),
    ("G1 ", Role::Collector),
];

/// What is in the middle of Apache Kafka's names: `data-plane-kafka-request-handler-0`,
/// `data-plane-kafka-network-thread-1-ListenerName(PLAINTEXT)-PLAINTEXT-0`,
/// `data-plane-kafka-socket-acceptor-…`.
const MIDDLES: &[(&str, Role)] = &[
    ("kafka-request-handler-", Role::Request),
    ("kafka-network-thread-", Role::Network),
    ("kafka-socket-acceptor-", Role::Network),
];

/// What the thread of that name does.
#[must_use]
pub(super) fn role_of(name: &str) -> Role {
    let begins = BEGINNINGS.iter().find(|(beginning, _)| name.starts_with(beginning));
    begins
        .or_else(|| MIDDLES.iter().find(|(middle, _)| name.contains(middle)))
        .map_or(Role::Other, |(_, role)| *role)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_both_brokers_are_known() {
        for (name, role) in [
            ("aplomb-shard-0", Role::Request),
            ("disk-0-writer", Role::Disk),
            ("iou-wrk-23675", Role::Disk),
            ("data-plane-kafka-request-handler-7", Role::Request),
            ("data-plane-kafka-network-thread-1-ListenerName(PLAINTEXT)-PLAINTEXT-2", Role::Network),
            ("VM Thread", Role::Collector),
            ("G1 Conc#0", Role::Collector),
            ("GC Thread#1", Role::Collector),
            ("kafka-scheduler-3", Role::Disk),
            ("aplomb-log", Role::Other),
            ("data-plane-kafk", Role::Other),
        ] {
            assert_eq!(role_of(name), role, "{name}");
        }
    }
}
