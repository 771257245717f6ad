//! What a broker counts of its own requests.

use serde::{Deserialize, Serialize};

/// Requests of one kind that came through one of their stages since the row before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StageSample {
    /// When the broker was asked.
    pub at_ms: f64,
    /// Kafka's name of the request, `Produce`.
    pub request: String,
    /// Kafka's name of the stage, `LocalTimeMs`.
    pub stage: String,
    /// How many requests.
    pub count: u64,
    /// How long these spent in it together.
    pub total_ms: f64,
}
