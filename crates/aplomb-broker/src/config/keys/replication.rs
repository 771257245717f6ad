//! Keys of replication between brokers (Apache Kafka 4.4.0: `ReplicationConfigs`).

use super::super::key::{ConfigKey, config_keys};
use super::reasons::{ALONE, WITH_RECOVERY_POINTS};

config_keys! {
    "auto.leader.rebalance.enable": Boolean = "true", Any, High, ReadOnly, Unused(ALONE);
        "Whether leadership returns to preferred replicas by itself.";
    "follower.fetch.last.tiered.offset.enable": Boolean = "false", Any, Medium, ClusterWide, Unused(ALONE);
        "Whether an empty follower starts at the tiered end of a log.";
    "follower.replication.throttled.rate": Long = "9223372036854775807", AtLeast(0), Medium, ClusterWide, Unused(ALONE);
        "Bytes in a second that a follower fetches for throttled replicas.";
    "leader.imbalance.check.interval.seconds": Long = "300", AtLeast(1), High, ReadOnly, Unused(ALONE);
        "How often the balance of leaders is looked at.";
    "leader.replication.throttled.rate": Long = "9223372036854775807", AtLeast(0), Medium, ClusterWide, Unused(ALONE);
        "Bytes in a second that a leader sends for throttled replicas.";
    "num.replica.alter.log.dirs.threads": Int = null, Any, High, ReadOnly, Unused(ALONE);
        "Threads that move replicas between directories.";
    "num.replica.fetchers": Int = "1", AtLeast(1), High, ClusterWide, Unused(ALONE);
        "Connections to each leader that replicas are fetched by.";
    "replica.alter.log.dirs.io.max.bytes.per.second": Long = "9223372036854775807", AtLeast(0), Medium, ClusterWide, Used("storage.move_rate");
        "Bytes in a second for moving replicas between directories.";
    "replica.fetch.backoff.ms": Int = "1000", AtLeast(0), Medium, ReadOnly, Unused(ALONE);
        "How long a follower waits after an error, in milliseconds.";
    "replica.fetch.max.bytes": Int = "1048576", AtLeast(0), Medium, ReadOnly, Unused(ALONE);
        "Bytes of one partition in a follower's fetch.";
    "replica.fetch.min.bytes": Int = "1", Any, High, ReadOnly, Unused(ALONE);
        "Bytes that a follower's fetch waits for.";
    "replica.fetch.response.max.bytes": Int = "10485760", AtLeast(0), Medium, ReadOnly, Unused(ALONE);
        "Bytes of a whole answer to a follower.";
    "replica.fetch.wait.max.ms": Int = "500", Any, High, ReadOnly, Unused(ALONE);
        "How long a follower's fetch waits, in milliseconds.";
    "replica.high.watermark.checkpoint.interval.ms": Long = "5000", Any, High, ReadOnly, Unused(WITH_RECOVERY_POINTS);
        "How often high watermarks are written, in milliseconds.";
    "replica.lag.time.max.ms": Long = "30000", Any, High, ReadOnly, Unused(ALONE);
        "How long a follower may lag before it leaves the in-sync replicas.";
    "replica.selector.class": Text = null, Any, Medium, ReadOnly, Unused(ALONE);
        "A Java class that chooses the replica that a consumer reads from.";
    "replica.socket.receive.buffer.bytes": Int = "65536", Any, High, ReadOnly, Unused(ALONE);
        "The SO_RCVBUF of a follower's sockets.";
    "replica.socket.timeout.ms": Int = "30000", Any, High, ReadOnly, Unused(ALONE);
        "How long a follower waits for its leader, in milliseconds.";
    "unclean.leader.election.enable": Boolean = "false", Any, High, ClusterWide, Unused(ALONE);
        "Whether a replica that lacks acknowledged records may become leader.";
}
