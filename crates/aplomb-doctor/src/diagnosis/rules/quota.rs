//! The broker itself does not read from clients: a quota mutes their connections.

use crate::diagnosis::evidence::Evidence;
use crate::diagnosis::finding::{Finding, remedy, time};
use crate::recording::HostSample;

/// Unread for so long, while no thread waits for anything.
const LONG_MS: f64 = 900.0;

pub(super) fn rule(evidence: &Evidence<'_>) -> Option<Finding> {
    let unread = |row: &HostSample| row.traffic.waiting_connections > 0 && row.traffic.waiting_bytes > 0;
    let waits = evidence.waits(super::super::evidence::Seen::carries_requests).spans();
    let pauses = evidence.pauses(|_| true);
    let muted = evidence.rows(unread).of_at_least(LONG_MS);
    let told: Vec<_> = evidence.lines(&["throttle"]);
    let busy = muted.share_in(&waits.and(&pauses));
    if muted.is_empty() || busy > 0.2 {
        return None;
    }
    let most = evidence.recording.host.iter().map(|row| row.traffic.waiting_connections).max().unwrap_or(0);
    Some(Finding {
        name: "client-quota",
        explained: muted.clone(),
        ground: !told.is_empty(),
        waited: true,
        summary: format!("The broker left {most} connections unread while it had nothing else to wait for"),
        evidence: vec![format!(
            "requests lay unread in sockets for {} at a time; no thread waited for a disk, a lock or a processor",
            time(muted.longest_ms())
        )],
        against: vec![
            "that a quota does it is inferred: produce-throttle-time-avg of the clients tells".to_owned(),
        ],
        mechanism: "A client above its quota is answered at once, and then its connection is muted for as long \
            as it was too fast. What it sends meanwhile lies in the socket. Producers see slow requests, the \
            broker's stages do not.",
        remedy: vec![remedy(
            "kafka-configs.sh --describe --entity-type clients (and users): raise producer_byte_rate, consumer_byte_rate or request_percentage",
            "what the quota was for",
        )],
        threads: Vec::new(),
        absorbs: &[],
        near_ms: 0.0,
    })
}
