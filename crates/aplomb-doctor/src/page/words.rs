//! The words that the page, its script and the terminal use for roles, classes and certainty.
//!
//! What always holds: a class has the same word everywhere; its key is the name of its colour in
//! the style sheet.

use crate::diagnosis::Confidence;
use crate::recording::{Kind, Process, Role, Sighting, WaitClass};

/// A class's key, its word, and what it is.
pub(super) type ClassWords = (&'static str, &'static str, &'static str);

/// Why causes are in the order that they are in.
pub(super) const ORDER: &str = "the first cause is the one for which requests waited most: one long stall is worse than as much time in small pieces.";

/// All classes, in the order of the legend and of their numbers in the script's data.
pub(super) const CLASSES: [WaitClass; 13] = [
    WaitClass::Inode,
    WaitClass::Page,
    WaitClass::Fault,
    WaitClass::Journal,
    WaitClass::Sync,
    WaitClass::DirtyLimit,
    WaitClass::Reclaim,
    WaitClass::Metadata,
    WaitClass::Device,
    WaitClass::Lock,
    WaitClass::Safepoint,
    WaitClass::Socket,
    WaitClass::Other,
];

/// The words of a class.
pub(super) const fn class(class: WaitClass) -> ClassWords {
    match class {
        WaitClass::Inode => {
            ("inode", "file lock", "the lock of a file in the kernel, held by another thread")
        }
        WaitClass::Page => ("page", "file page", "a page of a file: read, sent, or on its way to the disk"),
        WaitClass::Fault => ("fault", "page fault", "a page of a mapped file, or one that was swapped out"),
        WaitClass::Journal => ("journal", "journal", "the journal of a filesystem"),
        WaitClass::Sync => ("sync", "sync", "a sync of a file or directory"),
        WaitClass::DirtyLimit => ("dirty", "dirty limit", "the limit of dirty pages"),
        WaitClass::Reclaim => ("reclaim", "reclaim", "memory that has to be freed first"),
        WaitClass::Metadata => {
            ("metadata", "metadata", "metadata of a filesystem: inodes, directories, extents")
        }
        WaitClass::Device => ("device", "device", "a device"),
        WaitClass::Lock => ("lock", "program lock", "a lock or monitor of the program"),
        WaitClass::Safepoint => ("safepoint", "safepoint", "a safepoint of the JVM"),
        WaitClass::Socket => ("socket", "socket", "a peer that does not read, or does not answer"),
        WaitClass::Other => ("other", "other", "something else in the kernel"),
    }
}

/// All roles, in the order of the picture's lanes: those for whom clients wait come first.
pub(super) const ROLES: [Role; 9] = [
    Role::Request,
    Role::Network,
    Role::Replica,
    Role::Disk,
    Role::Collector,
    Role::Machinery,
    Role::Kernel,
    Role::Neighbour,
    Role::Other,
];

/// Threads of a role, as a heading.
pub(super) const fn role(role: Role) -> &'static str {
    match role {
        Role::Request => "Request handlers",
        Role::Network => "Network threads",
        Role::Replica => "Replica fetchers",
        Role::Disk => "Disk threads",
        Role::Collector => "Collector",
        Role::Machinery => "JVM’s own threads",
        Role::Kernel => "Kernel threads",
        Role::Neighbour => "Other processes",
        Role::Other => "Other threads",
    }
}

/// How sure a cause is, in a word.
pub(super) const fn confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Possible => "possible",
        Confidence::Likely => "likely",
        Confidence::Proved => "proved",
    }
}

/// What that word means: effect, wait and ground are the three witnesses.
pub(super) const fn witnesses(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Possible => "one of effect, wait and ground was seen",
        Confidence::Likely => "two of effect, wait and ground were seen in the same moments",
        Confidence::Proved => "effect, wait and ground were seen in the same moments, and not in calm ones",
    }
}

/// How a wait is known: its number in the script's data, and the looks.
pub(super) const fn seen(sighting: Sighting) -> (u64, u64) {
    match sighting {
        Sighting::Exact => (0, 0),
        Sighting::Gap => (1, 0),
        Sighting::One { looks } => (2, looks),
        Sighting::Several { looks } => (3, looks),
    }
}

/// What those numbers mean; the script puts the looks before the last two.
pub(super) const SEEN: [&str; 4] = [
    "beginning and end were recorded",
    "a profiler that cannot see sleeping threads saw nothing of it for so long: the end is exact, the beginning is not",
    "looks in a row found it here, and it did not run in between: one wait",
    "looks in a row found it here, and it ran in between: several waits",
];

/// The process, for a heading.
pub(super) fn process(process: &Process) -> String {
    let name = match (process.name.trim(), process.kind) {
        ("", Kind::Kafka) => "a broker in a JVM",
        ("", Kind::Aplomb) => "Aplomb",
        ("", Kind::Other) => "a process",
        (name, _) => name,
    };
    process.pid.map_or_else(|| name.to_owned(), |pid| format!("{name}, pid {pid}"))
}

/// A thread's name without what all threads of Apache Kafka have in it: `request-handler-3`,
/// `network-thread-1-PLAINTEXT-0`.
pub(super) fn brief(name: &str) -> String {
    let short =
        ["data-plane-kafka-", "control-plane-kafka-"].iter().find_map(|known| name.strip_prefix(known));
    let short = short.unwrap_or(name);
    // `ListenerName(INSIDE)-SASL_SSL`: the listener says more than its protocol.
    let listener = short.split_once("ListenerName(").and_then(|(before, rest)| {
        let (listener, rest) = rest.split_once(")-")?;
        let (_, number) = rest.rsplit_once('-')?;
        Some(format!("{before}{listener}-{number}"))
    });
    listener.unwrap_or_else(|| short.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_have_keys_and_words_of_their_own() {
        let mut keys: Vec<_> = CLASSES.iter().flat_map(|each| [class(*each).0, class(*each).1]).collect();
        let style = include_str!("page.css");
        for (key, _, _) in CLASSES.map(class) {
            assert!(style.matches(&format!("--{key}:")).count() >= 2, "{key} has no colour, light and dark");
        }
        keys.sort_unstable();
        keys.dedup();
        // A word may be its own key, and no other's.
        assert!(keys.len() > CLASSES.len());
        assert!(CLASSES.is_sorted(), "numbers follow the order of the classes");
        assert!(ROLES.is_sorted(), "numbers follow the order of the roles");
    }

    #[test]
    fn a_threads_name_is_told_without_what_all_have() {
        assert_eq!(brief("data-plane-kafka-request-handler-3"), "request-handler-3");
        let network = "data-plane-kafka-network-thread-1-ListenerName(INSIDE)-SASL_SSL-0";
        assert_eq!(brief(network), "network-thread-1-INSIDE-0");
        assert_eq!(brief("ListenerName(</script>"), "ListenerName(</script>");
        assert_eq!(brief("VM Thread"), "VM Thread");
    }

    #[test]
    fn a_process_without_a_name_is_called_what_it_is() {
        let nameless = Process { kind: Kind::Kafka, pid: Some(7), ..Process::default() };
        assert_eq!(process(&nameless), "a broker in a JVM, pid 7");
    }
}
