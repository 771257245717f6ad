//! The collector needs its pauses: it works all the while.

use super::gc_log::collections;
use crate::diagnosis::evidence::Evidence;
use crate::diagnosis::finding::{Finding, count, remedy, time};
use crate::recording::Collection;

/// A pause that a client feels.
const LONG_MS: f64 = 50.0;

pub(super) fn rule(evidence: &Evidence<'_>) -> Option<Finding> {
    let works = |one: &Collection| {
        let named = one.phases_ms.is_none_or(|phases| phases >= one.pause_ms / 2.0);
        let busy = one.cpu_ms.is_none_or(|cpu| cpu >= one.pause_ms / 2.0);
        one.pause_ms >= LONG_MS && named && busy
    };
    let logged = collections(evidence, works);
    // Without the collector's log a safepoint says what it was for, and how long threads stood.
    let of_collector = |reason: &str| {
        ["G1", "GenCollect", "Parallel", "ZMark", "ZRelocate", "Shenandoah", "CMS"]
            .iter()
            .any(|name| reason.contains(name))
    };
    let stood = evidence.pauses(|pause| {
        let reaching = pause.reaching_ms.unwrap_or(0.0);
        pause.total_ms >= LONG_MS && reaching < pause.total_ms / 4.0 && of_collector(&pause.reason)
    });
    let waits = evidence.waits(|seen| seen.role() == crate::recording::Role::Collector).spans();
    let explained = logged.and(&stood.without(&waits));
    if explained.is_empty() {
        return None;
    }
    let pauses: Vec<&Collection> = evidence.recording.collections.iter().filter(|one| works(one)).collect();
    let mut evidence_for = Vec::new();
    if let Some(longest) = pauses.iter().max_by(|a, b| a.pause_ms.total_cmp(&b.pause_ms)) {
        evidence_for.push(format!(
            "{} of the collector, the longest {}: {}",
            count(pauses.len(), "long pause"),
            time(longest.pause_ms),
            longest.name
        ));
        if let (Some(cpu), Some(real)) = (longest.cpu_ms, longest.real_ms) {
            evidence_for.push(format!("its threads ran {} within {}", time(cpu), time(real)));
        }
        if let Some((before, after, size)) = longest.heap_bytes {
            evidence_for.push(format!(
                "it left {} of {} MB that were used, in a heap of {}",
                after >> 20,
                before >> 20,
                size >> 20
            ));
        }
    }
    if !stood.is_empty() {
        evidence_for
            .push(format!("all threads stood for {} in the collector's safepoints", time(stood.total_ms())));
    }
    Some(Finding {
        name: "long-gc",
        explained,
        ground: !pauses.is_empty() && waits.is_empty(),
        waited: true,
        summary: "The collector needed its pauses".to_owned(),
        evidence: evidence_for,
        against: if waits.is_empty() {
            Vec::new()
        } else {
            vec!["its threads also waited in the kernel".to_owned()]
        },
        mechanism: "Within a pause every thread of the JVM stands. The collector copies or marks what is alive, \
            which takes as long as there is much of it. No disk has a part in that.",
        remedy: vec![
            remedy(
                "a heap that the live set fits into twice (KAFKA_HEAP_OPTS)",
                "memory that the page cache loses",
            ),
            remedy("-XX:+UseZGC (JDK 21 and later)", "more processor time and memory"),
        ],
        threads: Vec::new(),
        absorbs: &["vm-operation"],
        ..Finding::default()
    })
}
