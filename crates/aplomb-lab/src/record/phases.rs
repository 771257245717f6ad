//! The parts of a run, what came of each second, and whose records the figures are about.

use serde::{Deserialize, Serialize};

use super::Percentiles;

/// The parts of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseName {
    /// Before the disturbance.
    Calm,
    /// The disturbance.
    During,
    /// The seconds after the disturbance.
    After,
}

/// A part of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// The phase that these bounds are of.
    pub name: PhaseName,
    /// Its first moment.
    pub from_ms: f64,
    /// Its end.
    pub to_ms: f64,
    /// What is done to the disk or the machine, in a few words (`reads take 20 ms`); empty when
    /// nothing is.
    pub disturbance: String,
}

/// One second of the load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// Which, counted from 0.
    pub second: u64,
    /// The phase that it began in.
    pub phase: PhaseName,
    /// Records due in it that were acknowledged, whenever that was.
    pub acknowledged: u64,
    /// Records due in it that were refused, given up, or never answered.
    pub failed: u64,
    /// From due to acknowledged; `null` without an acknowledgement.
    pub produce: Option<Percentiles>,
    /// From due to the tail consumer; `null` without an arrival, or without such a consumer.
    pub end_to_end: Option<Percentiles>,
    /// Bytes that the lagging consumer received in it, by the clock.
    pub lagging_bytes: u64,
}

/// Whose records the figures of a run are about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// In a few words: `producers of the other log directory`.
    pub who: String,
    /// The partitions that they write to.
    pub partitions: Vec<i32>,
    /// What became of everybody else's records that were due during the disturbance.
    pub others: Others,
}

/// What became of records that the figures are not about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Others {
    /// Acknowledged, whenever that was.
    pub acknowledged: u64,
    /// Refused, given up, or never answered.
    pub failed: u64,
}
