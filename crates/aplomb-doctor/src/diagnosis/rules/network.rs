//! The network loses segments.

use crate::diagnosis::evidence::Evidence;
use crate::diagnosis::finding::{Finding, remedy};
use crate::recording::Traffic;

/// Retransmits in a row, or connections that do it.
const MANY: u64 = 3;
const LONG_MS: f64 = 600.0;
/// The broker itself stood still for no more of that.
const MOST_STOOD: f64 = 0.3;

pub(super) fn rule(evidence: &Evidence<'_>) -> Option<Finding> {
    let lost = |traffic: &Traffic| {
        let elsewhere = traffic.connections > traffic.local_connections;
        traffic.retransmitting > 0 || (elsewhere && traffic.retransmits >= MANY)
    };
    let explained = evidence.between_looks(lost).of_at_least(LONG_MS);
    // A broker that stands still acknowledges as before, but its clients may be late then.
    if explained.is_empty() || explained.share_in(&evidence.stands()) > MOST_STOOD {
        return None;
    }
    let again: u64 = evidence.traffic().map(|traffic| traffic.retransmits).sum();
    let most = evidence.traffic().map(|traffic| traffic.retransmitting).max().unwrap_or(0);
    Some(Finding {
        name: "network",
        explained,
        ground: true,
        waited: false,
        summary: format!(
            "{again} segments were sent again: the network lost them, or their acknowledgements"
        ),
        evidence: vec![format!("{most} of the broker's connections were retransmitting at the most")],
        against: vec!["segments are counted for the whole machine".to_owned()],
        mechanism: "A segment that gets lost is sent again after a time that begins at 200 ms and doubles. The \
            client waits for that, and so does everything behind it on the connection. Broker and disks are \
            idle meanwhile.",
        remedy: vec![remedy(
            "the way to the clients: ss -ti, interfaces' drops, limits of the cloud's network",
            "none here",
        )],
        threads: Vec::new(),
        absorbs: &["slow-consumer"],
        ..Finding::default()
    })
}
