//! What a JVM says of its own pauses.

use serde::{Deserialize, Serialize};

/// A time at which a JVM stopped its threads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Safepoint {
    /// When threads were asked to stop.
    pub at_ms: f64,
    /// How long it took until all stood; `None` where only the whole is known.
    pub reaching_ms: Option<f64>,
    /// How long they were stopped altogether, reaching included.
    pub total_ms: f64,
    /// The operation that wanted it, `G1CollectForAllocation`; empty if that is not known.
    pub reason: String,
    /// How many safepoints this row stands for: counters tell of several at once.
    pub count: u64,
}

/// A collector's pause, by its own log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Collection {
    /// When it began.
    pub at_ms: f64,
    /// How long it took.
    pub pause_ms: f64,
    /// `Pause Young (Normal) (G1 Evacuation Pause)`.
    pub name: String,
    /// The sum of the phases that the collector has a name for; `None` where it logs none.
    pub phases_ms: Option<f64>,
    /// Its phase `Other`: what it has no name for.
    pub other_ms: Option<f64>,
    /// Processor time of all its threads, in the kernel and outside.
    pub cpu_ms: Option<f64>,
    /// The clock's time by the same line, in steps of 10 ms.
    pub real_ms: Option<f64>,
    /// Used heap before, after, and the heap's size, in bytes; `None` where it is not said.
    pub heap_bytes: Option<(u64, u64, u64)>,
}
