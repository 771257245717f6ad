//! Who waited where: threads, stages, safepoints, and what an incident is known by.

use serde::{Deserialize, Serialize};

/// What a thread is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// It answers requests.
    Request,
    /// It reads and writes sockets, and answers nothing itself.
    Network,
    /// It is there to wait for disks.
    Disk,
    /// It belongs to a garbage collector or its safepoints.
    Collector,
    /// Anything else.
    Other,
}

/// A thread that was found in uninterruptible sleep, in one look or in several after one another
/// with the same stack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stall {
    /// The thread's name.
    pub thread: String,
    /// What it is there for.
    pub role: Role,
    /// The first look that found it so.
    pub from_ms: f64,
    /// The last look, and one more interval: it may have gone on as long as that.
    pub to_ms: f64,
    /// How many looks.
    pub samples: u64,
    /// The kernel's functions, the innermost first.
    pub stack: Vec<String>,
}

/// What an incident is known by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sighting {
    /// A few words: who waits where.
    pub name: String,
    /// Whether this broker is expected to show it, or it is no surprise that it was seen.
    pub expected: bool,
    /// Whether it did.
    pub seen: bool,
    /// How often.
    pub count: u64,
    /// One stack, the innermost function first; empty if it is known by something else, or was not
    /// seen.
    pub example: Vec<String>,
}

/// A stage that requests go through, by the broker's own account.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// Which requests, `Produce`.
    pub request: String,
    /// Which stage, `RequestQueueTimeMs`.
    pub stage: String,
    /// The 99th percentile over the last minutes, as it stood at the end of the calm phase.
    pub before_p99_ms: f64,
    /// The same at the end of the run, with the disturbance among these minutes.
    #[serde(alias = "during_p99_ms")]
    pub after_p99_ms: f64,
    /// The mean over the calm phase; `None` without requests.
    #[serde(default)]
    pub before_mean_ms: Option<f64>,
    /// The mean from the disturbance to the end of the run; `None` without requests, and of a
    /// broker that was started again.
    #[serde(default)]
    pub after_mean_ms: Option<f64>,
}

/// A moment at which a JVM has stopped its threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Safepoint {
    /// Milliseconds since the run began.
    pub at_ms: f64,
    /// How long it took until all threads stood.
    pub reaching_ms: f64,
    /// How long they were stopped altogether.
    pub total_ms: f64,
    /// The JVM operation that wanted the safepoint.
    pub reason: String,
}

/// Whether a broker that promises to keep its request threads off disks has done so.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Witness {
    /// No request thread was found waiting, and the guard has seen nothing.
    pub silent: bool,
    /// The request threads that were.
    pub stalls: Vec<Stall>,
    /// System calls on request threads that their guard has refused.
    pub guard_violations: u64,
}
