//! What tracing adds to looks: who ended a wait, how long devices took, and what it cost.

use serde::{Deserialize, Serialize};

/// What ended a wait.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Waker {
    /// The thread; `None` for an interrupt: of a device, or of a clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tid: Option<u32>,
    /// The kernel's functions in which it did so, the innermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kernel: Vec<String>,
}

/// What a device was asked to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// To read from it.
    Read,
    /// To write, durable or not.
    Write,
    /// To make durable what was written.
    Flush,
    /// To discard, to write zeroes, and the like.
    #[default]
    Other,
}

/// How long a device took for requests of one kind, from when they were made, queues included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Latency {
    /// What it was asked to do.
    pub operation: Operation,
    /// How many took less than 2, 4, 8, ... times 1,024 nanoseconds, and no less than half of that.
    pub counts: Vec<u64>,
}

/// A request that a device took long for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SlowRequest {
    /// When it was made.
    pub from_ms: f64,
    /// When it was answered.
    pub to_ms: f64,
    /// What the device was asked to do.
    pub operation: Operation,
    /// How many bytes.
    pub bytes: u32,
    /// From where on, in 512 bytes.
    pub sector: u64,
}

/// Tracing: how far it could see, and what it cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Trace {
    /// Waits of at least this were recorded from beginning to end, at best.
    pub threshold_ms: f64,
    /// And at worst: it rises where there is too much to tell.
    pub highest_threshold_ms: f64,
    /// Waits that were recorded.
    pub waits: u64,
    /// Waits and requests that found no room on their way.
    pub lost: u64,
    /// What the kernel's programs have cost, in milliseconds of processor time, whatever process
    /// they ran beside: by samples of 200 ms.
    pub cost_cpu_ms: f64,
    /// How often they ran, by the same samples.
    pub runs: u64,
    /// When tracing gave way, because it had become too dear; `None` if it went on to the end.
    pub until_ms: Option<f64>,
}

impl Latency {
    /// How many requests there were.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// So many of a hundred took less than this, in milliseconds; `None` if there were none.
    #[must_use]
    pub fn percentile_ms(&self, percent: u64) -> Option<f64> {
        let wanted = u128::from(self.count()) * u128::from(percent);
        let mut seen = 0_u128;
        let slot = self.counts.iter().position(|count| {
            seen += u128::from(*count) * 100;
            seen > 0 && seen >= wanted
        })?;
        Some(2_f64.powi(i32::try_from(slot).ok()? + 1) * 1_024.0 / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_upper_end_of_its_slot() {
        let mut counts = vec![0; 20];
        (counts[6], counts[13]) = (99, 1);
        let latency = Latency { operation: Operation::Write, counts };
        assert_eq!(latency.count(), 100);
        assert_eq!(latency.percentile_ms(50), Some(0.131_072));
        assert_eq!(latency.percentile_ms(99), Some(0.131_072));
        assert_eq!(latency.percentile_ms(100), Some(16.777_216));
        assert_eq!(Latency::default().percentile_ms(50), None);
    }
}
