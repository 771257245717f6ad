//! A request handler syncs a file itself: at a roll, or because it is told to flush.

use crate::diagnosis::evidence::Evidence;
use crate::diagnosis::finding::{Finding, count, device_said, remedy, told};
use crate::recording::{Role, WaitClass};

pub(super) fn rule(evidence: &Evidence<'_>) -> Option<Finding> {
    let waits = evidence.waits(|seen| seen.role() == Role::Request && seen.is(WaitClass::Sync));
    if waits.is_empty() {
        return None;
    }
    let device = waits.paths().first().and_then(|path| device_said(evidence, path, &waits.spans()));
    let mut evidence_for = vec![told(&waits, "synced a file within a request")];
    let ground = device.is_some() || !waits.paths().is_empty();
    evidence_for.extend(device);
    Some(Finding {
        name: "roll",
        explained: waits.spans(),
        ground,
        waited: true,
        summary: format!("{} synced a file within a request", count(waits.threads().len(), "request thread")),
        evidence: evidence_for,
        against: Vec::new(),
        mechanism: "Before 3.7 Apache Kafka synced the snapshot of producers when a segment rolled, in the \
            append that rolled it and under the log's lock (KAFKA-9693). With flush.messages or \
            log.flush.interval.messages an append syncs in every version. Every other request of the \
            partition waits for that.",
        remedy: vec![
            remedy("Apache Kafka 3.7 or later", "an upgrade"),
            remedy("larger segments: segment.bytes=1073741824, segment.ms=604800000", "coarser retention"),
            remedy(
                "without flush.messages and log.flush.interval.messages",
                "durability is replication's, as Kafka means it",
            ),
        ],
        threads: waits.threads(),
        absorbs: &["journal"],
        ..Finding::default()
    })
}
