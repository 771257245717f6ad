//! Memory of the process's control group is full, and threads free pages before they get any.

use crate::diagnosis::evidence::Evidence;
use crate::diagnosis::finding::{Finding, count, remedy, told};
use crate::recording::{Role, WaitClass};

/// What frees pages of a group.
const OF_A_GROUP: [&str; 3] =
    ["try_to_free_mem_cgroup_pages", "mem_cgroup_handle_over_high", "try_charge_memcg"];

/// Pages of a full group are written as soon as they are dirty, and a journal commits with that
/// every five seconds.
const COMMIT_MS: f64 = 5_000.0;

pub(super) fn rule(evidence: &Evidence<'_>) -> Option<Finding> {
    let ours = |role| !matches!(role, Role::Kernel | Role::Neighbour);
    let waits = evidence.waits(|seen| ours(seen.role()) && seen.has(&OF_A_GROUP));
    if waits.is_empty() {
        return None;
    }
    let felt = waits.that(|seen| seen.carries_requests() || seen.role() == Role::Collector);
    let hits: u64 = evidence.recording.host.iter().filter_map(|row| row.cgroup_limit_hits).sum();
    let mut evidence_for = vec![told(&waits, "freed pages of the control group before they got one")];
    if hits > 0 {
        evidence_for.push(format!("the group's memory limit was hit {hits} times"));
    }
    // Writers of a full group are also held up for its dirty pages.
    let held = evidence.waits(|seen| seen.carries_requests() && seen.is(WaitClass::DirtyLimit));
    Some(Finding {
        name: "cgroup-reclaim",
        explained: felt.spans().and(&held.spans()),
        ground: hits > 0,
        waited: !felt.is_empty(),
        summary: format!(
            "{} freed pages of the broker's memory group in the middle of their work",
            count(waits.threads().len(), "thread")
        ),
        evidence: evidence_for,
        against: Vec::new(),
        mechanism: "The page cache of a container counts towards its memory limit. Who needs a page when the \
            group is full frees one in the same call, and waits for its write if it is dirty. That happens \
            to appends, but also to a collector's thread within a pause and to network threads.",
        remedy: vec![
            remedy(
                "a memory limit of at least the heap, other memory of the JVM, and the active segments of all partitions",
                "memory",
            ),
            remedy(
                "memory.high below memory.max, so that freeing begins earlier",
                "a slower start of the same",
            ),
        ],
        threads: felt.threads(),
        absorbs: &[
            "journal",
            "dirty-limit",
            "inode-lock",
            "gc-log",
            "own-log",
            "page-fault",
            "cold-read",
            "roll",
            "cold-metadata",
        ],
        near_ms: COMMIT_MS,
        ..Finding::default()
    })
}
