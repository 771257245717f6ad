//! Keys of metrics and telemetry (Apache Kafka 4.4.0: `MetricConfigs`).

use super::super::key::{ConfigKey, config_keys};
use super::reasons::NO_JVM;

config_keys! {
    "kafka.metrics.polling.interval.secs": Int = "10", AtLeast(1), Low, ReadOnly, Unused(NO_JVM);
        "";
    "kafka.metrics.reporters": List = "", Any, Low, ReadOnly, Unused(NO_JVM);
        "";
    "metric.reporters": List = "org.apache.kafka.common.metrics.JmxReporter", Any, Low, ClusterWide, Unused(NO_JVM);
        "";
    "metrics.num.samples": Int = "2", AtLeast(1), Low, ReadOnly, Unused(NO_JVM);
        "";
    "metrics.recording.level": Text = "INFO", Any, Low, ReadOnly, Unused(NO_JVM);
        "";
    "metrics.sample.window.ms": Long = "30000", AtLeast(1), Low, ReadOnly, Unused(NO_JVM);
        "";
    "telemetry.max.bytes": Int = "1048576", AtLeast(1), Low, ReadOnly, Unused(NO_JVM);
        "";
}
