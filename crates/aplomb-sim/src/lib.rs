//! One broker with its disks, its clock and its clients, all from one seed.
//!
//! The broker is the real one: its shards, its logs, its start-up. Disks are those of
//! `aplomb-disk-api::sim`, the tail's memory is on the heap, and time is virtual, so that thirty
//! seconds of a frozen disk cost nothing. Clients speak the real protocol. Everything that happens
//! follows from a [`Scenario`]; a scenario that fails is made smaller by [`shrink()`] and kept in a
//! [`Corpus`]. A [`Campaign`] runs many.
//!
//! Start reading at `simulation`. `scenario` is what a seed stands for, `faults` and `outages` what
//! goes wrong, `clients` who asks, `check` what must be true.

mod agenda;
mod bank;
mod campaign;
mod check;
mod clients;
mod corpus;
mod directories;
mod faults;
mod groups;
mod harm;
mod keeping;
mod machine;
mod mailboxes;
mod mortal;
mod network;
mod outages;
mod process;
mod random;
mod scenario;
mod shrink;
mod simulation;
mod tails;
mod trace;
mod troubles;
mod world;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

pub use campaign::{Campaign, Found, Tally};
pub use corpus::{Corpus, CorpusError};
pub use keeping::{keeping, told};
pub use scenario::{NotAScenario, Scenario};
pub use shrink::shrink;
use simulation::Simulation;

/// What the disks of a simulation do with what they were told to sync.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Syncs {
    /// They keep it, as disks do.
    #[default]
    Kept,
    /// They say that they have, and a power cut takes it all the same. No broker can be safe on
    /// such disks: it is a fault that is put there to be found, and a simulator that did not find
    /// it would be worth nothing.
    Forgotten,
}

/// How a simulation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What is wrong, if anything is.
    pub failure: Option<Failure>,
    /// What was done.
    pub summary: Summary,
    /// What happened, if that was asked for; of a long run the last part.
    pub lines: Vec<String>,
}

/// Something that must not happen did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// When, on the virtual clock.
    pub at: Duration,
    /// The contradiction, in words.
    pub what: String,
}

/// What a simulation did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Differs when anything else happened, or at another time.
    pub digest: u64,
    /// Virtual time.
    pub time: Duration,
    /// Batches that were acknowledged.
    pub acknowledged: u64,
    /// Batches that were read, by all readers.
    pub read: u64,
    /// Acknowledged batches that a power cut took, within the contract.
    pub lost: u64,
    /// How often the broker came up.
    pub starts: u64,
    /// The slowest answer to a produce request that waited for no sync.
    pub slowest: Duration,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "after {:.6} virtual seconds: {}", self.at.as_secs_f64(), self.what)
    }
}

/// Runs a scenario. With `lines`, what happened can be read afterwards. A panic of the broker is a
/// failure like others.
#[must_use]
pub fn run(scenario: &Scenario, lines: bool) -> Outcome {
    run_on(scenario, Syncs::Kept, lines)
}

/// The same on disks that may not keep what they should.
#[must_use]
pub fn run_on(scenario: &Scenario, syncs: Syncs, lines: bool) -> Outcome {
    let mut simulation = Simulation::new(scenario, syncs, lines);
    let ended = catch_unwind(AssertUnwindSafe(|| simulation.run()));
    let what = match ended {
        Ok(Ok(())) => None,
        Ok(Err(what)) => Some(what),
        Err(panic) => Some(format!("it panics: {}", words_of(&*panic))),
    };
    if what.is_some() {
        simulation.show();
    }
    let (summary, lines) = simulation.into_summary();
    Outcome { failure: what.map(|what| Failure { at: summary.time, what }), summary, lines }
}

fn words_of(panic: &(dyn std::any::Any + Send)) -> String {
    let words = panic.downcast_ref::<String>().cloned();
    words.or_else(|| panic.downcast_ref::<&str>().map(|words| (*words).to_owned())).unwrap_or_default()
}
