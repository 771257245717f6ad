//! A broker's own log on a slow disk: who writes a line waits for it.

use super::calm::nothing;
use super::journal::JOURNAL_LOCK;
use super::{Action, Incident, OnDisk, Step, Whom};
use crate::evidence::signatures::Signature;
use crate::record::Role;
use crate::slow_disk::{Filesystem, Operation};
use crate::workload::neighbour::Habit;

pub(super) fn incident() -> Incident {
    Incident {
        name: "own-log",
        causes: &["own-log"],
        title: "The broker's own log on a slow disk",
        explanation: "The records are on a disk that nobody disturbs. The broker's log is on an ext4 of its own, with a neighbour that appends and syncs; a \
            write takes a second there. Segments last a second or two, since Apache Kafka writes a line when one rolls.\n\n\
            The line is written by the request handler that appends, while it holds the log's lock.",
        filesystem: Filesystem::Ext4,
        on_disk: OnDisk::Logs,
        configs: &[("segment.ms", "2000"), ("segment.jitter.ms", "1500")],
        during: vec![
            Step::first(Action::Neighbour(Habit::Appends)),
            Step::first(Action::slow(Operation::Write, 1000)),
        ],
        disturbance: "writes take 1 s on the disk of the log",
        signatures: vec![Signature::wait(
            "a request handler waits for the journal to write a line",
            &[Role::Request],
            &[JOURNAL_LOCK, &["vfs_write", "ksys_write"]],
        )],
        hurts: Whom::Kafka,
        ..nothing()
    }
}
