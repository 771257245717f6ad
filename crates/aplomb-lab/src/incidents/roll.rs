//! What is synced when a segment rolls.

use super::calm::nothing;
use super::{Action, Incident, SMALL_SEGMENTS, Step, Whom};
use crate::evidence::signatures::Signature;
use crate::record::Role;
use crate::slow_disk::{Filesystem, Operation};

pub(super) fn incident() -> Incident {
    Incident {
        name: "roll",
        causes: &["roll"],
        title: "Flush and snapshot sync when a segment rolls",
        explanation: "Segments of 1 MiB, so that several roll every second, and writes that take 300 ms.\n\n\
            Apache Kafka before 3.7 synced the producer snapshot while it held the log's lock, within the append that rolled (KAFKA-9693); since then \
            it is done in the background.",
        filesystem: Filesystem::Xfs,
        configs: &[("segment.bytes", SMALL_SEGMENTS)],
        during: vec![Step::first(Action::slow(Operation::Write, 300))],
        disturbance: "writes take 300 ms",
        signatures: vec![Signature::wait(
            "a request handler syncs a file",
            &[Role::Request],
            &[
                &["xfs_file_fsync", "file_write_and_wait_range", "vfs_fsync_range"],
                &["do_fsync", "__x64_sys_fsync"],
            ],
        )],
        hurts: Whom::KafkaBefore(3, 7),
        ..nothing()
    }
}
