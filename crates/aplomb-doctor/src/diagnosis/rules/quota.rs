//! The broker itself does not read from clients: a quota mutes their connections.

use crate::diagnosis::evidence::Evidence;
use crate::diagnosis::finding::{Finding, remedy, time};
use crate::diagnosis::rules::cpu_starvation::starved;
use crate::diagnosis::stages;
use crate::recording::WaitClass;

/// Unread for so long, while no thread waits for anything. A connection that is read from, and has
/// something whenever it is looked at, does not have more each of three times in a row.
const LONG_MS: f64 = 1_700.0;

pub(super) fn rule(evidence: &Evidence<'_>) -> Option<Finding> {
    // A thread that gets no processor reads from no client.
    let muted = evidence.between_looks(|traffic| traffic.muted_connections > 0);
    let muted = muted.without(&starved(evidence)).of_at_least(LONG_MS);
    let told: Vec<_> = evidence.lines(&["throttle"]);
    // Handlers that wait for a lock as long as that serve no client, muted or not.
    let locks = evidence.waits(|seen| seen.carries_requests() && seen.is(WaitClass::Lock));
    let busy = muted.share_in(&evidence.stands().and(&locks.spans().of_at_least(LONG_MS)));
    if muted.is_empty() || busy > 0.2 {
        return None;
    }
    let counted = stages::grown(evidence, &muted, |stage| stage == "ThrottleTimeMs");
    let most = evidence.traffic().map(|traffic| traffic.muted_connections).max().unwrap_or(0);
    Some(Finding {
        name: "client-quota",
        explained: muted.clone(),
        ground: !told.is_empty() || counted.is_some(),
        waited: true,
        summary: format!("The broker left {most} connections unread while it had nothing else to wait for"),
        evidence: vec![format!(
            "requests lay unread in sockets for {} at a time; no thread waited for a disk, a lock or a processor",
            time(muted.longest_ms())
        )],
        against: if counted.is_some() {
            Vec::new()
        } else {
            vec![
                "that a quota does it is inferred: produce-throttle-time-avg of the clients tells".to_owned(),
            ]
        },
        mechanism: "A client above its quota is answered at once, and then its connection is muted for as long \
            as it was too fast. What it sends meanwhile lies in the socket. Producers see slow requests, the \
            broker's stages do not.",
        remedy: vec![remedy(
            "kafka-configs.sh --describe --entity-type clients (and users): raise producer_byte_rate, consumer_byte_rate or request_percentage",
            "what the quota was for",
        )],
        threads: Vec::new(),
        absorbs: &[],
        ..Finding::default()
    })
}
