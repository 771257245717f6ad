//! Retention deletes mapped files, and requests wait for locks or pages that the deletion needs.

use crate::diagnosis::evidence::Evidence;
use crate::diagnosis::finding::{Finding, remedy, time, told};
use crate::recording::{Role, WaitClass};

/// What frees a file.
const FREES: [&str; 8] = [
    "xfs_inactive",
    "do_unlinkat",
    "ext4_evict_inode",
    "evict",
    "destroy_inode",
    "do_vmi_munmap",
    "unmap_region",
    "xfs_inodegc_flush",
];

pub(super) fn rule(evidence: &Evidence<'_>) -> Option<Finding> {
    let frees = evidence.waits(|seen| {
        matches!(seen.role(), Role::Disk | Role::Machinery | Role::Collector)
            && (seen.has(&FREES) || seen.is_below(&["unmap0", "Files.delete", "deleteIfExists", "unlink0"]))
    });
    // The indexes of what is deleted are read under the lock of the log.
    let reads = evidence.waits(|seen| {
        seen.role() == Role::Disk
            && (seen.is(WaitClass::Fault) || seen.is(WaitClass::Metadata))
            && !seen.thread.name.starts_with("kafka-log-clean")
    });
    let works = frees.spans().and(&reads.spans());
    if works.is_empty() {
        return None;
    }
    let stopped = evidence.pauses(|_| true).within(&works);
    let waits = evidence.waits(|seen| {
        seen.carries_requests()
            && (seen.is(WaitClass::Lock) || seen.is(WaitClass::Fault) || seen.is(WaitClass::Metadata))
    });
    let waited = waits.spans().within(&works);
    if frees.is_empty() || (stopped.is_empty() && waited.is_empty()) {
        return None;
    }
    let mut evidence_for = vec![told(&frees, "freed deleted files")];
    if !stopped.is_empty() {
        evidence_for.push(format!("the JVM stood for {} meanwhile", time(stopped.total_ms())));
    }
    if !waited.is_empty() {
        evidence_for.push(format!("request threads waited for {} meanwhile", time(waited.total_ms())));
    }
    Some(Finding {
        name: "munmap",
        explained: stopped.and(&waited),
        ground: true,
        waited: true,
        summary: "Deleted segments and their mapped indexes were freed while requests waited".to_owned(),
        evidence: evidence_for,
        against: Vec::new(),
        mechanism: "A deleted file is freed by the last that lets go of it, and the filesystem reads its \
            metadata for that. Before 0.10.2 Apache Kafka left that to the collector, within a pause \
            (KAFKA-4614). Later versions delete in the background, but read what they delete under locks \
            that requests need.",
        remedy: vec![
            remedy(
                "Apache Kafka 0.10.2 or later; 4.1 or later also for indexes that a roll leaves (KAFKA-19390)",
                "an upgrade",
            ),
            remedy("larger segments (segment.bytes), so that fewer are deleted at once", "coarser retention"),
        ],
        threads: waits.threads(),
        absorbs: &["page-fault", "cold-metadata"],
        ground_when: Some((works, "a deletion at work")),
        ..Finding::default()
    })
}
