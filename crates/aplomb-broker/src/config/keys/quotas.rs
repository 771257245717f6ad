//! Keys of quotas and throttles (Apache Kafka 4.4.0: `QuotaConfig`).

use super::super::key::{ConfigKey, config_keys};
use super::reasons::{NO_CLASSES, NO_QUOTAS};

config_keys! {
    "alter.log.dirs.replication.quota.window.num": Int = "11", AtLeast(1), Low, ReadOnly, Unused(NO_QUOTAS);
        "";
    "alter.log.dirs.replication.quota.window.size.seconds": Int = "1", AtLeast(1), Low, ReadOnly, Unused(NO_QUOTAS);
        "";
    "client.quota.callback.class": Class = null, Any, Low, ReadOnly, Refused(NO_CLASSES);
        "";
    "controller.quota.window.num": Int = "11", AtLeast(1), Low, ReadOnly, Unused(NO_QUOTAS);
        "";
    "controller.quota.window.size.seconds": Int = "1", AtLeast(1), Low, ReadOnly, Unused(NO_QUOTAS);
        "";
    "quota.window.num": Int = "11", AtLeast(1), Low, ReadOnly, Unused(NO_QUOTAS);
        "";
    "quota.window.size.seconds": Int = "1", AtLeast(1), Low, ReadOnly, Unused(NO_QUOTAS);
        "";
    "replication.quota.window.num": Int = "11", AtLeast(1), Low, ReadOnly, Unused(NO_QUOTAS);
        "";
    "replication.quota.window.size.seconds": Int = "1", AtLeast(1), Low, ReadOnly, Unused(NO_QUOTAS);
        "";
}
