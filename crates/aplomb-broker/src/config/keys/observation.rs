//! Keys of metrics and telemetry (Apache Kafka 4.4.0: `MetricConfigs`).

use super::super::key::{ConfigKey, config_keys};
use super::reasons::NO_JVM;

config_keys! {
    "kafka.metrics.polling.interval.secs": Int = "10", AtLeast(1), Low, ReadOnly, Unused(NO_JVM);
        "How often Java metrics reporters of the older kind report, in seconds.";
    "kafka.metrics.reporters": List = "", Any, Low, ReadOnly, Unused(NO_JVM);
        "Java metrics reporters of the older kind.";
    "metric.reporters": List = "org.apache.kafka.common.metrics.JmxReporter", Any, Low, ClusterWide, Unused(NO_JVM);
        "Java classes that report metrics.";
    "metrics.num.samples": Int = "2", AtLeast(1), Low, ReadOnly, Unused(NO_JVM);
        "Samples that a metric of a Java broker is computed from.";
    "metrics.recording.level": Text = "INFO", Any, Low, ReadOnly, Unused(NO_JVM);
        "Which metrics a Java broker records: INFO, DEBUG or TRACE.";
    "metrics.sample.window.ms": Long = "30000", AtLeast(1), Low, ReadOnly, Unused(NO_JVM);
        "Milliseconds of one sample of a Java broker's metrics.";
    "telemetry.max.bytes": Int = "1048576", AtLeast(1), Low, ReadOnly, Unused(NO_JVM);
        "The most bytes of one report that a client pushes.";
}
