//! Keys of quotas and throttles (Apache Kafka 4.4.0: `QuotaConfig`).

use super::super::key::{ConfigKey, config_keys};
use super::reasons::{ALONE, EVEN_MOVES, NO_CLASSES};

config_keys! {
    "alter.log.dirs.replication.quota.window.num": Int = "11", AtLeast(1), Low, ReadOnly, Unused(EVEN_MOVES);
        "Windows that the quota for moves between log directories is measured over.";
    "alter.log.dirs.replication.quota.window.size.seconds": Int = "1", AtLeast(1), Low, ReadOnly, Unused(EVEN_MOVES);
        "Seconds of one such window.";
    "client.quota.callback.class": Class = null, Any, Low, ReadOnly, Refused(NO_CLASSES);
        "A Java class that decides on client quotas.";
    "controller.quota.window.num": Int = "11", AtLeast(1), Low, ReadOnly, Used("quotas.mutations");
        "Windows that the quota for topic and partition changes is measured over.";
    "controller.quota.window.size.seconds": Int = "1", AtLeast(1), Low, ReadOnly, Used("quotas.mutations");
        "Seconds of one such window.";
    "quota.window.num": Int = "11", AtLeast(1), Low, ReadOnly, Used("quotas.clients");
        "Windows that client quotas are measured over.";
    "quota.window.size.seconds": Int = "1", AtLeast(1), Low, ReadOnly, Used("quotas.clients");
        "Seconds of one such window.";
    "replication.quota.window.num": Int = "11", AtLeast(1), Low, ReadOnly, Unused(ALONE);
        "Windows that replication quotas are measured over.";
    "replication.quota.window.size.seconds": Int = "1", AtLeast(1), Low, ReadOnly, Unused(ALONE);
        "Seconds of one such window.";
}
