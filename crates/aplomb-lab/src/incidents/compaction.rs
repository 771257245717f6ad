//! The cleaner puts a compacted segment in the place of others, and syncs their directory under the
//! lock that an append needs.

use super::calm::nothing;
use super::{Action, Incident, Step, Whom};
use crate::evidence::signatures::Signature;
use crate::record::Role;
use crate::slow_disk::{Filesystem, Operation};

/// A directory is synced, and no file: XFS calls its log's function in place of its own for that,
/// which leaves the stack of a file's sync without the file's function.
const DIRECTORY: Signature = Signature::wait(
    "a background thread syncs a directory",
    &[Role::Disk],
    &[&["do_fsync", "__x64_sys_fsync"]],
)
.and_none_of(&["xfs_file_fsync", "file_write_and_wait_range"]);

/// A compacted topic that is cleaned all the time.
pub(super) fn incident() -> Incident {
    Incident {
        name: "compaction",
        causes: &["compaction"],
        title: "Compaction syncs a directory under the log's lock",
        explanation: "The load goes to a compacted topic with a thousand keys, as committed offsets go to __consumer_offsets: segments roll every second or \
            two, and the cleaner always has something to do. Writes take 300 ms, and so do directory syncs.\n\n\
            Apache Kafka's cleaner renames the segments that it has made, and syncs the directory, while it holds the lock of the log. A request \
            handler with records for that partition waits for the lock, and everybody else behind that handler. \
            The topics that this is known of, __consumer_offsets and __transaction_state, are written by coordinators, whose groups wait in the same \
            way.",
        filesystem: Filesystem::Xfs,
        settings: &[("log.cleaner.backoff.ms", "100")],
        configs: &[
            ("cleanup.policy", "compact"),
            ("min.cleanable.dirty.ratio", "0.01"),
            ("segment.ms", "2000"),
            ("segment.jitter.ms", "1500"),
        ],
        keys: Some(1_000),
        during: vec![Step::first(Action::slow(Operation::Write, 300))],
        disturbance: "writes and syncs take 300 ms",
        signatures: vec![DIRECTORY],
        hurts: Whom::Kafka,
        ..nothing()
    }
}
