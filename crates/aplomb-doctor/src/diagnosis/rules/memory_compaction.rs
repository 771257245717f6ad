//! A fault assembles a huge page before it is answered.

use crate::diagnosis::evidence::Evidence;
use crate::diagnosis::finding::{Finding, remedy, told};

pub(super) fn rule(evidence: &Evidence<'_>) -> Option<Finding> {
    let waits = evidence.waits(|seen| {
        !matches!(seen.role(), crate::recording::Role::Kernel | crate::recording::Role::Neighbour)
            && seen.has(&["try_to_compact_pages", "compact_zone_order", "compact_zone"])
    });
    if waits.is_empty() {
        return None;
    }
    let stalls: u64 = evidence.recording.host.iter().map(|row| row.compact_stalls).sum();
    Some(Finding {
        name: "memory-compaction",
        explained: waits.spans(),
        ground: stalls > 0,
        waited: true,
        summary: "Threads moved memory together to get huge pages".to_owned(),
        evidence: vec![told(&waits, "moved pages"), format!("{stalls} times somebody on the machine did")],
        against: Vec::new(),
        mechanism: "With transparent huge pages a fault may ask for 2 MB in one piece. Where memory is in \
            fragments the kernel moves pages until there is one, in the thread that faulted. That takes as \
            long as it takes.",
        remedy: vec![remedy(
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled; echo defer+madvise > /sys/kernel/mm/transparent_hugepage/defrag",
            "fewer huge pages",
        )],
        threads: waits.threads(),
        absorbs: &["page-fault"],
        ..Finding::default()
    })
}
