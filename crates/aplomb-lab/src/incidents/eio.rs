//! The disk of one of two log directories answers with errors.

use super::calm::nothing;
use super::disk_full::OFFLINE;
use super::{Action, Aim, Incident, OnDisk, Step, Whom};
use crate::slow_disk::{Change, Filesystem, Operation};
use crate::workload::neighbour::Habit;

pub(super) fn incident() -> Incident {
    Incident {
        name: "eio",
        causes: &["eio"],
        title: "One of two log directories answers with errors",
        explanation: "Half of the partitions are in a log directory on XFS whose device ends every request with EIO; the other half is on a disk that nobody \
            disturbs. A neighbour that syncs has the filesystem notice at once; it shuts down, as XFS does when it cannot write its log.\n\n\
            The first error takes the directory offline, in either broker. The question is what that does to everybody else, so the latencies are those \
            of producers that write to the other directory alone.",
        aim: Aim::OneDirectory,
        filesystem: Filesystem::Xfs,
        on_disk: OnDisk::OneOfTwo,
        during: vec![
            Step::first(Action::Neighbour(Habit::Appends)),
            Step::first(Action::Disk(Change::Fail { operations: Operation::ALL.to_vec() })),
        ],
        disturbance: "one of two log directories fails",
        signatures: vec![OFFLINE],
        hurts: Whom::Kafka,
        ..nothing()
    }
}
