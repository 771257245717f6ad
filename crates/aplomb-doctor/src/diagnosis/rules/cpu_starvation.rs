//! Threads that carry requests wait for a processor.

use crate::diagnosis::evidence::Evidence;
use crate::diagnosis::finding::{Finding, percent, remedy, time};
use crate::diagnosis::spans::Spans;
use crate::diagnosis::verdict::Span;
use crate::recording::Thread;

/// They wait so many times longer for a processor than they run.
const RATIO: f64 = 4.0;
/// And so much of the time of a row, all of them together.
const LEAST_SHARE: f64 = 0.25;
/// The machine, or the host for it, is busy then.
const BUSY: f64 = 0.85;
/// A host keeps this share.
const STOLEN: f64 = 0.15;

/// When they waited, and of that time, in milliseconds, what a host kept, what all processors had,
/// and what the threads waited together.
#[derive(Default)]
struct Starved {
    spans: Spans,
    stolen: f64,
    length: f64,
    waited: f64,
}

/// When threads that carry requests waited for a processor.
pub(super) fn starved(evidence: &Evidence<'_>) -> Spans {
    measure(evidence, &carrying(evidence)).spans
}

fn carrying<'a>(evidence: &Evidence<'a>) -> Vec<&'a Thread> {
    let all = evidence.recording.threads.iter();
    all.filter(|thread| thread.role.carries_requests() && !thread.usage.is_empty()).collect()
}

fn measure(evidence: &Evidence<'_>, carrying: &[&Thread]) -> Starved {
    let host = &evidence.recording.host;
    let mut spans = Vec::new();
    let mut starved = Starved::default();
    // A broker that starts has no client yet that could wait for it.
    let mut has_clients = true;
    for (index, row) in host.iter().enumerate() {
        has_clients = row.traffic.map_or(has_clients, |traffic| traffic.connections > 0);
        let from_ms = if index == 0 { 0.0 } else { host[index - 1].at_ms };
        let row_ms = (row.at_ms - from_ms).max(1.0);
        let sum = |of: fn(&crate::recording::Usage) -> f64| -> f64 {
            carrying.iter().filter_map(|thread| thread.usage.get(index)).map(of).sum()
        };
        let (ran, runnable) = (sum(|usage| usage.ran_ms), sum(|usage| usage.runnable_ms));
        let all = row_ms * f64::from(row.cpus.max(1));
        let busy = (row.busy_ms + row.steal_ms) / all;
        // A group that is throttled waits on an idle machine: that is its quota.
        let is_starved = runnable > RATIO * ran && runnable > LEAST_SHARE * row_ms && busy >= BUSY;
        if is_starved && has_clients {
            spans.push(Span { from_ms, to_ms: row.at_ms });
            starved.stolen += row.steal_ms;
            starved.length += all;
            starved.waited += runnable;
        }
    }
    starved.spans = spans.into_iter().collect();
    starved
}

pub(super) fn rule(evidence: &Evidence<'_>) -> Option<Finding> {
    let host = &evidence.recording.host;
    let carrying = carrying(evidence);
    let Starved { spans: explained, stolen, length, waited } = measure(evidence, &carrying);
    if explained.is_empty() {
        return None;
    }
    let stolen = stolen / length;
    let pressure = host.iter().filter_map(|row| row.cpu_pressure).fold(0.0, f64::max);
    let by_host = stolen >= STOLEN;
    let mut evidence_for = vec![format!(
        "threads that carry requests waited {} for a processor in {}, more than {RATIO} times what they ran",
        time(waited),
        time(explained.total_ms())
    )];
    if by_host {
        evidence_for.push(format!("a host kept {} of the processors' time (steal)", percent(stolen)));
    }
    if pressure > 0.0 {
        evidence_for.push(format!("pressure of processors was {} at the most", percent(pressure)));
    }
    Some(Finding {
        name: "cpu-starvation",
        explained,
        ground: true,
        waited: true,
        summary: format!(
            "Request threads waited for a processor, which {} had",
            if by_host { "the host" } else { "others" }
        ),
        evidence: evidence_for,
        against: Vec::new(),
        mechanism: "A thread that could run has to wait while others have the processors. A request passes \
            through several threads, and each of them waits in its turn. Nothing of it is seen in disks, \
            locks or the collector's log.",
        remedy: vec![
            remedy(
                "whatever else runs on the machine elsewhere, or with less weight (nice, cpu.weight)",
                "a machine",
            ),
            remedy("more processors", "money"),
        ],
        threads: carrying.iter().map(|thread| thread.tid).collect(),
        absorbs: &[],
        ..Finding::default()
    })
}
