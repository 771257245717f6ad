//! What a thread is there for, by its name, and, where the kernel's fifteen bytes of that do not
//! tell, by what it waits in when it has nothing to do.
//!
//! The kernel calls Apache Kafka's request handlers and network threads alike `data-plane-kafk`. A
//! network thread sleeps in its selector, a handler in the queue of requests.

use crate::recording::Role;

/// How a name begins, and what that means. The first that fits counts.
const BEGINNINGS: &[(&str, Role)] = &[
    // Aplomb, and the kernel's threads that carry out what it has asked of io_uring.
    ("aplomb-shard-", Role::Request),
    ("disk-", Role::Disk),
    ("iou-wrk-", Role::Disk),
    // Apache Kafka: the scheduler flushes, deletes and checkpoints; the cleaner compacts.
    ("kafka-scheduler", Role::Disk),
    ("kafka-log-clean", Role::Disk),
    ("log-recovery", Role::Disk),
    ("log-opening", Role::Disk),
    ("ReplicaFetcher", Role::Replica),
    // Coordinators answer requests through event loops of their own.
    ("group-coordinat", Role::Request),
    ("share-coordinat", Role::Request),
    // HotSpot.
    ("VM Thread", Role::Collector),
    ("VM Periodic", Role::Collector),
    ("GC Thread#", Role::Collector),
    ("G1 ", Role::Collector),
    ("Reference Handl", Role::Machinery),
    ("Finalizer", Role::Machinery),
    ("Common-Cleaner", Role::Machinery),
    ("Signal Dispatch", Role::Machinery),
    ("Attach Listener", Role::Machinery),
    ("Service Thread", Role::Machinery),
    ("Monitor Deflati", Role::Machinery),
    ("Notification Th", Role::Machinery),
    ("C1 CompilerThre", Role::Machinery),
    ("C2 CompilerThre", Role::Machinery),
    // Redpanda.
    ("reactor-", Role::Request),
];

/// What is in the middle of Apache Kafka's names: `data-plane-kafka-request-handler-0`,
/// `data-plane-kafka-network-thread-1-ListenerName(PLAINTEXT)-PLAINTEXT-0`,
/// `data-plane-kafka-socket-acceptor-…`.
const MIDDLES: &[(&str, Role)] = &[
    ("kafka-request-handler-", Role::Request),
    ("kafka-network-thread-", Role::Network),
    ("kafka-socket-acceptor-", Role::Network),
];

/// What the kernel leaves of handlers', network threads' and acceptors' names.
const EITHER: [&str; 2] = ["data-plane-kafk", "control-plane-k"];

/// What the thread of that name does.
#[must_use]
pub fn role_of(name: &str) -> Role {
    let begins = BEGINNINGS.iter().find(|(beginning, _)| name.starts_with(beginning));
    begins
        .or_else(|| MIDDLES.iter().find(|(middle, _)| name.contains(middle)))
        .map_or(Role::Other, |(_, role)| *role)
}

/// Whether only what it waits in can tell.
pub(super) fn is_either(name: &str) -> bool {
    EITHER.contains(&name)
}

/// Whether it is a request handler, which waits for its next request with a limit in time, and so
/// for a lock where it waits without one. Coordinators' threads wait for their next event so.
pub(super) fn is_handler(name: &str) -> bool {
    is_either(name) || name.contains("kafka-request-handler-")
}

/// Whether a futex without a limit in time is a lock where this thread waits for it, and no queue
/// that may stay empty: handlers wait for requests with a limit, the others in a selector.
pub(super) fn waits_for_locks(name: &str, role: Role) -> bool {
    let in_selector = ["aplomb-shard-", "reactor-"].iter().any(|begin| name.starts_with(begin));
    match role {
        Role::Request => is_handler(name) || in_selector,
        Role::Network => true,
        _ => false,
    }
}

/// Which of them it is, by the function that it sleeps in or the call that it is in; `None` if that
/// does not tell.
pub(super) fn told_by(place: &str) -> Option<Role> {
    match place {
        "ep_poll" | "do_epoll_wait" | "epoll_wait" | "epoll_pwait" | "sendfile" | "do_sendfile" => {
            Some(Role::Network)
        }
        "futex_wait_queue" | "futex_wait_queue_me" | "futex_do_wait" | "futex" | "pwrite64" | "pread64" => {
            Some(Role::Request)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_brokers_are_known() {
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
            ("kafka-log-clean", Role::Disk),
            ("aplomb-log", Role::Other),
            ("data-plane-kafk", Role::Other),
        ] {
            assert_eq!(role_of(name), role, "{name}");
        }
    }

    #[test]
    fn a_coordinator_waits_for_its_next_event_as_others_do_for_a_lock() {
        assert!(waits_for_locks("data-plane-kafk", Role::Request));
        assert!(waits_for_locks("aplomb-shard-1", Role::Request));
        assert!(waits_for_locks("data-plane-kafk", Role::Network));
        assert!(!waits_for_locks("group-coordinat", Role::Request));
        assert!(!waits_for_locks("GC Thread#1", Role::Collector));
    }

    #[test]
    fn where_it_sleeps_tells_who_it_is() {
        assert!(is_either("data-plane-kafk") && !is_either("kafka-scheduler"));
        assert_eq!(told_by("ep_poll"), Some(Role::Network));
        assert_eq!(told_by("futex_wait_queue"), Some(Role::Request));
        assert_eq!(told_by("xfs_ilock"), None);
    }
}
