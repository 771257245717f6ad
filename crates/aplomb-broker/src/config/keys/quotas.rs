//! Keys of quotas and throttles (Apache Kafka 4.4.0: `QuotaConfig`).

use super::super::key::{ConfigKey, config_keys};
use super::reasons::{NO_CLASSES, NO_QUOTAS};

config_keys! {
    "alter.log.dirs.replication.quota.window.num": Int = "11", AtLeast(1), Low, ReadOnly, Unused(NO_QUOTAS);
        "Windows that the quota for moves between log directories is measured over.";
    "alter.log.dirs.replication.quota.window.size.seconds": Int = "1", AtLeast(1), Low, ReadOnly, Unused(NO_QUOTAS);
        "Seconds of one such window.";
    "client.quota.callback.class": Class = null, Any, Low, ReadOnly, Refused(NO_CLASSES);
        "A Java class that decides on client quotas.";
    "controller.quota.window.num": Int = "11", AtLeast(1), Low, ReadOnly, Unused(NO_QUOTAS);
        "Windows that the quota for topic and partition changes is measured over.";
    "controller.quota.window.size.seconds": Int = "1", AtLeast(1), Low, ReadOnly, Unused(NO_QUOTAS);
        "Seconds of one such window.";
    "quota.window.num": Int = "11", AtLeast(1), Low, ReadOnly, Unused(NO_QUOTAS);
        "Windows that client quotas are measured over.";
    "quota.window.size.seconds": Int = "1", AtLeast(1), Low, ReadOnly, Unused(NO_QUOTAS);
        "Seconds of one such window.";
    "replication.quota.window.num": Int = "11", AtLeast(1), Low, ReadOnly, Unused(NO_QUOTAS);
        "Windows that replication quotas are measured over.";
    "replication.quota.window.size.seconds": Int = "1", AtLeast(1), Low, ReadOnly, Unused(NO_QUOTAS);
        "Seconds of one such window.";
}
