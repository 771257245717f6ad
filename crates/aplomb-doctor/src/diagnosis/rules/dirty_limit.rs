//! Writers are held up for their dirty pages, by a device that is slow or by others who dirty more.

use crate::diagnosis::evidence::Evidence;
use crate::diagnosis::finding::{Finding, count, device_said, remedy, told};
use crate::recording::WaitClass;

pub(super) fn rule(evidence: &Evidence<'_>) -> Option<Finding> {
    let waits = evidence.waits(|seen| {
        seen.carries_requests()
            && (seen.is(WaitClass::DirtyLimit) || seen.has(&["do_page_mkwrite", "iomap_page_mkwrite"]))
    });
    if waits.is_empty() {
        return None;
    }
    let rows = &evidence.recording.host;
    let fullest = rows.iter().filter(|row| row.dirty_limit_bytes > 0).max_by(|a, b| {
        let share =
            |row: &&crate::recording::HostSample| row.dirty_bytes as f64 / row.dirty_limit_bytes as f64;
        share(a).total_cmp(&share(b))
    });
    let mut evidence_for = vec![told(&waits, "were held up for dirty pages")];
    let mut ground = false;
    if let Some(row) = fullest {
        let share = row.dirty_bytes as f64 / row.dirty_limit_bytes as f64;
        ground = share > 0.4;
        evidence_for.push(format!(
            "{} of {} MB of dirty pages that the machine takes, at the most",
            row.dirty_bytes >> 20,
            row.dirty_limit_bytes >> 20
        ));
    }
    evidence_for.extend(waits.paths().first().and_then(|path| device_said(evidence, path, &waits.spans())));
    Some(Finding {
        name: "dirty-limit",
        explained: waits.spans(),
        ground,
        waited: true,
        summary: format!(
            "{} were put to sleep because too many pages were dirty",
            count(waits.threads().len(), "request thread")
        ),
        evidence: evidence_for,
        against: Vec::new(),
        mechanism: "Appends go to the page cache. Beyond a share of memory that may be dirty the kernel puts \
            whoever dirties a page to sleep until enough has been written. It does so from half of the way \
            on, for those who dirty most.",
        remedy: vec![
            remedy(
                "vm.dirty_background_bytes=67108864, so that writing begins earlier",
                "more writes; the device is busier",
            ),
            remedy("vm.dirty_bytes=4294967296, for more room", "longer stalls when that is full too"),
            remedy("a faster device, or the process that dirties most elsewhere", "a device"),
        ],
        threads: waits.threads(),
        absorbs: &["journal"],
        ..Finding::default()
    })
}
