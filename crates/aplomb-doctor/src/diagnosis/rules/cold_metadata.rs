//! A write reads its file's inode from the disk.

use crate::diagnosis::evidence::Evidence;
use crate::diagnosis::finding::{Finding, count, device_said, remedy, told};

/// What reads a buffer of metadata, or waits for a lock behind which another reads one.
const READS: [&str; 7] = [
    "xfs_buf_iowait",
    "xfs_buf_read_map",
    "xfs_buf_lock",
    "xfs_vn_update_time",
    "xfs_buffered_write_iomap_begin",
    "ext4_get_inode_loc",
    "__wait_on_buffer",
];
/// What shows that metadata comes from the device.
const FROM_THE_DEVICE: [&str; 4] =
    ["xfs_buf_iowait", "xfs_buf_read_map", "ext4_get_inode_loc", "__wait_on_buffer"];
/// What needs it.
const WRITES: [&str; 6] = [
    "xfs_file_buffered_write",
    "xfs_vn_update_time",
    "ext4_buffered_write_iter",
    "vfs_write",
    "touch_atime",
    "file_update_time_flags",
];

pub(super) fn rule(evidence: &Evidence<'_>) -> Option<Finding> {
    let waits = evidence.waits(|seen| seen.carries_requests() && seen.has(&READS) && seen.has(&WRITES));
    if waits.is_empty() {
        return None;
    }
    let device = waits.paths().first().and_then(|path| device_said(evidence, path, &waits.spans()));
    let mut evidence_for = vec![told(&waits, "waited for metadata of a file within a write")];
    let reads = evidence.waits(|seen| seen.has(&FROM_THE_DEVICE));
    let meanwhile = reads.spans().within(&waits.spans());
    if !meanwhile.is_empty() {
        evidence_for.push(told(&reads, "read metadata of the filesystem from the device"));
    }
    let ground = !meanwhile.is_empty();
    evidence_for.extend(device);
    Some(Finding {
        name: "cold-metadata",
        explained: waits.spans(),
        ground,
        waited: true,
        summary: format!(
            "Appends of {} read their files' inodes from the disk",
            count(waits.threads().len(), "request thread")
        ),
        evidence: evidence_for,
        against: Vec::new(),
        mechanism: "A plain write updates the file's time stamp. XFS reads the inode's buffer to log that, and \
            the kernel may have forgotten it: under pressure, or after a walk over many files. The append \
            waits for the read, and others for the file's lock behind it.",
        remedy: vec![
            remedy("vm.vfs_cache_pressure=20, so that inodes are kept longer", "memory for them"),
            remedy(
                "without drop_caches, and without scans of the whole filesystem (updatedb, backups)",
                "none",
            ),
        ],
        threads: waits.threads(),
        absorbs: &["inode-lock", "journal"],
        ..Finding::default()
    })
}
