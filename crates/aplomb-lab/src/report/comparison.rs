//! Many runs laid side by side: one row an incident, one column a broker.
//!
//! What always holds: a cell is one broker's latest run of an incident, by when it began; incidents that hurt most come first, negative
//! controls last. `compare` makes a page of it, `picture` a picture, `markdown` a table.

use super::headline;
use super::who::{self, Who};
use crate::record::{Broker, BrokerRun, Run, Story};

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
    /// The rows.
    pub(super) rows: Vec<Row<'a>>,
}

/// An incident.
#[derive(Debug)]
pub(super) struct Row<'a> {
    /// What it is.
    pub(super) story: &'a Story,
    /// What was done to the disk, if anything was.
    pub(super) disturbance: Option<&'a str>,
    /// The page of the latest run.
    pub(super) page: Option<&'a str>,
    /// A column each.
    pub(super) cells: Vec<Option<&'a BrokerRun>>,
}

impl<'a> Comparison<'a> {
    /// Puts runs in rows and columns.
    pub(super) fn of(entries: &[Entry<'a>]) -> Self {
        let mut entries = entries.to_vec();
        entries.sort_by(|a, b| a.run.began.cmp(&b.run.began));
        let brokers = columns(&entries);
        let names = who::all(&brokers);
        let mut rows: Vec<Row<'a>> = Vec::new();
        for entry in &entries {
            let run = entry.run;
            let at = rows.iter().position(|row| row.story.name == run.incident.name).unwrap_or_else(|| {
                let cells = vec![None; brokers.len()];
                rows.push(Row { story: &run.incident, disturbance: None, page: None, cells });
                rows.len() - 1
            });
            let row = &mut rows[at];
            row.story = &run.incident;
            row.page = entry.page.or(row.page);
            row.disturbance = headline::disturbance(run).or(row.disturbance);
            for broker in &run.brokers {
                if let Some(column) = brokers.iter().position(|other| same(other, &broker.broker)) {
                    row.cells[column] = Some(broker);
                }
            }
        }
        rows.sort_by(|a, b| {
            a.story
                .control
                .cmp(&b.story.control)
                .then(b.worst().total_cmp(&a.worst()))
                .then(a.story.name.cmp(&b.story.name))
        });
        Self { names, rows }
    }
}

impl Row<'_> {
    /// The largest amplification of p99.9 in the row.
    fn worst(&self) -> f64 {
        let all = self.cells.iter().flatten().filter_map(|run| run.amplification);
        all.map(|amplification| amplification.p999).fold(0.0, f64::max)
    }
}

fn same(a: &Broker, b: &Broker) -> bool {
    a.kind == b.kind && a.name == b.name && a.version == b.version
}

/// Each broker once: those of others by name, and Aplomb behind them, where a reader looks for the outcome.
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
