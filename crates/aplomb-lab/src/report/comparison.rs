//! Many runs laid side by side: one row an incident, one column a broker.
//!
//! What always holds: a cell is one run. Of those that did not fail, on a machine that stood still
//! little, half were as good or better (by the factor of p99.9, or by the time for which the broker
//! was away); where the machine stood still in each, it is the one in which it did least. How many
//! runs there were, how far apart, and how many failed, is told. Incidents that hurt most come
//! first, look-alikes behind them, negative controls last. `compare` makes a page of it, `picture`
//! a picture, `markdown` a table.

use super::headline;
use super::units;
use super::who::{self, Who};
use crate::record::{Broker, BrokerRun, Ended, MachineStandstill, Run, Story};

/// A run, and where its own page is.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// What was recorded.
    pub run: &'a Run,
    /// The page's address as seen from the comparison; `None` if there is none.
    pub page: Option<&'a str>,
}

/// Runs by incident and broker.
#[derive(Debug)]
pub(super) struct Comparison<'a> {
    /// The columns: names and colours.
    pub(super) names: Vec<Who>,
    pub(super) rows: Vec<IncidentRow<'a>>,
}

/// One line of the comparison: an incident, with a cell for each broker.
#[derive(Debug)]
pub(super) struct IncidentRow<'a> {
    pub(super) story: &'a Story,
    /// What was done to the disk, if anything was.
    pub(super) disturbance: Option<&'a str>,
    /// The page of the run in the last cell.
    pub(super) page: Option<&'a str>,
    /// A column each.
    pub(super) cells: Vec<Option<Cell<'a>>>,
}

/// The run that stands for one broker's runs of an incident.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell<'a> {
    /// The one in the middle.
    pub(super) run: &'a BrokerRun,
    /// How many there are.
    runs: usize,
    /// How many more there are that failed.
    failed: usize,
    /// The smallest and the largest factor of p99.9 among them, where they have one.
    factors: Option<(f64, f64)>,
    page: Option<&'a str>,
}

impl<'a> Comparison<'a> {
    /// Puts runs in rows and columns.
    pub(super) fn of(entries: &[Entry<'a>]) -> Self {
        let mut entries = entries.to_vec();
        entries.sort_by(|a, b| a.run.began.cmp(&b.run.began));
        let brokers = columns(&entries);
        let names = who::all(&brokers);
        let mut rows: Vec<IncidentRow<'a>> = Vec::new();
        for entry in &entries {
            let run = entry.run;
            let of_it = || entries.iter().filter(|other| other.run.incident.name == run.incident.name);
            // The latest tells what the incident is.
            if of_it().next_back().is_some_and(|last| std::ptr::eq(last.run, run)) {
                let cells: Vec<_> = brokers.iter().map(|broker| Cell::of(of_it(), broker)).collect();
                let page = cells.iter().flatten().next_back().and_then(|cell| cell.page);
                let disturbance = of_it().rev().find_map(|entry| headline::disturbance(entry.run));
                rows.push(IncidentRow { story: &run.incident, disturbance, page, cells });
            }
        }
        rows.sort_by(|a, b| {
            a.story
                .control
                .cmp(&b.story.control)
                .then(a.story.look_alike.cmp(&b.story.look_alike))
                .then(b.worst().total_cmp(&a.worst()))
                .then(a.story.name.cmp(&b.story.name))
        });
        Self { names, rows }
    }
}

impl IncidentRow<'_> {
    /// The largest amplification of p99.9 in the row.
    fn worst(&self) -> f64 {
        let all = self.cells.iter().flatten().filter_map(|cell| cell.run.amplification);
        all.map(|amplification| amplification.p999).fold(0.0, f64::max)
    }
}

impl<'a> Cell<'a> {
    /// Of all runs of an incident those of one broker; `None` without any.
    fn of<'b>(entries: impl Iterator<Item = &'b Entry<'a>>, broker: &Broker) -> Option<Self>
    where
        'a: 'b,
    {
        let theirs = entries.flat_map(|entry| entry.run.brokers.iter().map(|run| (run, entry.page)));
        let mut all: Vec<_> = theirs.filter(|(run, _)| same(&run.broker, broker)).collect();
        let found = all.len();
        if all.iter().any(|(run, _)| run.ended == Ended::Completed) {
            all.retain(|(run, _)| run.ended == Ended::Completed);
        }
        let failed = found - all.len();
        let runs = all.len();
        let factors = || all.iter().filter_map(|(run, _)| Some(run.amplification?.p999));
        let span =
            factors().next().map(|_| (factors().fold(f64::MAX, f64::min), factors().fold(0.0, f64::max)));
        if all.iter().any(|(run, _)| run.machine_was_steady()) {
            all.retain(|(run, _)| run.machine_was_steady());
        } else {
            all.sort_by_key(|(run, _)| run.machine_standstill.as_ref().map(MachineStandstill::worst_us));
            all.truncate(1);
        }
        all.sort_by(|(a, _), (b, _)| badness(a).total_cmp(&badness(b)));
        let (run, page) = *all.get(all.len() / 2)?;
        Some(Self { run, runs, failed, factors: span, page })
    }

    /// What is to be said beside the figures: that the machine stood still itself, of how many runs
    /// it is, and that others failed.
    pub(super) fn remarks(&self) -> impl Iterator<Item = String> {
        let unsteady = self.run.machine_standstill.as_ref().filter(|machine| !machine.is_steady());
        let unsteady = unsteady.map(|machine| {
            format!("on a machine that stood still for {} itself", units::time_us(machine.worst_us()))
        });
        let failed = (self.failed > 0).then(|| format!("{} more failed", units::count(self.failed as u64)));
        unsteady.into_iter().chain(self.among()).chain(failed)
    }

    /// How many runs there were and how far apart, where there was more than one: `of 3 runs, 0.9×
    /// to 1.7×`.
    fn among(&self) -> Option<String> {
        let runs = units::plural(self.runs as u64, "run");
        match self.factors {
            _ if self.runs < 2 => None,
            Some((least, most)) => {
                Some(format!("of {runs}, {} to {}", units::times(least), units::times(most)))
            }
            None => Some(format!("of {runs}")),
        }
    }
}

/// What runs are put in order by; larger is worse.
fn badness(run: &BrokerRun) -> f64 {
    match (&run.recovery, run.amplification) {
        (Some(recovery), _) => recovery.away_ms().unwrap_or(f64::INFINITY),
        (None, Some(amplification)) => amplification.p999,
        (None, None) => f64::INFINITY,
    }
}

fn same(a: &Broker, b: &Broker) -> bool {
    a.kind == b.kind && a.name == b.name && a.version == b.version && a.overrides == b.overrides
}

/// Each broker once: those of others by name, and Aplomb behind them, where a reader looks for the
/// outcome.
fn columns<'a>(entries: &[Entry<'a>]) -> Vec<&'a Broker> {
    let mut columns: Vec<&Broker> = Vec::new();
    for broker in entries.iter().flat_map(|entry| &entry.run.brokers) {
        if !columns.iter().any(|other| same(other, &broker.broker)) {
            columns.push(&broker.broker);
        }
    }
    columns.sort_by_key(|broker| (broker.kind == "aplomb", who::full_name(broker)));
    columns
}
