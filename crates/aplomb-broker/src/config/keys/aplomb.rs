//! Our own keys. Few, and all of them start with `aplomb.`.

use super::super::key::{ConfigKey, config_keys};

config_keys! {
    "aplomb.tail.dir": Text = "/dev/shm", NonEmpty, High, ReadOnly, Used("storage.tail_dir");
        "The directory for the tail: the end of every log, in memory. It must be on a memory filesystem.";
    "aplomb.tail.bytes": Long = "268435456", AtLeast(4194304), High, ReadOnly, Used("storage.tail_bytes");
        "Memory for what no disk has yet, shared by all disks, taken at start.";
    "aplomb.flush.interval.ms": Long = "1000", AtLeast(1), High, ReadOnly, Used("storage.flush_interval");
        "Milliseconds after which an acknowledged record has been synced, as long as the disk answers.";
    "aplomb.guard": Text = "log", OneOf(&["off", "log", "enforce"]), Medium, ReadOnly, Used("guard");
        "What happens when a request thread makes a system call that could wait for a disk: nothing, a log line, or an error.";
    "aplomb.stall.fence.ms": Long = "10000", AtLeast(1), Medium, ReadOnly, Used("storage.stall_fence");
        "Milliseconds without an answer after which a disk is reported as stalled.";
    "aplomb.shards": Int = null, Between(1, 1024), Medium, ReadOnly, Used("network.shards");
        "The number of event loops for clients, beside the one for the controller and for requests that take long. Unset: one for every two processors, and no more than num.network.threads where that is set.";
    "aplomb.disk.engine": Text = "auto", OneOf(&["auto", "io_uring", "threads"]), Low, ReadOnly, Used("storage.disk_engine");
        "How disks are spoken to.";
    "aplomb.readahead.bytes": Long = "33554432", AtLeast(0), Low, ReadOnly, Used("storage.readahead");
        "Memory for reading ahead of consumers that read old records, for each disk.";
    "aplomb.fetch.memory.bytes": Long = "67108864", AtLeast(0), Low, ReadOnly, Used("storage.fetch_memory");
        "Memory for records on their way to consumers that the tail does not hold for them, for each disk. Beyond it such fetches wait.";
    "aplomb.recovery.point.interval.ms": Long = "5000", AtLeast(1), Low, ReadOnly, Used("storage.recovery_point_checkpoint");
        "How often recovery points are written, in milliseconds: what lies behind them is not read at start.";
    "aplomb.groups.memory.bytes": Long = "268435456", AtLeast(1048576), Medium, ReadOnly, Used("groups.memory");
        "Memory for groups, their members and committed offsets. Beyond it new members are refused (COORDINATOR_NOT_AVAILABLE), and offsets of partitions that have none yet (INVALID_COMMIT_OFFSET_SIZE).";
    "aplomb.groups.rebalance.heartbeat.interval.ms": Int = "1000", AtLeast(0), Low, ReadOnly, Used("groups.settings.consumer.hurried_interval");
        "How often members of the consumer protocol are told to send heartbeats in the 15 seconds after their group has changed, if that is more often than usual: they learn by them what to give up and what they get. 0: as often as ever.";
    "aplomb.authentication.timeout.ms": Int = "30000", AtLeast(1), Low, ReadOnly, Used("security.patience");
        "Milliseconds that a client of a listener with SASL or TLS may take until it may ask: who is slower is closed.";
    "aplomb.frames.max.bytes": Long = "268435456", AtLeast(1048576), Medium, ReadOnly, Used("network.frames");
        "Memory for requests that are being read or answered. Beyond it the broker reads no more from sockets. An eighth of it is for requests of up to 64 KiB, and no connection begins a request while it holds an eighth.";
    "aplomb.frames.min.rate": Long = "65536", AtLeast(0), Low, ReadOnly, Used("network.min_frame_rate");
        "Bytes a second. While that memory is used up, connections are closed whose requests arrive more slowly, those that hold the most first. 0: none is.";
    "aplomb.produce.decompressed.max.bytes": Long = "268435456", AtLeast(1048576), Low, ReadOnly, Used("network.decompressed");
        "What the compressed batches of one produce request may stand for, in bytes, each in proportion to its size; each may stand for 256 times its size, up to this much. A batch that stands for more is refused.";
    "aplomb.produce.waiting.max.bytes": Long = "67108864", AtLeast(0), Low, ReadOnly, Used("storage.waiting");
        "Memory for batches that wait because a disk does not keep up and its share of the tail is full, for each disk. Beyond it batches are refused: producers are told when there is room, or within ten seconds, and try again.";
    "aplomb.replies.max.bytes": Long = "134217728", AtLeast(1048576), Medium, ReadOnly, Used("network.replies");
        "Memory for replies that clients have not taken, records not counted. Beyond it no request is taken up from a client that owes any, and those that take theirs the slowest are closed.";
    "aplomb.fetch.partitions.max": Int = "500000", AtLeast(1000), Medium, ReadOnly, Used("network.fetch_partitions");
        "Partitions that fetch sessions may know, and as many that requests may wait for. Beyond it there are no new sessions, and a fetch is answered at once with what there is.";
    "aplomb.metrics.listener": Text = null, NonEmpty, Low, ReadOnly, Used("network.metrics_listener");
        "Where numbers for Prometheus are served, as host:port, at /metrics. Unset: nowhere.";
    "aplomb.metrics.groups.max": Int = "1000", AtLeast(0), Low, ReadOnly, Used("network.shown_groups");
        "How many consumer groups have their members, committed offsets and lag at /metrics, with 8 KiB for each, in which names and offsets count. Those beyond are left out and counted. 0: none has.";
    "aplomb.slow.request.ms": Long = null, AtLeast(1), Low, ReadOnly, Used("network.slow_request");
        "Milliseconds from which on a request is slow: /slow and `aplomb doctor slow` say what it waited for. What its client asked it to wait for is not counted. Unset: slower than 999 of 1000 requests of its kind lately, and than 20 ms; more than a second always is.";
    "aplomb.transactions.memory.bytes": Long = "67108864", AtLeast(1048576), Medium, ReadOnly, Used("transactions.memory");
        "Memory for transactional ids and the partitions in their transactions. Beyond it new ids are refused, and partitions that are to be added (COORDINATOR_NOT_AVAILABLE).";
    "aplomb.audit.grants": Boolean = "false", Any, Low, ReadOnly, Used("access.audits_grants");
        "Whether the audit log has what is allowed, too, and not only what is denied.";
}
