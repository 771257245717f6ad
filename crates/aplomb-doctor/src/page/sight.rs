//! The end of the page: what was looked at, what could not be seen, how far clocks can be trusted,
//! what was seen and is no cause, and what to collect next.
//!
//! What always holds: what could not be seen is said even when there is a cause.

use super::facts;
use super::words;
use crate::diagnosis::Diagnosis;
use crate::html::{Element, el};
use crate::recording::Recording;
use crate::units;

/// Lines of the broker's own log that are shown.
const MOST_LINES: usize = 40;

pub(super) fn of(recording: &Recording, diagnosis: &Diagnosis) -> Element {
    let heading = el("div").class("heading").child(el("h2").attr("id", "sight").text("What this rests on"));
    let mut clocks = facts::clocks(recording);
    clocks.extend(facts::cost(recording));
    let missing = if recording.sight.missing.is_empty() {
        vec!["Nothing is known to be missing.".to_owned()]
    } else {
        recording.sight.missing.clone()
    };
    let parts = [
        list("Could not be seen", &missing),
        list("Looked at", &facts::looked_at(recording)),
        list("Seen, and no cause", &diagnosis.observations),
        list("To collect next", &diagnosis.next),
        list("Clocks and cost", &clocks),
        list("The process", &process(recording)),
    ];
    el("section")
        .attr("aria-labelledby", "sight")
        .child(heading)
        .child(el("div").class("pair").children(parts.into_iter().flatten()))
        .children(log(recording))
        .children(idle(recording))
}

fn list(title: &str, texts: &[String]) -> Option<Element> {
    let items = texts.iter().map(|text| el("li").text(text));
    (!texts.is_empty())
        .then(|| el("div").child(el("h3").text(title)).child(el("ul").class("facts").children(items)))
}

fn process(recording: &Recording) -> Vec<String> {
    let mut all = vec![facts::subject(recording)];
    all.extend(recording.process.java.clone());
    if !recording.process.jvm_flags.is_empty() {
        all.push(recording.process.jvm_flags.join(" "));
    }
    all.extend(recording.places.iter().map(|place| {
        let device = recording.devices.iter().find(|device| device.number == place.device);
        let device = device.map_or(place.device.as_str(), |device| device.name.as_str());
        format!("{} is {} on {device} ({})", place.path, place.filesystem, place.options)
    }));
    all
}

fn log(recording: &Recording) -> Option<Element> {
    if recording.log.is_empty() {
        return None;
    }
    let lines = recording.log.iter().take(MOST_LINES).map(|line| match line.at_ms {
        Some(at) => format!("{:>10}  {}", units::moment(at as f64), line.text),
        None => format!("{:>10}  {}", "", line.text),
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    let summary =
        format!("What the broker’s log says of disks: {}", units::plural(recording.log.len(), "line"));
    Some(el("details").child(el("summary").text(summary)).child(el("pre").attr("tabindex", 0).text(text)))
}

/// Threads that have no lane in the picture.
fn idle(recording: &Recording) -> Option<Element> {
    let seen = recording.waits.iter().flat_map(|wait| wait.holders.iter().chain([&wait.tid]));
    let seen: std::collections::HashSet<u32> = seen.copied().collect();
    let idle: Vec<String> = recording
        .threads
        .iter()
        .filter(|thread| !seen.contains(&thread.tid))
        .map(|thread| words::brief(&thread.name))
        .collect();
    let summary = format!("{} that neither waited nor held anything up", units::plural(idle.len(), "thread"));
    (!idle.is_empty()).then(|| {
        el("details").child(el("summary").text(summary)).child(el("p").class("small").text(idle.join(", ")))
    })
}
