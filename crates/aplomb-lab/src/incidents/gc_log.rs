//! The collector writes its log in the pause, to a filesystem whose journal is slow.

use super::calm::nothing;
use super::{Action, Incident, OnDisk, Step, Whom};
use crate::evidence::signatures::{Mark, Signature};
use crate::record::Role;
use crate::slow_disk::{Filesystem, Operation};
use crate::workload::neighbour::Habit;

pub(super) fn incident() -> Incident {
    Incident {
        name: "gc-log",
        causes: &["gc-log"],
        title: "The collector's log on a slow journal",
        explanation: "The records are on a disk that nobody disturbs. On an ext4 of its own are the broker's log and the log of the JVM's collector, and a \
            neighbour that appends and syncs; a write takes a second there.\n\n\
            The JVM writes a line while all its threads stand. The write updates a time stamp whose block is in the journal's committing \
            transaction, and waits for it. LINE met this in 2019. -Xlog:async mends it, and Apache Kafka's start script does not set it.",
        filesystem: Filesystem::Ext4,
        on_disk: OnDisk::Logs,
        before: vec![Action::Allocate(80_000_000)],
        during: vec![
            Step::first(Action::Neighbour(Habit::Appends)),
            Step::first(Action::slow(Operation::Write, 1000)),
        ],
        disturbance: "writes take 1 s on the disk of the logs",
        signatures: vec![
            Signature::wait(
                "the JVM's own thread waits for the journal",
                &[Role::Collector],
                &[
                    &["do_get_write_access", "jbd2_journal_get_write_access", "start_this_handle"],
                    &["vfs_write", "ksys_write"],
                ],
            ),
            Signature { name: "the JVM's threads stand for long", mark: Mark::Pause(100.0) },
        ],
        hurts: Whom::Kafka,
        ..nothing()
    }
}
