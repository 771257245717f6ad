//! A broker whose memory group has no more room: who allocates frees, and who frees waits for the
//! disk.

use super::calm::nothing;
use super::dirty_limit::HELD_UP;
use super::{Action, Incident, Step, Whom};
use crate::evidence::signatures::Signature;
use crate::record::Role;
use crate::slow_disk::{Filesystem, Operation};

/// On its way to a page of its own a thread waits for pages of others to be written.
const FREES: Signature = Signature::wait(
    "a thread frees memory of the broker's group",
    &[Role::Request, Role::Network, Role::Collector, Role::Other],
    &[&["try_to_free_mem_cgroup_pages"]],
);

/// On ext4, whose writes may wait for other pages when they want one of their own. On XFS they may
/// not, and a group of version 1 that is full of pages under way to the disk refuses them instead.
pub(super) fn incident() -> Incident {
    Incident {
        name: "cgroup-reclaim",
        causes: &["cgroup-reclaim"],
        title: "A container's page cache is full",
        explanation: "The broker runs in a memory group, as in a container, and the group's limit leaves its page cache 16 MiB beside what the broker itself \
            takes. Writes take 300 ms.\n\n\
            Who needs a page when the group is full frees one in the same call: an append to a file, but also a thread whose heap grows, a collector's \
            thread within a pause, a network thread that registers a connection. Pages that are dirty have to be written before, and the thread waits for \
            that itself. The disk is ext4, so the journal has its part in the figures (see journal); who waits for memory is seen in the stacks.",
        filesystem: Filesystem::Ext4,
        during: vec![
            Step::first(Action::RoomForPages(16 << 20)),
            Step::first(Action::slow(Operation::Write, 300)),
        ],
        disturbance: "writes take 300 ms, and the broker's page cache has room for a few MiB",
        signatures: vec![FREES, HELD_UP],
        hurts: Whom::Kafka,
        ..nothing()
    }
}
