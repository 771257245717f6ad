//! Lookups touch cold pages of mapped indexes while the collector waits for all threads to stand.

use super::calm::nothing;
use super::{Action, History, Incident, OLD, SMALL_SEGMENTS, Step, Whom};
use crate::evidence::signatures::{Mark, Signature};
use crate::record::Role;
use crate::slow_disk::{Filesystem, Operation};

/// A request handler reads a mapped index.
pub(super) const FAULT: Signature = Signature::wait(
    "a request handler waits in a page fault on a mapped index",
    &[Role::Request],
    &[&["filemap_fault", "filemap_map_pages", "__filemap_get_folio"], &["asm_exc_page_fault"]],
);

/// An old topic of small segments, and so of many indexes.
pub(super) fn many_segments(topic: &str, mebibytes: u64) -> History {
    let configs = vec![("segment.bytes".to_owned(), SMALL_SEGMENTS.to_owned())];
    History { topic: topic.to_owned(), partitions: 4, configs, bytes: mebibytes << 20 }
}

/// Garbage for the JVM, and nothing of the old topic in memory.
pub(super) fn cold_indexes() -> Vec<Action> {
    vec![Action::Allocate(20_000_000), Action::Sync, Action::Evict(Some(OLD)), Action::PageOutIndexes]
}

/// Reads take 500 ms, the indexes are cold again, and then somebody needs them.
pub(super) fn slow_lookups(need: Action) -> Vec<Step> {
    let slow = Action::slow(Operation::Read, 500);
    let actions = [Action::Sync, Action::PageOutIndexes, slow, need];
    actions.into_iter().map(Step::first).collect()
}

pub(super) fn incident() -> Incident {
    Incident {
        name: "page-fault",
        causes: &["page-fault"],
        title: "A page fault before the safepoint",
        explanation: "Three clients ask for offsets by timestamp in an old topic of several hundred segments whose indexes are not in memory. A read takes \
            500 ms, and the JVM has enough to collect.\n\n\
            Apache Kafka maps its indexes. A thread that faults on a page of one waits inside Java code, where the JVM cannot stop it: every other \
            thread that has stopped for the safepoint already waits until the disk has answered.",
        filesystem: Filesystem::Xfs,
        history: vec![many_segments(OLD, 300)],
        before: cold_indexes(),
        during: slow_lookups(Action::AskForTimes { topic: OLD, clients: 3 }),
        disturbance: "reads take 500 ms, and clients ask for offsets by time",
        signatures: vec![
            FAULT,
            Signature {
                name: "the JVM waits for a thread before a safepoint",
                mark: Mark::ReachingSafepoint(100.0),
            },
        ],
        hurts: Whom::Kafka,
        ..nothing()
    }
}
