//! The sentence that a reader may quote.
//!
//! What always holds: it says only what the record's numbers say: a percentile that did not change
//! stayed, one that fell is said to have fallen, and a broker whose run was cut short is said so.

use super::who::{self, Who};
use super::{special, units};
use crate::record::{BrokerRun, Ended, PhaseName, Run};

/// Below this, a percentile is said to have stayed where it was; it is also the limit that Aplomb
/// sets itself.
pub(super) const STAYED: f64 = 1.5;

/// A sentence or a few about all brokers of a run: about p99.9, or about their coming back.
#[must_use]
pub fn headline(run: &Run) -> String {
    let names: Vec<Who> = who::all(&run.brokers.iter().map(|run| &run.broker).collect::<Vec<_>>());
    let mut clauses: Vec<String> = Vec::new();
    let mut cut_short: Vec<String> = Vec::new();
    for (run, who) in run.brokers.iter().zip(&names) {
        match &run.ended {
            Ended::Failed(why) => {
                cut_short.push(format!("{} did not get to the end: {}.", who.name, why.trim_end_matches('.')))
            }
            Ended::Completed => clauses.push(match &run.recovery {
                Some(recovery) => special::clause(recovery, who),
                None => clause(run, who, clauses.is_empty()),
            }),
        }
    }
    let mut text = String::new();
    if !clauses.is_empty() {
        let when = match disturbance(run) {
            _ if run.brokers.iter().any(|run| run.recovery.is_some()) => {
                "Killed and started again, ".to_owned()
            }
            Some(what) => format!("While {what}, "),
            None => "With nothing disturbed, ".to_owned(),
        };
        text = format!("{when}{}.", clauses.join("; "));
    }
    for sentence in special::of_whom(&run.brokers).into_iter().chain(cut_short) {
        if !text.is_empty() {
            text.push(' ');
        }
        text += &sentence;
    }
    if text.is_empty() { "No broker has run.".to_owned() } else { text }
}

/// What was done to the disk, in the words of the first broker's run that has any.
pub(super) fn disturbance(run: &Run) -> Option<&str> {
    run.brokers.iter().find_map(disturbance_of)
}

/// What was done to this broker's disk.
pub(super) fn disturbance_of(run: &BrokerRun) -> Option<&str> {
    let during =
        run.phases.iter().find(|phase| phase.name == PhaseName::During && !phase.disturbance.is_empty());
    during.map(|phase| phase.disturbance.as_str())
}

fn clause(run: &BrokerRun, who: &Who, first: bool) -> String {
    let whose = if first { format!("p99.9 of {}", who.name) } else { format!("{}’s", who.name) };
    let (Some(calm), Some(during)) = (&run.latency.calm, &run.latency.during) else {
        return match &run.latency.calm {
            Some(calm) => format!(
                "{whose} was {} before, and then nothing was acknowledged",
                units::time_us(calm.p999_us)
            ),
            None => format!("{whose} could not be measured"),
        };
    };
    let (before, now) = (units::time_us(calm.p999_us), units::time_us(during.p999_us));
    let factor = during.p999_us as f64 / calm.p999_us.max(1) as f64;
    if factor >= STAYED {
        format!("{whose} rose from {before} to {now} ({})", units::times(factor))
    } else if factor > 1.0 / STAYED {
        format!("{whose} stayed at {now} ({before} before)")
    } else {
        format!("{whose} fell from {before} to {now}")
    }
}
