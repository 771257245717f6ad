//! The cleaner, or another background thread, syncs while it holds a lock that requests need.

use crate::diagnosis::evidence::Evidence;
use crate::diagnosis::finding::{Finding, count, device_said, let_go, remedy, told};
use crate::diagnosis::spans::Spans;
use crate::recording::{Role, WaitClass};

/// What syncs a file, and not a directory.
const OF_A_FILE: [&str; 3] = ["xfs_file_fsync", "ext4_sync_file", "file_write_and_wait_range"];
/// A lock that is waited for as long as this was held over something slow.
const LONG_MS: f64 = 30.0;

pub(super) fn rule(evidence: &Evidence<'_>) -> Option<Finding> {
    let locks = evidence.waits(|seen| {
        seen.role() == Role::Request && seen.is(WaitClass::Lock) && seen.length_ms() >= LONG_MS
    });
    let cleaner = |name: &str| name.starts_with("kafka-log-clean");
    let syncs = evidence
        .waits(|seen| seen.role() == Role::Disk && cleaner(&seen.thread.name) && seen.is(WaitClass::Sync));
    let directories = syncs.that(|seen| !seen.has(&OF_A_FILE));
    let holders = if directories.is_empty() { &syncs } else { &directories };
    let felt = locks.that(|seen| {
        let span: Spans = [seen.span()].into_iter().collect();
        span.share_in(&holders.spans()) > 0.3
    });
    if felt.is_empty() {
        return None;
    }
    let mut evidence_for = vec![
        told(&felt, "waited for a lock of the program"),
        told(holders, "of the cleaner synced meanwhile"),
    ];
    evidence_for.extend(let_go(evidence, &felt));
    let owners = felt.that(|seen| seen.wait.holders_known);
    let device = holders.paths().first().and_then(|path| device_said(evidence, path, &holders.spans()));
    evidence_for.extend(device);
    let mut against = Vec::new();
    if owners.is_empty() {
        against.push("whose lock it was is inferred: both happened at the same time".to_owned());
    }
    if directories.is_empty() {
        against.push("only files were seen being synced, and no directory".to_owned());
    }
    Some(Finding {
        name: "compaction",
        explained: felt.spans(),
        ground: true,
        waited: true,
        summary: format!(
            "{} waited for a log's lock while the cleaner synced a directory under it",
            count(felt.threads().len(), "request handler")
        ),
        evidence: evidence_for,
        against,
        mechanism: "The cleaner renames the segments that it has made and syncs their directory while it holds \
            the log's lock. A request handler with records for that partition waits for the lock. Other \
            handlers wait behind it, and with them every client.",
        remedy: vec![
            remedy(
                "log.cleaner.backoff.ms=60000, or min.cleanable.dirty.ratio up, for fewer cleanings",
                "more disk; a longer start of readers",
            ),
            remedy("larger segments of the compacted topic (segment.bytes, segment.ms)", "cleaned later"),
        ],
        threads: felt.threads(),
        absorbs: &[],
        ground_when: Some((holders.spans(), "a sync of the cleaner")),
        ground_known: !owners.is_empty(),
        ..Finding::default()
    })
}
