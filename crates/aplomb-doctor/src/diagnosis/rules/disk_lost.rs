//! A log directory is lost: its disk is full, or fails.

use crate::diagnosis::evidence::Evidence;
use crate::diagnosis::finding::{Finding, remedy};
use crate::diagnosis::verdict::Span;

/// What brokers say when they give a directory up, or when a disk refuses.
const LOST: [&[&str]; 5] = [
    &["Stopping serving logs in dir"],
    &["KafkaStorageException"],
    &["No space left on device"],
    &["Input/output error"],
    &["log directory", "offline"],
];

pub(super) fn rule(evidence: &Evidence<'_>) -> Option<Finding> {
    let lines: Vec<_> = LOST.iter().flat_map(|texts| evidence.lines(texts)).collect();
    if lines.is_empty() {
        return None;
    }
    // Of lines without a time it is not known when; the directory is lost by the end.
    let first = lines.iter().filter_map(|line| line.at_ms).min().unwrap_or(0) as f64;
    let says = |text: &str| lines.iter().any(|line| line.text.contains(text));
    let full = says("No space left on device") || says("no room");
    let (from_ms, to_ms) = (first.clamp(0.0, evidence.length_ms()), evidence.length_ms());
    let mut shown: Vec<String> =
        lines.iter().take(3).map(|line| format!("the log says: {}", line.text)).collect();
    shown.dedup();
    Some(Finding {
        name: if full { "disk-full" } else { "eio" },
        explained: [Span { from_ms: from_ms.min(to_ms - 1.0), to_ms }].into_iter().collect(),
        ground: true,
        waited: true,
        summary: if full {
            "A log directory has no room, and its partitions are offline".to_owned()
        } else {
            "The disk of a log directory fails, and its partitions are offline".to_owned()
        },
        evidence: shown,
        against: Vec::new(),
        mechanism: "A broker gives a log directory up at the first error that it meets in it. The partitions \
            there are offline until the broker is started again, whatever becomes of the disk. With the only \
            directory gone the broker stops.",
        remedy: if full {
            vec![
                remedy(
                    "room: retention.bytes or retention.ms down on the largest topics, or a larger disk",
                    "old records",
                ),
                remedy("an alarm at 80 % of the disk", "none"),
            ]
        } else {
            vec![remedy("the disk: dmesg, smartctl; replace it, then start the broker", "a replica's copy")]
        },
        threads: Vec::new(),
        absorbs: &["journal", "freeze", "cold-read", "dirty-limit"],
        ..Finding::default()
    })
}
