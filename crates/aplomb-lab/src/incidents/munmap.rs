//! Deleted, still mapped index files.

use super::calm::nothing;
use super::page_fault::{FAULT, many_segments};
use super::{Action, Incident, OLD, Step, Whom};
use crate::disk::{Change, Delay, Filesystem, Operation};

pub(super) fn incident() -> Incident {
    Incident {
        name: "munmap",
        title: "Retention deletes mapped files",
        explanation: "An old topic of several hundred segments loses all but the last of them while reads take 500 ms and nothing of their metadata is in \
            memory.\n\n\
            Before 0.10.2 Apache Kafka left it to the collector to unmap a deleted index, and the kernel freed the file within the pause \
            (KAFKA-4614). That is mended; deletion still reads what it deletes, under locks that requests need, in every other run.",
        filesystem: Filesystem::Xfs,
        settings: &[("log.retention.check.interval.ms", "2000"), ("log.initial.task.delay.ms", "500")],
        history: vec![many_segments(OLD, 300)],
        before: vec![
            Action::Allocate(20_000_000),
            Action::Sync,
            Action::Evict(Some(OLD)),
            Action::PageOutIndexes,
        ],
        during: vec![
            Step::first(Action::Sync),
            Step::first(Action::PageOutIndexes),
            Step::first(Action::Disk(Change::Delay { operation: Operation::Read, delay: Delay::of(500) })),
            Step::first(Action::Retain { topic: OLD, bytes: 1 << 20 }),
        ],
        disturbance: "reads take 500 ms, and retention deletes hundreds of segments",
        signatures: vec![FAULT],
        hurts: Whom::KafkaBefore(4, 1),
        ..nothing()
    }
}
