//! A thread faults on a mapped index, and the JVM waits for it before a safepoint.

use crate::diagnosis::evidence::Evidence;
use crate::diagnosis::finding::{Finding, names, remedy, time, told};
use crate::recording::{Role, WaitClass};

/// Longer than it takes to stop threads that run.
const REACHING_MS: f64 = 20.0;

pub(super) fn rule(evidence: &Evidence<'_>) -> Option<Finding> {
    let faults = evidence.waits(|seen| {
        !matches!(seen.role(), Role::Machinery | Role::Kernel | Role::Neighbour)
            && seen.is(WaitClass::Fault)
            && !seen.has(&["do_page_mkwrite", "do_swap_page", "iomap_page_mkwrite"])
    });
    let reaching = evidence.pauses(|pause| {
        pause.reaching_ms.is_some_and(|reaching| reaching >= REACHING_MS && reaching > pause.total_ms / 2.0)
    });
    let of_requests = faults.that(super::super::evidence::Seen::carries_requests);
    let of_jvm = reaching.within(&faults.spans());
    let stood = !of_jvm.is_empty();
    if faults.is_empty() || (of_requests.is_empty() && !stood) {
        return None;
    }
    let mut evidence_for = vec![told(&faults, "waited in a fault on a page of a mapped file")];
    if stood {
        evidence_for.push(format!(
            "the JVM waited for threads before safepoints for {} while a thread was in such a fault",
            time(of_jvm.total_ms())
        ));
    }
    let mut against = Vec::new();
    if !stood && evidence.is_kafka() {
        against.push("no safepoint was seen to wait for it".to_owned());
    }
    let explained = of_requests.spans().and(&if stood { reaching.clone() } else { of_jvm });
    Some(Finding {
        name: "page-fault",
        explained,
        ground: stood,
        waited: !of_requests.is_empty() || stood,
        summary: format!(
            "{} waited for a page of a mapped file{}",
            names(evidence, &faults.threads()),
            if stood { ", and the JVM for the thread before it could stop" } else { "" }
        ),
        evidence: evidence_for,
        against,
        mechanism: "Apache Kafka maps its indexes. A thread that touches a page of one which is not in memory \
            waits for the device inside Java code, where the JVM cannot stop it. A safepoint that is asked \
            for meanwhile holds every other thread until the page has come.",
        remedy: vec![
            remedy("more memory for the page cache, so that indexes stay in it", "memory"),
            remedy(
                "fewer lookups by time in old data (offsetsForTimes), or fewer partitions that are looked up",
                "a change of the clients",
            ),
            remedy(
                "log.index.interval.bytes=65536, for fewer pages of index",
                "a lookup reads more of the segment; new segments only",
            ),
        ],
        threads: faults.threads(),
        absorbs: &["cold-read", "long-gc"],
        ..Finding::default()
    })
}
