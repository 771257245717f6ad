//! Plain appends while ext4's journal commits.

use super::calm::nothing;
use super::{Action, Incident, Step, Whom};
use crate::evidence::signatures::Signature;
use crate::record::Role;
use crate::slow_disk::{Filesystem, Operation};

/// Where ext4 waits for the journal: for a block of the transaction that commits, or for room.
pub(super) const JOURNAL_LOCK: &[&str] = &[
    "do_get_write_access",
    "jbd2_journal_get_write_access",
    "start_this_handle",
    "wait_transaction_locked",
    "add_transaction_credits",
];

/// A request handler's write waits for the journal.
pub(super) const JOURNAL: Signature = Signature::wait(
    "a request handler's write waits for the journal",
    &[Role::Request],
    &[JOURNAL_LOCK, &["vfs_write", "ksys_write", "vfs_writev"]],
);

pub(super) fn incident() -> Incident {
    Incident {
        name: "journal",
        causes: &["journal"],
        title: "The journal commits",
        explanation: "Records on ext4, and writes that take 300 ms. Nothing else happens: the journal commits every five seconds, and whenever the \
            broker syncs a checkpoint.\n\n\
            A plain write to a file updates its time stamp. If the inode's block is part of the transaction that is being committed, the write \
            waits for the commit. Allegro wrote about it in 2024.",
        filesystem: Filesystem::Ext4,
        during: vec![Step::first(Action::slow(Operation::Write, 300))],
        disturbance: "writes take 300 ms",
        signatures: vec![JOURNAL],
        hurts: Whom::Kafka,
        ..nothing()
    }
}
