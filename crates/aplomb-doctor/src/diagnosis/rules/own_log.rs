//! A request handler writes a line of the broker's own log, and the write waits.

use crate::diagnosis::evidence::Evidence;
use crate::diagnosis::finding::{Finding, count, device_said, let_go, names, remedy, told};
use crate::recording::{PlaceOf, Role, WaitClass};

pub(super) fn rule(evidence: &Evidence<'_>) -> Option<Finding> {
    let alone = evidence.logs_are_slow();
    let waits = evidence.waits(|seen| {
        let of_log = seen.path().is_some_and(|path| evidence.is_of(path, PlaceOf::OwnLog))
            || seen.is_below(&["OutputStreamManager", "RollingFileManager"])
            || (alone && seen.path().is_none() && seen.is(WaitClass::Journal));
        matches!(seen.role(), Role::Request | Role::Network) && of_log
    });
    if waits.is_empty() {
        return None;
    }
    let holders = waits.holders();
    let paths = waits.paths();
    let file = paths.first().copied().unwrap_or("its log");
    let mut evidence_for = vec![told(&waits, "waited to write a line of the broker's own log")];
    if !holders.is_empty() {
        evidence_for.push(format!("held by {}", names(evidence, &holders)));
    }
    evidence_for.extend(let_go(evidence, &waits));
    let device = device_said(evidence, file, &waits.spans());
    let ground = device.is_some() || !holders.is_empty();
    evidence_for.extend(device);
    Some(Finding {
        name: "own-log",
        explained: waits.spans(),
        ground,
        waited: true,
        summary: format!(
            "{} waited to write a line of {file}",
            count(waits.threads().len(), "request thread")
        ),
        evidence: evidence_for,
        against: if alone && paths.is_empty() {
            vec!["which file was written is inferred: only logs are on the device that was slow".to_owned()]
        } else {
            Vec::new()
        },
        mechanism: "Log4j writes a line in the thread that logs it. A request handler that rolls a segment \
            logs it while it holds the partition's lock. Where the write waits for the disk, so do the \
            partition and every handler that wants it.",
        remedy: vec![
            remedy(
                "an asynchronous appender that drops: log4j2.asyncQueueFullPolicy=Discard with AsyncLogger or <Async>",
                "lines may be lost when the disk stalls",
            ),
            remedy("kafka.logs.dir on another disk, or a tmpfs", "memory, or a disk"),
            remedy("WARN for kafka.log (org.apache.kafka.storage.internals.log)", "fewer lines"),
        ],
        threads: waits.threads(),
        absorbs: &["journal", "gc-log"],
        ..Finding::default()
    })
}
