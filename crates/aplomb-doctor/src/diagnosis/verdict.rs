//! What a diagnosis says, as people and programs get it.

use serde::{Deserialize, Serialize};

/// What a recording says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// Causes, the one for which requests waited most first; empty where nothing is wrong.
    pub causes: Vec<Cause>,
    /// When those that carry requests could not.
    pub slow: Vec<Span>,
    /// Parts of `slow` that no cause explains.
    pub unexplained: Vec<Span>,
    /// What was seen and is no cause: a device that stood still while no request waited for it.
    pub observations: Vec<String>,
    /// What to collect next, where causes do not explain enough.
    pub next: Vec<String>,
}

/// A time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// Its beginning, on the recording's clock.
    pub from_ms: f64,
    /// Its end.
    pub to_ms: f64,
}

/// A cause, with what speaks for it and against it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cause {
    /// Its name: the lab's, where the lab has an incident of it.
    pub name: String,
    /// How sure it is.
    pub confidence: Confidence,
    /// Share of the slow time that it explains, 0 to 1.
    pub share: f64,
    /// One sentence: who waited for what, with figures.
    pub summary: String,
    /// What speaks for it, a sentence each.
    pub evidence: Vec<String>,
    /// What speaks against it.
    pub against: Vec<String>,
    /// How it comes about, in three sentences.
    pub mechanism: String,
    /// What to change, the best first.
    pub remedy: Vec<Remedy>,
    /// Threads that waited for it.
    pub threads: Vec<u32>,
    /// When it made itself felt.
    pub when: Vec<Span>,
}

/// How sure a cause is: of effect, wait and ground it has been seen so many in the same moments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// One of the three.
    Possible,
    /// Two.
    Likely,
    /// All three, and not while all was calm.
    Proved,
}

/// Something to change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remedy {
    /// The change, with the exact setting.
    pub change: String,
    /// What it costs, or where it does not help.
    pub cost: String,
}
