//! How a broker that was killed came back.

use serde::{Deserialize, Serialize};

/// How a broker that was killed came back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recovery {
    /// When it was killed.
    pub killed_ms: f64,
    /// When it was started again.
    pub started_ms: f64,
    /// When it had named itself to clients again.
    pub answers_ms: f64,
    /// The first acknowledgement of a record after it was started again; `null` if there was none.
    pub acknowledged_ms: Option<f64>,
    /// Records that were acknowledged in the whole run, the warm-up included.
    pub acknowledged: u64,
    /// Of these, how many were not there when the topic was read back at the end.
    pub missing: u64,
    /// Of these, how many were there more than once.
    pub repeated: u64,
}

impl Recovery {
    /// From the kill to the first acknowledgement.
    #[must_use]
    pub fn away_ms(&self) -> Option<f64> {
        Some(self.acknowledged_ms? - self.killed_ms)
    }

    /// From the start to the first acknowledgement.
    #[must_use]
    pub fn starting_ms(&self) -> Option<f64> {
        Some(self.acknowledged_ms? - self.started_ms)
    }
}
