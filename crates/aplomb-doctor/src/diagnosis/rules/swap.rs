//! Part of the process was swapped out, and comes back page by page.

use crate::diagnosis::evidence::Evidence;
use crate::diagnosis::finding::{Finding, remedy, told};

pub(super) fn rule(evidence: &Evidence<'_>) -> Option<Finding> {
    let waits = evidence.waits(|seen| seen.has(&["do_swap_page", "swap_readpage", "swapin_readahead"]));
    let swapped = evidence.recording.host.iter().map(|row| row.process_swap_bytes).max().unwrap_or(0);
    let pages: u64 = evidence.recording.host.iter().map(|row| row.swapped_in).sum();
    let reading = evidence.rows(|row| row.swapped_in > 50 && row.process_swap_bytes > 0);
    let explained = waits.spans().and(&reading);
    if explained.is_empty() || (waits.is_empty() && swapped == 0) {
        return None;
    }
    let mut evidence_for = vec![format!(
        "{} MB of the process are in swap, and the machine read {pages} pages back",
        swapped >> 20
    )];
    if !waits.is_empty() {
        evidence_for.push(told(&waits, "waited for a page that was swapped out"));
    }
    Some(Finding {
        name: "swap",
        explained,
        ground: pages > 0,
        waited: !waits.is_empty(),
        summary: "Part of the process was swapped out".to_owned(),
        evidence: evidence_for,
        against: Vec::new(),
        mechanism: "Memory that was not used for a while was written to swap. A thread that touches it waits for \
            the device, inside its own code and, for a collector, within a pause. A JVM touches all of its \
            heap at every full collection.",
        remedy: vec![
            remedy("swapoff -a, or vm.swappiness=1", "the machine kills earlier when memory is short"),
            remedy("-XX:+AlwaysPreTouch and a heap that fits beside the page cache", "a slower start"),
        ],
        threads: waits.threads(),
        absorbs: &["page-fault", "long-gc"],
        ..Finding::default()
    })
}
