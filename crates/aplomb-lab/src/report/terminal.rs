//! The summary of a run for a terminal: the sentence, the figures, p99.9 as a line of bars, who
//! waited where, and the verdicts.
//!
//! What always holds: a line has no control character, whatever a thread or a log is called; it is
//! readable without colours.

use super::axes::Scale;
use super::groups;
use super::headline;
use super::special;
use super::units;
use super::waits;
use super::who::{self, Who};
use crate::record::{BrokerRun, Ended, Latency, Run};

/// Places that are told for each broker.
const MOST_PLACES: usize = 3;

/// The summary, with a line feed at its end.
#[must_use]
pub fn summary(run: &Run) -> String {
    let names = who::all(&run.brokers.iter().map(|run| &run.broker).collect::<Vec<_>>());
    let width = names.iter().map(|who| who.name.chars().count()).max().unwrap_or(0).max(14);
    let mut lines = vec![
        format!("{}: {}", run.incident.name, run.incident.title),
        headline::headline(run),
        String::new(),
    ];
    lines.push(format!(
        "{:width$}  {:>8} {:>9} {:>9} {:>9} {:>9}",
        "latency", "", "p50", "p99", "p99.9", "max"
    ));
    for (run, who) in run.brokers.iter().zip(&names) {
        lines.extend(figures(run, who, width));
    }
    let all = || run.brokers.iter().flat_map(|run| run.seconds.iter().filter_map(|s| s.produce.as_ref()));
    if all().next().is_some() {
        let scale = Scale::log_over(all().map(|p| p.p999_us as f64));
        if let Scale::Log { from, to } = scale {
            lines.push(String::new());
            let (from, to) = (units::round_time(from), units::round_time(to));
            lines.push(format!(
                "p99.9 by second, from {from} to {to} (log); the disturbance is between the bars"
            ));
        }
        for (run, who) in run.brokers.iter().zip(&names) {
            lines.push(format!("{:width$}  {}", who.name, bars(run, scale)));
        }
    }
    for (run, who) in run.brokers.iter().zip(&names) {
        lines.push(String::new());
        lines.extend(told(run, who));
    }
    lines.iter().map(|line| printable(line.trim_end()) + "\n").collect()
}

fn figures(run: &BrokerRun, who: &Who, width: usize) -> Vec<String> {
    let row = |phase: &str, latency: &Option<Latency>| match latency {
        Some(l) => {
            let figures =
                [l.p50_us, l.p99_us, l.p999_us, l.max_us].map(|us| format!("{:>9}", units::time_us(us)));
            format!("{phase:>8} {}", figures.join(" "))
        }
        None => format!("{phase:>8} nothing was acknowledged"),
    };
    let mut lines = vec![
        format!("{:width$}  {}", who.name, row("calm", &run.latency.calm)),
        format!("{:width$}  {}", "", row("during", &run.latency.during)),
    ];
    if let Some(a) = &run.amplification {
        let figures = [a.p99, a.p999, a.max].map(|factor| format!("{:>9}", units::times(factor)));
        lines.push(format!("{:width$}  {:>8} {:>9} {}", "", "÷", "", figures.join(" ")));
    }
    lines
}

/// A bar a second; a second without an acknowledgement is a dot. Bars at the sides of the
/// disturbance.
fn bars(run: &BrokerRun, scale: Scale) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let mut text = String::new();
    let mut before = None;
    for second in &run.seconds {
        if before.is_some_and(|before| before != second.phase) {
            text.push('|');
        }
        before = Some(second.phase);
        text.push(match &second.produce {
            Some(p) => BARS[((scale.at(p.p999_us as f64) * 8.0) as usize).min(7)],
            None => '·',
        });
    }
    text
}

fn told(run: &BrokerRun, who: &Who) -> Vec<String> {
    let word = match (&run.ended, run.expectation.met) {
        (Ended::Failed(why), _) => format!("cut short ({why})"),
        (Ended::Completed, true) => "as expected".to_owned(),
        (Ended::Completed, false) => "NOT as expected".to_owned(),
    };
    let mut lines = vec![format!("{}: {word}: {}", who.name, run.expectation.text)];
    if let Some(without) = run.expectation.reservation() {
        lines.push(format!("  reservation  this run is {without}"));
    }
    if let Some(recovery) = &run.recovery {
        lines.push(format!("  recovery     {}", special::steps(recovery)));
        lines.push(format!("  read back    {}", special::kept(recovery)));
    }
    if let Some(counted) = &run.counted {
        lines.push(format!("  counted      {}", special::counted(counted)));
    }
    if let Some(witness) = &run.witness {
        lines.push(if witness.silent {
            "  witness      silent: no request thread waited for a disk".to_owned()
        } else {
            format!(
                "  witness      NOT SILENT: {} of request threads, {} of their guard",
                units::plural(witness.stalls.len() as u64, "wait"),
                units::plural(witness.guard_violations, "violation")
            )
        });
    }
    lines.extend(groups::lines(run).into_iter().map(|(word, text)| format!("  {word:12} {text}")));
    lines.extend(special::machine(run).map(|words| format!("  machine      {words}")));
    for signature in &run.signatures {
        let word = match (signature.expected, signature.seen) {
            (true, true) => "seen",
            (true, false) => "NOT SEEN",
            (false, true) => "SEEN, not expected",
            (false, false) => "not seen",
        };
        lines.push(format!("  {:12} {} ({} times)", word, signature.name, units::count(signature.count)));
    }
    let waits = waits::folded(&run.stalls);
    for place in waits.stacks.iter().take(MOST_PLACES) {
        let long = |ms: f64| units::time(ms * 1e3);
        lines.push(format!(
            "  {:12} {} in {}, longest {}: {}",
            waits::word(place.role),
            long(place.total_ms),
            units::plural(place.count, "wait"),
            long(place.longest_ms),
            waits::in_a_line(place.stack, 3)
        ));
    }
    lines
}

/// Nothing that moves a terminal's cursor or changes its colours.
fn printable(line: &str) -> String {
    line.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
