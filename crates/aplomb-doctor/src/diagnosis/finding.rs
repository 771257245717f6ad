//! What a rule has found, before it is weighed against the others.

use super::evidence::{Evidence, Seen, Waits};
use super::spans::Spans;
use super::verdict::Remedy;
pub(super) use crate::units::time;

/// A rule's answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Finding {
    /// The cause's name.
    pub(super) name: &'static str,
    /// When it made itself felt.
    pub(super) explained: Spans,
    /// What a request waits that comes meanwhile; none where it stands until the span is over.
    pub(super) delay_ms: Option<f64>,
    /// Whether what is below the wait was seen too: a holder, a device, a line of a log.
    pub(super) ground: bool,
    /// Whether those that carry requests were seen waiting for it.
    pub(super) waited: bool,
    pub(super) summary: String,
    pub(super) evidence: Vec<String>,
    pub(super) against: Vec<String>,
    pub(super) mechanism: &'static str,
    pub(super) remedy: Vec<Remedy>,
    pub(super) threads: Vec<u32>,
    /// Causes that are consequences or parts of this one, if it explains enough beside them.
    pub(super) absorbs: &'static [&'static str],
    /// How much later or earlier than this one those may be felt, where that is more than usual.
    pub(super) near_ms: f64,
    /// When what is below the wait was there, where it may also be there without being felt, and
    /// what it is.
    pub(super) ground_when: Option<(Spans, &'static str)>,
    /// Whether it is known that these belong together: an owner, one file.
    pub(super) ground_known: bool,
}

impl Finding {
    /// What requests wait for it if they come at the same rate all the time, in milliseconds of
    /// waiting for each request a millisecond. One stall of a second is a hundred times as bad as a
    /// hundred of ten milliseconds.
    pub(super) fn harm(&self) -> f64 {
        match self.delay_ms {
            Some(delay_ms) => self.explained.total_ms() * delay_ms,
            None => self.explained.squares_ms2() / 2.0,
        }
    }
}

/// A change and what it costs.
pub(super) fn remedy(change: &str, cost: &str) -> Remedy {
    Remedy { change: change.to_owned(), cost: cost.to_owned() }
}

/// `3 request handlers`.
pub(super) fn count(number: usize, of: &str) -> String {
    if number == 1 { format!("1 {of}") } else { format!("{number} {of}s") }
}

/// A share for people.
pub(super) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// Who waited, for how long, where: a sentence for the evidence.
pub(super) fn told(waits: &Waits<'_>, what: &str) -> String {
    let longest = waits.longest();
    let spans = waits.spans();
    let mut text = format!(
        "{} {what}, {} in all, {} at the longest",
        count(waits.threads().len(), "thread"),
        time(spans.total_ms()),
        time(longest.map_or(0.0, Seen::length_ms)),
    );
    if let Some(longest) = longest {
        text += &format!(": {}", longest.thread.name);
        if let Some(call) = &longest.wait.call {
            text += &format!(" in {}", call.name);
        }
        if let Some(path) = longest.path() {
            text += &format!(" of {path}");
        }
        let stack: Vec<&str> = longest.wait.kernel.iter().take(6).map(String::as_str).collect();
        if !stack.is_empty() {
            text += &format!(" ({})", stack.join(" < "));
        }
    }
    text
}

/// Which thread let go of what was waited for, of the longest wait of which that was traced: a
/// sentence for the evidence.
pub(super) fn let_go(evidence: &Evidence<'_>, waits: &Waits<'_>) -> Option<String> {
    let traced = waits.that(|seen| seen.let_go_by().is_some());
    let longest = traced.longest()?;
    let (tid, stack) = longest.let_go_by()?;
    let stack: Vec<&str> = stack.iter().take(6).map(String::as_str).collect();
    let by = names(evidence, &[tid]);
    Some(format!(
        "a wait of {} was traced to its end: {by} let go ({})",
        time(longest.length_ms()),
        stack.join(" < ")
    ))
}

/// The names of threads, at most three.
pub(super) fn names(evidence: &Evidence<'_>, tids: &[u32]) -> String {
    let name = |tid: &u32| evidence.recording.thread(*tid).map(|thread| format!("{} ({tid})", thread.name));
    let names: Vec<String> = tids.iter().take(3).filter_map(name).collect();
    let more = tids.len().saturating_sub(3);
    if more > 0 { format!("{} and {more} more", names.join(", ")) } else { names.join(", ") }
}

/// What is said of the device under a path.
pub(super) fn device_said(evidence: &Evidence<'_>, path: &str, when: &Spans) -> Option<String> {
    let device = evidence.device_of(path)?;
    let service = evidence.service_ms(device, when)?;
    Some(format!("{} ({}) took {service:.1} ms a request meanwhile", device.name, device.number))
}
