//! Keys of subscriptions to clients' metrics (Apache Kafka 4.4.0: `ClientMetricsConfigs`, KIP-714).
//! They are kept and shown; no client is asked for metrics, since GetTelemetrySubscriptions is not
//! served.

use super::super::key::{ConfigKey, config_keys};
use super::reasons::NO_TELEMETRY;

config_keys! {
    "interval.ms": Int = "300000", Any, Medium, ClusterWide, Unused(NO_TELEMETRY);
        "Milliseconds between two reports of a client.";
    "match": List = "", Distinct, Medium, ClusterWide, Unused(NO_TELEMETRY);
        "Which clients the subscription is for, as name=pattern; none means all.";
    "metrics": List = "", Distinct, Medium, ClusterWide, Unused(NO_TELEMETRY);
        "The metrics that are wanted, by the beginnings of their names; * means all.";
}
