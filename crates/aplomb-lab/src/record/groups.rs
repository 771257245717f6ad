//! What a run has done to consumer groups beside the producers.
//!
//! What always holds: a rebalance, and a time without owners, belong to the part of the run in
//! which they began; a heartbeat and a commit to that in which they were due. Only groups that were
//! stable before the run are in the figures.

use serde::{Deserialize, Serialize};

use super::Percentiles;

/// The consumer groups of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Groups {
    /// Where the partitions of their coordinators lie, in a few words.
    pub placed: String,
    /// By protocol.
    pub loads: Vec<GroupsOf>,
    /// Of all protocols together; `null` if there were no groups of any.
    pub figures: Option<GroupFigures>,
}

/// The groups of one protocol.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupsOf {
    /// `classic`, or `consumer` (KIP-848).
    pub protocol: String,
    /// How many groups.
    pub groups: u64,
    /// Members of each.
    pub members: u64,
    /// The time without a heartbeat after which a member is given up, as it was asked for.
    pub session_timeout_ms: u64,
    /// Between two heartbeats of a member.
    pub heartbeat_interval_ms: u64,
    /// Between two commits of a member.
    pub commit_interval_ms: u64,
    /// Why there are no figures; empty where there are.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub lacks: String,
    /// What became of them.
    pub figures: Option<GroupFigures>,
}

/// What became of groups, by phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupFigures {
    /// Before the disturbance.
    pub calm: GroupPhase,
    /// From its beginning to its end.
    pub during: GroupPhase,
    /// From its end to the end of the run.
    pub after: GroupPhase,
}

/// What became of groups in one phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupPhase {
    /// Of groups that had been stable, by when each began.
    pub rebalances: u64,
    /// The longest time for which partitions of a group had no owner, as its members know it.
    pub longest_unowned_ms: f64,
    /// The sum of those times over all groups.
    pub unowned_ms: f64,
    /// How many were due.
    pub heartbeats: u64,
    /// Of these, answered with an error or not at all.
    pub failed_heartbeats: u64,
    /// How many were due, each of all partitions of a member.
    pub commits: u64,
    /// Of these, answered with an error or not at all.
    pub failed_commits: u64,
    /// From when a heartbeat was due to its answer.
    pub heartbeat: Option<Percentiles>,
    /// From when a commit was due to its answer.
    pub commit: Option<Percentiles>,
}

impl GroupFigures {
    /// How many times larger p99.9 of commits was during the disturbance than before it.
    #[must_use]
    pub fn commits_rose(&self) -> Option<f64> {
        let (calm, during) = (self.calm.commit?, self.during.commit?);
        Some(during.p999_us as f64 / calm.p999_us.max(1) as f64)
    }

    /// Rebalances from the beginning of the disturbance on.
    #[must_use]
    pub fn caused(&self) -> u64 {
        self.during.rebalances + self.after.rebalances
    }

    /// The longest time without owners from then on.
    #[must_use]
    pub fn longest_unowned_ms(&self) -> f64 {
        self.during.longest_unowned_ms.max(self.after.longest_unowned_ms)
    }
}
