//! The control group of the process has used up its quota of processor time.

use crate::diagnosis::evidence::Evidence;
use crate::diagnosis::finding::{Finding, percent, remedy, time};

/// A group that is held up in so many of its periods.
const LEAST: f64 = 0.1;

pub(super) fn rule(evidence: &Evidence<'_>) -> Option<Finding> {
    let held =
        |row: &crate::recording::HostSample| row.cgroup_periods.is_some_and(|(_, throttled)| throttled > 0);
    let rows = &evidence.recording.host;
    let (periods, throttled) = rows
        .iter()
        .filter_map(|row| row.cgroup_periods)
        .fold((0, 0), |all, row| (all.0 + row.0, all.1 + row.1));
    let explained = evidence.rows(held);
    let share = throttled as f64 / periods.max(1) as f64;
    // Of many threads at once each counts.
    let waited: f64 = rows.iter().filter_map(|row| row.cgroup_throttled_ms).sum();
    if explained.is_empty() || (share < LEAST && throttled < 5) {
        return None;
    }
    Some(Finding {
        name: "cpu-quota",
        explained,
        ground: true,
        waited: waited > 0.0,
        summary: format!("The broker's control group was throttled in {throttled} of {periods} periods"),
        evidence: vec![format!("{} of the periods, {} of its threads' time", percent(share), time(waited))],
        against: Vec::new(),
        mechanism: "A group with a quota may run for so long in each period, all its threads together. A JVM \
            with many threads uses it up in a moment, and all of them stand until the next period begins. \
            The machine may be idle meanwhile.",
        remedy: vec![
            remedy("cpu.max (Kubernetes: limits.cpu) up, or without one", "the neighbours' share"),
            remedy(
                "-XX:ActiveProcessorCount as the quota is, for fewer threads of the collector",
                "a start of the broker",
            ),
        ],
        threads: evidence
            .recording
            .threads
            .iter()
            .filter(|thread| thread.role.carries_requests())
            .map(|thread| thread.tid)
            .collect(),
        absorbs: &["cpu-starvation", "long-gc", "client-quota", "slow-consumer"],
        ..Finding::default()
    })
}
