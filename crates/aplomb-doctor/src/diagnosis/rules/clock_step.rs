//! The wall clock was set.

use crate::diagnosis::evidence::Evidence;
use crate::diagnosis::finding::{Finding, count, remedy};
use crate::diagnosis::verdict::Span;

/// A step that a log shows as a stall.
const LEAST_MS: f64 = 200.0;

pub(super) fn rule(evidence: &Evidence<'_>) -> Option<Finding> {
    let steps = evidence.recording.clock.steps.iter().filter(|(_, by)| by.abs() >= LEAST_MS);
    let steps: Vec<(f64, f64)> = steps.copied().collect();
    let (_, largest) = steps.iter().copied().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
    let span = |&(at, by): &(f64, f64)| Span { from_ms: (at - by.abs()).max(0.0), to_ms: at };
    Some(Finding {
        name: "clock-step",
        explained: steps.iter().map(span).collect(),
        ground: true,
        waited: false,
        summary: format!("The wall clock was set, by {largest:.0} ms at the most"),
        evidence: vec![format!("{} of the wall clock against the monotonic one", count(steps.len(), "step"))],
        against: vec![
            "no thread waits for that: what looks slow in logs and in latencies by wall clock was not"
                .to_owned(),
        ],
        mechanism: "Logs and some clients measure by the wall clock. When that is set, what was under way seems \
            to have taken longer or less. Timers of the kernel and of the JVM do not notice.",
        remedy: vec![remedy(
            "chrony with slewing alone (makestep only at boot)",
            "a wrong clock takes longer to be right",
        )],
        threads: Vec::new(),
        absorbs: &[],
        ..Finding::default()
    })
}
