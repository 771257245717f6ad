//! Latencies of a run, what they are compared by, and how late those were who measured them.
//!
//! What always holds: microseconds, unless a factor.

use serde::{Deserialize, Serialize};

/// A second's latencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Percentiles {
    /// The median.
    pub p50_us: u64,
    /// 99 of 100 are at most this.
    pub p99_us: u64,
    /// 999 of 1000.
    pub p999_us: u64,
    /// The largest.
    pub max_us: u64,
}

/// Latencies by phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latencies {
    /// Before the disturbance.
    pub calm: Option<Latency>,
    /// Records due during it.
    pub during: Option<Latency>,
    /// Records due after it.
    pub after: Option<Latency>,
}

/// The latencies of a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Records.
    pub count: u64,
    /// The median.
    pub p50_us: u64,
    /// 9 of 10.
    pub p90_us: u64,
    /// 99 of 100.
    pub p99_us: u64,
    /// 999 of 1000.
    pub p999_us: u64,
    /// 9999 of 10,000.
    pub p9999_us: u64,
    /// The largest.
    pub max_us: u64,
    /// The whole distribution: a percentile between 0 and 100, rising, and the latency in
    /// microseconds that this share does not exceed.
    pub curve: Vec<(f64, u64)>,
}

/// How many times larger a figure was during the disturbance than before it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Amplification {
    /// Of the 99th percentile.
    pub p99: f64,
    /// Of the 99.9th.
    pub p999: f64,
    /// Of the largest.
    pub max: f64,
}

impl Amplification {
    /// Compares two phases. A latency below a microsecond counts as one.
    #[must_use]
    pub fn between(calm: &Latency, during: &Latency) -> Self {
        let times = |during: u64, calm: u64| during as f64 / calm.max(1) as f64;
        Self {
            p99: times(during.p99_us, calm.p99_us),
            p999: times(during.p999_us, calm.p999_us),
            max: times(during.max_us, calm.max_us),
        }
    }
}

impl Latencies {
    /// `during` over `calm`, if both have records.
    #[must_use]
    pub fn amplification(&self) -> Option<Amplification> {
        Some(Amplification::between(self.calm.as_ref()?, self.during.as_ref()?))
    }
}

/// How late the generator sent what it had to send, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lateness {
    /// 99 of 100.
    pub p99: u64,
    /// The largest.
    pub max: u64,
}

/// How long the machine itself stood still, by phase: at each moment, what its processors, added
/// up, had still to lose until all of them were in time again. Nobody on it could have done better.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineStandstill {
    /// Before the disturbance.
    pub calm: Option<Percentiles>,
    /// Latencies while the disk was disturbed.
    pub during: Option<Percentiles>,
    /// Latencies after the disturbance.
    pub after: Option<Percentiles>,
}

impl MachineStandstill {
    /// A machine that stands still for no longer than this at p99.9, in microseconds, is steady
    /// enough to compare two parts of a run.
    pub const STEADY_US: u64 = 10_000;

    /// Whether the machine was steady before and during the disturbance.
    #[must_use]
    pub fn is_steady(&self) -> bool {
        self.worst_us() <= Self::STEADY_US
    }

    /// The larger p99.9 of the two parts that are compared, in microseconds.
    #[must_use]
    pub fn worst_us(&self) -> u64 {
        [self.calm, self.during].into_iter().flatten().map(|late| late.p999_us).max().unwrap_or(0)
    }
}
