//! The filesystem of one of two log directories fills up.

use super::calm::nothing;
use super::{Action, Aim, Incident, OnDisk, Step, Whom};
use crate::evidence::signatures::{Mark, Signature};
use crate::slow_disk::Filesystem;

/// The broker says that it goes on without a log directory: Apache Kafka's words
/// (`LogManager.handleLogDirFailure`), and Aplomb's.
pub(super) const OFFLINE: Signature = Signature {
    name: "the log directory goes offline",
    mark: Mark::LogLine(&[&["Stopping serving logs in dir"], &["log directory", "is offline"]]),
};

pub(super) fn incident() -> Incident {
    Incident {
        name: "disk-full",
        causes: &["disk-full"],
        title: "One of two log directories is full",
        explanation: "Half of the partitions are in a log directory on a filesystem that somebody else fills but for a megabyte; the other half is on a disk \
            that nobody disturbs.\n\n\
            A log that cannot grow takes its directory offline, in either broker: its partitions answer with an error until the disk has room and the broker \
            was started again. Before XFS says that there is no room it writes back whatever it can, and in Apache Kafka it is a request handler that waits \
            for that. The question is what that does to everybody else, so the latencies are those of producers that write to the other \
            directory alone.",
        aim: Aim::OneDirectory,
        filesystem: Filesystem::Xfs,
        on_disk: OnDisk::OneOfTwo,
        during: vec![Step::first(Action::Fill { leave: 1 << 20 })],
        disturbance: "one of two log directories is full",
        signatures: vec![OFFLINE],
        hurts: Whom::Kafka,
        ..nothing()
    }
}
