//! A lagging consumer reads the segments that are being appended to, and XFS takes the inode's lock
//! for both.

use super::calm::{in_the_loads_topic, nothing};
use super::{Action, Incident, LOAD, Step, Whom};
use crate::evidence::signatures::Signature;
use crate::record::Role;
use crate::slow_disk::{Filesystem, Operation};

/// A network thread reads from the disk for one connection, and its others wait.
pub(super) const SENDFILE: Signature = Signature::wait(
    "a network thread reads from the disk in sendfile",
    &[Role::Network],
    &[
        &["filemap_get_pages", "filemap_update_page", "folio_wait_bit_common"],
        &["filemap_splice_read"],
        &["do_sendfile"],
    ],
);

const APPEND: Signature = Signature::wait(
    "a request handler waits for the inode that a reader holds",
    &[Role::Request],
    &[
        &["xfs_ilock", "xfs_ilock_for_iomap", "xfs_ilock_iocb"],
        &["xfs_file_buffered_write", "xfs_file_write_iter"],
    ],
);

/// On XFS.
pub(super) fn incident() -> Incident {
    Incident {
        name: "inode-lock",
        causes: &["inode-lock"],
        title: "A lagging reader holds the inode that an append needs",
        explanation: "A consumer reads a topic from the beginning, unthrottled, while producers append to it. Its segments are large, so that the file \
            that is read is the file that is appended to, and what is read is not in the page cache any more; a read takes 20 ms.\n\n\
            XFS takes the inode's lock shared for a buffered read or splice, and exclusively for a buffered write. A request handler that appends \
            waits until the reader's page has come; handlers queue on the partition's own lock behind it, and soon everybody waits. \
            LINE met this in 2022 and saw 600 ms at the 99th percentile.",
        filesystem: Filesystem::Xfs,
        history: vec![in_the_loads_topic(400)],
        before: vec![Action::Sync, Action::Evict(Some(LOAD))],
        during: vec![Step::first(Action::slow(Operation::Read, 20)), Step::first(Action::Lag(LOAD))],
        disturbance: "reads take 20 ms, and a consumer reads from the beginning",
        signatures: vec![APPEND, SENDFILE],
        hurts: Whom::Kafka,
        ..nothing()
    }
}

/// On ext4, which takes no such lock for a read: only what network threads do to each other's
/// connections remains.
pub(super) fn on_ext4() -> Incident {
    Incident {
        name: "inode-lock-ext4",
        causes: &["inode-lock-ext4"],
        title: "The same lagging reader, on ext4",
        explanation: "The counterpart of inode-lock: ext4 takes no lock of the inode for a buffered read, so no append waits for a reader. What is left \
            is the network thread that reads from the disk for one connection and cannot serve its others.",
        filesystem: Filesystem::Ext4,
        signatures: vec![SENDFILE],
        ..incident()
    }
}
