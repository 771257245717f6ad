//! Clients do not take what was sent to them.

use crate::diagnosis::evidence::Evidence;
use crate::diagnosis::finding::{Finding, count, remedy, time};
use crate::recording::Traffic;

/// More than a socket holds in passing.
const BYTES: u64 = 32 << 10;
/// What is taken within this is no slow consumer's.
const LONG_MS: f64 = 1_500.0;
/// The broker itself stood still for no more of that.
const MOST_STOOD: f64 = 0.3;

pub(super) fn rule(evidence: &Evidence<'_>) -> Option<Finding> {
    let full = |traffic: &Traffic| {
        traffic.unread_connections > 0 && traffic.unread_bytes >= BYTES && traffic.retransmitting == 0
    };
    let explained = evidence.between_looks(full).of_at_least(LONG_MS);
    // What a broker that stands still has not sent is not the client's to take.
    if explained.is_empty() || explained.share_in(&evidence.stands()) > MOST_STOOD {
        return None;
    }
    let worst = evidence.traffic().filter(full).max_by_key(|traffic| traffic.unread_bytes)?;
    Some(Finding {
        name: "slow-consumer",
        explained: explained.clone(),
        ground: true,
        waited: false,
        summary: format!(
            "{} did not take what the broker had sent",
            count(worst.unread_connections as usize, "client connection")
        ),
        evidence: vec![format!(
            "{} KiB stood in send queues for {} at a time, and nothing was sent twice",
            worst.unread_bytes >> 10,
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
        ..Finding::default()
    })
}
