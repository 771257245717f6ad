//! What a thread is there for, by its name.
//!
//! The kernel keeps fifteen characters of a name. HotSpot keeps of a longer one the first seven and the last six, with two dots between
//! (`os::set_native_thread_name`): `data-plane-kafka-request-handler-0` is `data-pl..dler-0`. Aplomb's names are in docs/ARCHITECTURE.md.

use crate::record::Role;

/// How a name begins and ends, and what that means. The first that fits counts.
const NAMES: &[(&str, &str, Role)] = &[
    // Aplomb.
    ("aplomb-shard-", "", Role::Request),
    ("disk-", "", Role::Disk),
    // Apache Kafka: request handlers and network processors are numbered behind `handler-` and a listener's name.
    ("data-pl..dler-", "", Role::Request),
    ("control..dler-", "", Role::Request),
    ("data-pl..INTEXT-", "", Role::Network),
    ("data-pl..TEXT-", "", Role::Network),
    ("data-pl..SSL-", "", Role::Network),
    ("data-pl..Acceptor", "", Role::Network),
    // Its scheduler flushes, deletes and checkpoints; the cleaner compacts.
    ("kafka-s..read-", "", Role::Disk),
    ("kafka-scheduler", "", Role::Disk),
    ("kafka-log-clean", "", Role::Disk),
    ("kafka-l..ead-", "", Role::Disk),
    // Group coordinators answer requests through an event loop of their own.
    ("group-c..", "", Role::Request),
    // HotSpot.
    ("VM Thread", "", Role::Collector),
    ("VM Periodic", "", Role::Collector),
    ("GC Thread#", "", Role::Collector),
    ("G1 ", "", Role::Collector),
];

/// What the thread of that name does.
#[must_use]
pub fn role_of(name: &str) -> Role {
    let fits = |(begin, end, _): &&(&str, &str, Role)| name.starts_with(begin) && name.ends_with(end);
    if let Some((_, _, role)) = NAMES.iter().find(fits) {
        return *role;
    }
    // `data-plane-kafka-network-thread-1-ListenerName(PLAINTEXT)-PLAINTEXT-0`: with ten and more, the last six differ.
    if name.starts_with("data-pl..") { Role::Network } else { Role::Other }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_both_brokers_are_known() {
        for (name, role) in [
            ("aplomb-shard-0", Role::Request),
            ("disk-0-writer", Role::Disk),
            ("data-pl..dler-7", Role::Request),
            ("data-pl..TEXT-2", Role::Network),
            ("VM Thread", Role::Collector),
            ("G1 Conc#0", Role::Collector),
            ("GC Thread#1", Role::Collector),
            ("aplomb-log", Role::Other),
            ("java", Role::Other),
        ] {
            assert_eq!(role_of(name), role, "{name}");
        }
    }
}
