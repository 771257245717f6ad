//! Deleted, still mapped index files.

use super::calm::nothing;
use super::page_fault::{FAULT, cold_indexes, many_segments, slow_lookups};
use super::{Action, Incident, OLD, Whom};
use crate::slow_disk::Filesystem;

pub(super) fn incident() -> Incident {
    Incident {
        name: "munmap",
        causes: &["munmap", "page-fault"],
        title: "Retention deletes mapped files",
        explanation: "An old topic of several hundred segments loses all but the last of them while reads take 500 ms and nothing of their metadata is in \
            memory.\n\n\
            Before 0.10.2 Apache Kafka left it to the collector to unmap a deleted index, and the kernel freed the file within the pause \
            (KAFKA-4614). That is mended; deletion still reads what it deletes, under locks that requests need, in every other run.",
        filesystem: Filesystem::Xfs,
        settings: &[("log.retention.check.interval.ms", "2000"), ("log.initial.task.delay.ms", "500")],
        history: vec![many_segments(OLD, 300)],
        before: cold_indexes(),
        during: slow_lookups(Action::Retain { topic: OLD, bytes: 1 << 20 }),
        disturbance: "reads take 500 ms, and retention deletes hundreds of segments",
        signatures: vec![FAULT],
        hurts: Whom::KafkaAtTimes,
        ..nothing()
    }
}
