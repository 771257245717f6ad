//! What comes out of a run of groups.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};

use super::history::GroupHistory;
use super::{GroupProtocol, GroupSpec};
use crate::report::Latency;

/// How far a run has come.
#[derive(Clone, Debug)]
pub struct GroupProgress {
    /// Since the first member asked to be let in.
    pub elapsed: Duration,
    /// Groups that have been stable, of so many.
    pub stable: (usize, usize),
    /// Groups of which partitions have no owner, though they had.
    pub without_owner: usize,
    /// Rebalances since groups were stable.
    pub rebalances: u64,
    /// Heartbeats that were answered since the warm-up.
    pub heartbeats: u64,
    /// Commits that were answered since the warm-up.
    pub commits: u64,
    /// Answers that say that something is wrong, and lost connections.
    pub errors: u64,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct GroupReport {
    /// What was asked for.
    pub spec: GroupSpec,
    /// Groups that have been stable.
    pub stable: usize,
    /// From the first member's first request to when all groups were stable; `None`: not all were.
    pub all_stable: Option<Duration>,
    /// From each group's first request to when it was stable.
    pub to_stable: Latency,
    /// From when heartbeats were due to their answers.
    pub heartbeat: Latency,
    /// From when commits were due to their answers.
    pub commit: Latency,
    /// Rebalances of groups that had been stable.
    pub rebalances: u64,
    /// How long partitions of a group that had been stable had no owner.
    pub gaps: Latency,
    /// The sum of that over all groups.
    pub unowned: Duration,
    /// What went wrong, by Kafka's name of it.
    pub errors: BTreeMap<String, u64>,
    /// All of it one by one, if it was asked for.
    pub history: Option<GroupHistory>,
}

impl GroupReport {
    /// For programs. Latencies are in microseconds, other times in milliseconds.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let latency = |latency: &Latency| {
            json!({
                "count": latency.count, "mean": latency.mean, "min": latency.min, "p50": latency.p50,
                "p90": latency.p90, "p99": latency.p99, "p99.9": latency.p99_9, "max": latency.max,
            })
        };
        json!({
            "groups": self.spec.groups,
            "members": self.spec.members,
            "protocol": self.protocol(),
            "stable": self.stable,
            "all_stable_ms": self.all_stable.map(|time| time.as_secs_f64() * 1e3),
            "to_stable_us": latency(&self.to_stable),
            "heartbeat_us": latency(&self.heartbeat),
            "commit_us": latency(&self.commit),
            "rebalances": self.rebalances,
            "gaps_us": latency(&self.gaps),
            "unowned_ms": self.unowned.as_secs_f64() * 1e3,
            "errors": self.errors,
        })
    }

    fn protocol(&self) -> &'static str {
        match self.spec.protocol {
            GroupProtocol::Classic => "classic",
            GroupProtocol::Consumer => "consumer",
        }
    }
}

impl fmt::Display for GroupReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { spec, stable, .. } = self;
        writeln!(f, "{} groups of {} members, {} protocol", spec.groups, spec.members, self.protocol())?;
        match self.all_stable {
            Some(time) => writeln!(f, "all stable after {:.1} ms", time.as_secs_f64() * 1e3)?,
            None => writeln!(f, "{stable} of {} groups became stable", spec.groups)?,
        }
        writeln!(f, "{:12} {:>10} {:>10} {:>10} {:>10} {:>10}", "ms", "count", "p50", "p99", "p99.9", "max")?;
        let rows = [
            ("to stable", &self.to_stable),
            ("heartbeat", &self.heartbeat),
            ("commit", &self.commit),
            ("no owner", &self.gaps),
        ];
        for (name, latency) in rows {
            let ms = |micros: u64| micros as f64 / 1e3;
            let Latency { count, p50, p99, p99_9, max, .. } = *latency;
            let [p50, p99, p99_9, max] = [p50, p99, p99_9, max].map(ms);
            writeln!(f, "{name:12} {count:>10} {p50:>10.2} {p99:>10.2} {p99_9:>10.2} {max:>10.2}")?;
        }
        writeln!(f, "rebalances   {:>10}", self.rebalances)?;
        for (name, count) in &self.errors {
            writeln!(f, "{name:40} {count}")?;
        }
        Ok(())
    }
}
