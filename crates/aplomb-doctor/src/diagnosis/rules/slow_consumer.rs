//! Clients do not take what was sent to them.

use crate::diagnosis::evidence::Evidence;
use crate::diagnosis::finding::{Finding, count, remedy, time};
use crate::recording::HostSample;

/// More than a socket holds in passing.
const BYTES: u64 = 32 << 10;
/// What is taken within this is no slow consumer's.
const LONG_MS: f64 = 1_500.0;

pub(super) fn rule(evidence: &Evidence<'_>) -> Option<Finding> {
    let full = |row: &HostSample| {
        row.traffic.unread_connections > 0
            && row.traffic.unread_bytes >= BYTES
            && row.traffic.retransmitting == 0
    };
    let explained = evidence.rows(full).of_at_least(LONG_MS);
    if explained.is_empty() {
        return None;
    }
    let worst =
        evidence.recording.host.iter().filter(|row| full(row)).max_by_key(|row| row.traffic.unread_bytes)?;
    Some(Finding {
        name: "slow-consumer",
        explained: explained.clone(),
        ground: true,
        waited: false,
        summary: format!(
            "{} did not take what the broker had sent",
            count(worst.traffic.unread_connections as usize, "client connection")
        ),
        evidence: vec![format!(
            "{} KiB stood in send queues for {} at a time, and nothing was sent twice",
            worst.traffic.unread_bytes >> 10,
            time(explained.longest_ms())
        )],
        against: vec!["other clients need not have felt it".to_owned()],
        mechanism: "A socket takes so many bytes, and then the broker waits until the client has read some. A \
            consumer that works on records instead of reading shows as a slow answer in the broker's \
            numbers (ResponseSendTimeMs). No disk has a part in that.",
        remedy: vec![
            remedy(
                "the consumer: fewer records at once (max.poll.records, fetch.max.bytes), more instances",
                "none here",
            ),
            remedy("nothing of the broker", "none"),
        ],
        threads: Vec::new(),
        absorbs: &[],
        near_ms: 0.0,
    })
}
