//! An append that reads its inode from the disk to write a time stamp.

use super::calm::nothing;
use super::{Action, Incident, Step, Whom};
use crate::conditions::Caches;
use crate::evidence::signatures::Signature;
use crate::record::Role;
use crate::slow_disk::{Filesystem, Operation};

pub(super) fn incident() -> Incident {
    let forget = |share| {
        [Action::Sync, Action::DropCaches(Caches::Metadata)]
            .map(|action| Step::at(share, std::time::Duration::ZERO, action))
    };
    let slow = Action::slow(Operation::Read, 300);
    let mut during = vec![Step::first(slow)];
    during.extend(forget(0.1));
    during.extend(forget(0.6));
    Incident {
        name: "cold-metadata",
        causes: &["cold-metadata"],
        title: "Cold metadata",
        explanation: "A read takes 300 ms, and once or twice the kernel forgets the buffers with inodes, as it does when something else on the machine walks \
            over many files.\n\n\
            A plain write updates the file's time stamp, and XFS reads the inode's buffer from the disk to log that. Found on the way, in 2026.",
        filesystem: Filesystem::Xfs,
        during,
        disturbance: "reads take 300 ms, and the kernel forgets inodes",
        signatures: vec![Signature::wait(
            "a request handler's write waits for metadata of its file",
            &[Role::Request],
            &[
                &[
                    "xfs_buf_iowait",
                    "xfs_buf_read_map",
                    "xfs_vn_update_time",
                    "xfs_buffered_write_iomap_begin",
                ],
                &["xfs_file_buffered_write"],
                &["vfs_write", "ksys_write", "vfs_writev"],
            ],
        )],
        hurts: Whom::Kafka,
        ..nothing()
    }
}
