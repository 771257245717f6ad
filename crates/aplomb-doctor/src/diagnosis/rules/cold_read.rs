//! A request handler reads records or headers of batches from the disk.

use crate::diagnosis::evidence::Evidence;
use crate::diagnosis::finding::{Finding, count, device_said, remedy, told};
use crate::recording::{Role, WaitClass};

pub(super) fn rule(evidence: &Evidence<'_>) -> Option<Finding> {
    let waits = evidence.waits(|seen| seen.role() == Role::Request && seen.is(WaitClass::Page));
    if waits.is_empty() {
        return None;
    }
    let device = waits.paths().first().and_then(|path| device_said(evidence, path, &waits.spans()));
    let mut evidence_for = vec![told(&waits, "waited for a page of a file")];
    let ground = device.is_some();
    evidence_for.extend(device);
    Some(Finding {
        name: "cold-read",
        explained: waits.spans(),
        ground,
        waited: true,
        summary: format!(
            "{} read old records from the disk themselves",
            count(waits.threads().len(), "request thread")
        ),
        evidence: evidence_for,
        against: Vec::new(),
        mechanism: "To answer a fetch of old records a request handler reads headers of batches, which waits \
            for the device where the page cache has not got them. There are few handlers. While all of them \
            read, requests wait in the queue.",
        remedy: vec![
            remedy("num.io.threads=16 (it can be changed while the broker runs)", "threads"),
            remedy("more memory for the page cache", "memory"),
        ],
        threads: waits.threads(),
        absorbs: &[],
        ..Finding::default()
    })
}
