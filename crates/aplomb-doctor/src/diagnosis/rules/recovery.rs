//! A broker that was not stopped cleanly reads its logs before it serves.

use crate::diagnosis::evidence::Evidence;
use crate::diagnosis::finding::{Finding, remedy, time, told};
use crate::diagnosis::spans::Spans;
use crate::diagnosis::verdict::Span;
use crate::recording::Role;

pub(super) fn rule(evidence: &Evidence<'_>) -> Option<Finding> {
    let of_recovery = |name: &str| name.starts_with("log-recovery");
    let waits = evidence.waits(|seen| seen.role() == Role::Disk && of_recovery(&seen.thread.name));
    let lines: Vec<_> = [&["Recovering unflushed segment"][..], &["recovering", "unclean"]]
        .iter()
        .flat_map(|texts| evidence.lines(texts))
        .collect();
    let said: Spans = lines
        .iter()
        .filter_map(|line| line.at_ms)
        .map(|at| Span { from_ms: at as f64, to_ms: at as f64 + 1_000.0 })
        .collect();
    let felt = waits.spans().and(&said);
    if felt.is_empty() {
        return None;
    }
    let mut evidence_for = Vec::new();
    if !waits.is_empty() {
        evidence_for.push(told(&waits, "of recovery read segments"));
    }
    if let Some(line) = lines.first() {
        evidence_for.push(format!("{} lines of the log, the first: {}", lines.len(), line.text));
    }
    Some(Finding {
        name: "kill-9-recovery",
        explained: felt.clone(),
        ground: !lines.is_empty() || !waits.is_empty(),
        waited: true,
        summary: format!(
            "The broker read its logs for {} after it had not been stopped cleanly",
            time(felt.total_ms())
        ),
        evidence: evidence_for,
        against: Vec::new(),
        mechanism: "After a kill or a crash a broker reads each segment that may not have been synced, and \
            builds its indexes anew. That takes as long as the disks need for it. No partition of a \
            directory is served before.",
        remedy: vec![
            remedy(
                "a clean stop: more time before SIGKILL (TimeoutStopSec, terminationGracePeriodSeconds)",
                "none",
            ),
            remedy("num.recovery.threads.per.data.dir=8", "the disks are busier during a start"),
        ],
        threads: waits.threads(),
        absorbs: &["cold-read", "cpu-starvation", "long-gc"],
        ..Finding::default()
    })
}
