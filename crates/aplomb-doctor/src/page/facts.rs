//! What is said of a recording before any cause: how long requests stood still, what was looked at,
//! and how far times can be trusted.
//!
//! What always holds: the page, the terminal and the JSON say the same sentences.

use super::words;
use crate::diagnosis::{Diagnosis, Span};
use crate::recording::{Latency, Operation, Recording};
use crate::units;

/// The sentence above everything.
pub(super) fn headline(recording: &Recording, diagnosis: &Diagnosis) -> String {
    let slow = covered(&diagnosis.slow);
    let long = units::round_time(recording.clock.length_ms);
    if recording.clock.length_ms <= 0.0 && slow <= 0.0 {
        return "Nothing was recorded".to_owned();
    }
    match (slow > 0.0, diagnosis.causes.is_empty()) {
        (false, true) => format!("No stall was found in {long}"),
        (false, false) => format!("{} in {long}", units::plural(diagnosis.causes.len(), "cause")),
        (true, _) => format!("Requests stood still for {} of {long}", units::time(slow)),
    }
}

/// What follows it: how much is explained.
pub(super) fn lead(recording: &Recording, diagnosis: &Diagnosis) -> String {
    let slow = covered(&diagnosis.slow);
    let Some(first) = diagnosis.causes.first() else {
        return match slow > 0.0 {
            true => "No cause explains it. Below: what was looked at, what could not be seen, and what to \
                     collect next."
                .to_owned(),
            false => format!(
                "Threads that carry requests were not seen to wait for long. Looked at: {}.",
                looked_at(recording).join("; ")
            ),
        };
    };
    let unexplained = covered(&diagnosis.unexplained);
    let rest = match slow > 0.0 {
        true if unexplained > 0.0 => format!(" {} of it has no explanation.", units::time(unexplained)),
        true => " All of it is explained.".to_owned(),
        false => String::new(),
    };
    format!("{}{rest}", sentence(&first.summary))
}

/// A text with a full stop at its end.
pub(super) fn sentence(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() || text.ends_with(['.', '!', '?']) { text.to_owned() } else { format!("{text}.") }
}

/// What was looked at, a phrase each.
pub(super) fn looked_at(recording: &Recording) -> Vec<String> {
    let sight = &recording.sight;
    let mut all = Vec::new();
    if !sight.sources.is_empty() {
        all.push(sight.sources.join(", "));
    }
    if let Some(interval) = sight.look_interval_ms {
        let looks = units::plural(usize::try_from(sight.looks).unwrap_or(usize::MAX), "look");
        all.push(format!("{looks} at threads, one every {}", units::round_time(interval)));
    }
    let waited = recording.waits.iter().map(|wait| wait.tid).collect::<std::collections::HashSet<_>>();
    all.push(format!(
        "{}, of which {} waited {}",
        units::plural(recording.threads.len(), "thread"),
        units::count(waited.len() as u64),
        units::plural(recording.waits.len(), "time")
    ));
    let stops: u64 = recording.safepoints.iter().fold(0, |sum, stop| sum.saturating_add(stop.count));
    if stops > 0 {
        all.push(units::plural(usize::try_from(stops).unwrap_or(usize::MAX), "safepoint"));
    }
    if !recording.collections.is_empty() {
        all.push(units::plural(recording.collections.len(), "collection"));
    }
    if let Some(trace) = &recording.sight.trace {
        let waits = units::plural(usize::try_from(trace.waits).unwrap_or(usize::MAX), "wait");
        let least = units::round_time(trace.threshold_ms);
        all.push(format!("{waits} of {least} or more traced from beginning to end, with what ended them"));
    }
    for device in &recording.devices {
        let rows = units::plural(device.samples.len(), "row");
        let traced = device.latencies.iter().filter_map(times_of).collect::<Vec<_>>();
        let traced = if traced.is_empty() { String::new() } else { format!("; {}", traced.join(", ")) };
        all.push(format!("device {} ({rows}{traced})", device.name));
    }
    if !recording.host.is_empty() {
        all.push(format!("the machine ({})", units::plural(recording.host.len(), "row")));
    }
    if !recording.log.is_empty() {
        all.push(format!("the broker’s log ({})", units::plural(recording.log.len(), "line")));
    }
    all
}

/// How long a device took for requests of one kind: `120 reads, of 100 of them 99 below 8.4 ms`.
fn times_of(latency: &Latency) -> Option<String> {
    let what = match latency.operation {
        Operation::Read => "read",
        Operation::Write => "write",
        Operation::Flush => "flush",
        Operation::Other => "other request",
    };
    let count = usize::try_from(latency.count()).unwrap_or(usize::MAX);
    let count = if count == 1 || what != "flush" {
        units::plural(count, what)
    } else {
        format!("{} flushes", units::count(count as u64))
    };
    let [half, most] = [50, 99].map(|percent| latency.percentile_ms(percent).map(units::time));
    Some(format!("{count}, half of them below {}, 99 of 100 below {}", half?, most?))
}

/// How far times can be trusted, a sentence each.
pub(super) fn clocks(recording: &Recording) -> Vec<String> {
    let clock = &recording.clock;
    let mut all = Vec::new();
    if clock.uncertainty_ms > 0.0 {
        let by = units::round_time(clock.uncertainty_ms);
        all.push(format!("Times of different sources may be {by} apart."));
    } else {
        all.push("All times are from one clock.".to_owned());
    }
    if let Some(interval) = recording.sight.look_interval_ms {
        let interval = units::round_time(interval);
        all.push(format!("What was seen by looks has its beginning and its end within {interval}."));
    }
    for (at, by) in &clock.steps {
        let (at, by) = (units::moment(*at), units::time(*by));
        all.push(format!("At {at} the wall clock moved by {by}: times of logs before that are off."));
    }
    all
}

/// What watching has cost, if that is known.
pub(super) fn cost(recording: &Recording) -> Option<String> {
    let (cost, length) = (recording.sight.cost_cpu_ms, recording.clock.length_ms);
    (cost > 0.0 && length > 0.0).then(|| {
        let share = cost / length * 100.0;
        let traced = recording.sight.trace.as_ref().map_or_else(String::new, |trace| {
            format!(", {} of it in the kernel, for tracing", units::time(trace.cost_cpu_ms))
        });
        format!(
            "Watching took {} of processor time, {share:.1} % of one processor{traced}.",
            units::time(cost)
        )
    })
}

/// What was watched, when, and for how long.
pub(super) fn subject(recording: &Recording) -> String {
    let long = units::round_time(recording.clock.length_ms);
    let process = words::process(&recording.process);
    if recording.clock.began_unix_ms > 0.0 {
        format!("{process} · {long} from {} UTC", units::date(recording.clock.began_unix_ms))
    } else {
        // Files do not always say when they are from.
        format!("{process} · {long}")
    }
}

/// How long spans are together, in milliseconds; what several cover counts once.
pub(super) fn covered(spans: &[Span]) -> f64 {
    let mut sorted: Vec<&Span> = spans.iter().filter(|span| span.to_ms > span.from_ms).collect();
    sorted.sort_by(|a, b| a.from_ms.total_cmp(&b.from_ms));
    let mut end = f64::NEG_INFINITY;
    let mut sum = 0.0;
    for span in sorted {
        sum += (span.to_ms - span.from_ms.max(end)).max(0.0);
        end = end.max(span.to_ms);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::{Clock, Device, Sight, Trace};

    const fn span(from_ms: f64, to_ms: f64) -> Span {
        Span { from_ms, to_ms }
    }

    #[test]
    fn what_two_spans_cover_counts_once() {
        assert_eq!(covered(&[span(5.0, 9.0), span(0.0, 6.0), span(8.0, 8.5), span(9.0, 1.0)]), 9.0);
        assert_eq!(covered(&[]), 0.0);
    }

    #[test]
    fn what_was_traced_is_said_with_what_it_cost() {
        let latency = Latency { operation: Operation::Flush, counts: vec![0, 3, 0, 1] };
        let device = Device { name: "sda".to_owned(), latencies: vec![latency], ..Device::default() };
        let trace = Trace { threshold_ms: 5.0, waits: 7, cost_cpu_ms: 12.0, ..Trace::default() };
        let sight = Sight { cost_cpu_ms: 60.0, trace: Some(trace), ..Sight::default() };
        let clock = Clock { length_ms: 10_000.0, ..Clock::default() };
        let recording = Recording { clock, sight, devices: vec![device], ..Recording::default() };
        let said = looked_at(&recording).join("; ");
        assert!(said.contains("7 waits of 5 ms or more traced from beginning to end"), "{said}");
        assert!(said.contains("device sda (0 rows; 4 flushes, half of them below 4 µs"), "{said}");
        let cost = cost(&recording).expect("it is known");
        assert!(cost.contains("12 ms of it in the kernel, for tracing."), "{cost}");
    }

    #[test]
    fn a_recording_without_a_stall_says_so_and_what_was_looked_at() {
        let recording =
            Recording { clock: Clock { length_ms: 60_000.0, ..Clock::default() }, ..Recording::default() };
        let calm = Diagnosis::default();
        assert_eq!(headline(&recording, &calm), "No stall was found in 60 s");
        assert!(lead(&recording, &calm).ends_with("Looked at: 0 threads, of which 0 waited 0 times."));
        let slow = Diagnosis { slow: vec![span(0.0, 1_500.0)], ..Diagnosis::default() };
        assert_eq!(headline(&recording, &slow), "Requests stood still for 1.5 s of 60 s");
        assert!(lead(&recording, &slow).starts_with("No cause explains it."));
    }
}
