//! What a thread waits in, by the kernel's functions on its stack.
//!
//! Functions come in the order in which one was called by the next, the innermost first, and others
//! may lie between. Their names differ between kernels where a compiler has cloned or inlined them,
//! so a row asks for few, each by one or several names; a clone's ending (`.isra.0`) does not
//! matter. The first row that fits counts. Seen on Linux 6.18; what is older is in brackets of the
//! same step.

use crate::recording::WaitClass;

/// One step of a row: any of these functions will do.
type Step = &'static [&'static str];

/// Rows, the more particular before the more general.
const ROWS: &[(WaitClass, &[Step])] = &[
    // Freeing memory comes before what the memory is wanted for.
    (
        WaitClass::Reclaim,
        &[&[
            "try_to_free_mem_cgroup_pages",
            "try_to_free_pages",
            "reclaim_throttle",
            "shrink_lruvec",
            "mem_cgroup_handle_over_high",
            "try_to_compact_pages",
        ]],
    ),
    (WaitClass::DirtyLimit, &[&["balance_dirty_pages", "balance_dirty_pages_ratelimited_flags"]]),
    // A fault that has to write or read a page; what a filesystem does for it is below.
    (
        WaitClass::Fault,
        &[
            &["filemap_fault", "do_swap_page", "__do_fault", "do_page_mkwrite", "filemap_map_pages"],
            &["asm_exc_page_fault", "handle_mm_fault", "el0_da", "do_mem_abort"],
        ],
    ),
    (
        WaitClass::Journal,
        &[&[
            "do_get_write_access",
            "jbd2_journal_get_write_access",
            "start_this_handle",
            "wait_transaction_locked",
            "add_transaction_credits",
            "jbd2_log_wait_commit",
            "jbd2_journal_commit_transaction",
            "__jbd2_log_wait_for_space",
        ]],
    ),
    (
        WaitClass::Sync,
        &[&[
            "do_fsync",
            "__x64_sys_fsync",
            "__x64_sys_fdatasync",
            "__arm64_sys_fsync",
            "__do_sys_msync",
            "vfs_fsync_range",
            "ksys_sync_file_range",
            "do_syncfs",
            "__do_sys_syncfs",
        ]],
    ),
    (
        WaitClass::Metadata,
        &[&[
            "xfs_buf_iowait",
            "xfs_buf_read_map",
            "xfs_buf_lock",
            // Behind the inode's inner lock, which a worker holds that changes the file's size.
            "xfs_vn_update_time",
            "xfs_setfilesize",
            "xfs_buffered_write_iomap_begin",
            "xlog_wait_on_iclog",
            "xlog_grant_head_wait",
            "xfs_inactive",
            "do_unlinkat",
            "do_filp_open",
            "do_renameat2",
            "do_rmdir",
            "do_mkdirat",
            "do_ftruncate",
            "do_sys_ftruncate",
            "do_truncate",
            "ext4_evict_inode",
            "ext4_da_get_block_prep",
            "ext4_read_inode_bitmap",
            "__ext4_new_inode",
            "lookup_slow",
            "iterate_dir",
        ]],
    ),
    // A file's lock, taken by a call that reads or writes it.
    (
        WaitClass::Inode,
        &[
            &[
                "xfs_ilock",
                "xfs_ilock_for_iomap",
                "xfs_ilock_iocb",
                "rwsem_down_write_slowpath",
                "rwsem_down_read_slowpath",
                "down_write",
                "down_read",
            ],
            &[
                "xfs_file_buffered_write",
                "xfs_file_write_iter",
                "xfs_file_buffered_read",
                "xfs_file_splice_read",
                "xfs_file_read_iter",
                "ext4_buffered_write_iter",
                "ext4_file_write_iter",
                "btrfs_buffered_write",
                "generic_file_write_iter",
                "vfs_write",
                "vfs_read",
            ],
        ],
    ),
    (
        WaitClass::Page,
        &[&[
            "folio_wait_bit_common",
            "filemap_get_pages",
            "filemap_update_page",
            "filemap_read",
            "folio_wait_writeback",
            "__folio_lock",
            "wait_on_page_bit",
            "generic_file_buffered_read",
            "__flush_work",
        ]],
    ),
    (
        WaitClass::Device,
        &[&[
            "rq_qos_wait",
            "blk_mq_get_tag",
            "submit_bio_wait",
            "io_schedule",
            "blkdev_issue_flush",
            // An ext4 with little room left writes all dirty pages before a write goes on.
            "try_to_writeback_inodes_sb",
        ]],
    ),
    (WaitClass::Socket, &[&["sk_stream_wait_memory", "tcp_sendmsg_locked", "sk_wait_data"]]),
    (WaitClass::Lock, &[&["futex_wait_queue", "futex_wait", "futex_wait_queue_me"]]),
];

/// What the thread waits in.
#[must_use]
pub fn class_of(stack: &[String]) -> WaitClass {
    let row = ROWS.iter().find(|(_, steps)| fits(stack, steps));
    row.map_or(WaitClass::Other, |(class, _)| *class)
}

/// Whether these functions are on the stack, in this order.
#[must_use]
pub fn fits(stack: &[String], steps: &[&[&str]]) -> bool {
    let mut frames = stack.iter();
    steps.iter().all(|names| frames.any(|frame| names.iter().any(|name| is(frame, name))))
}

/// Whether any of these functions is on the stack.
#[must_use]
pub fn has(stack: &[String], names: &[&str]) -> bool {
    stack.iter().any(|frame| names.iter().any(|name| is(frame, name)))
}

/// Whether a frame is this function, or a clone of it.
fn is(frame: &str, name: &str) -> bool {
    frame.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The functions of `/proc/PID/stack`, the innermost first, without addresses, offsets and modules.
#[must_use]
pub fn functions(text: &str) -> Vec<String> {
    let function = |line: &str| {
        let name = line.trim().split_once("] ").map_or(line.trim(), |(_, rest)| rest);
        name.split('+').next().unwrap_or(name).to_owned()
    };
    text.lines().map(function).filter(|name| !name.is_empty() && name != "0xffffffffffffffff").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(frames: &str) -> Vec<String> {
        frames.split(" < ").map(str::to_owned).collect()
    }

    #[test]
    fn a_stack_is_its_functions() {
        let text = "[<0>] xfs_ilock+0x3c/0x100 [xfs]\n[<0>] vfs_write+0x1b/0x430\n[<0>] do_sys\n";
        assert_eq!(functions(text), ["xfs_ilock", "vfs_write", "do_sys"]);
        assert!(functions("").is_empty());
    }

    #[test]
    fn stacks_of_the_incidents_are_told_apart() {
        for (class, frames) in [
            (
                WaitClass::Inode,
                "rwsem_down_write_slowpath < down_write < xfs_ilock < xfs_file_buffered_write < vfs_write",
            ),
            (
                WaitClass::Page,
                "folio_wait_bit_common < filemap_get_pages < filemap_splice_read < xfs_file_splice_read < \
                 splice_direct_to_actor < do_sendfile",
            ),
            (
                WaitClass::Fault,
                "folio_wait_bit_common < filemap_fault < __do_fault < do_read_fault < handle_mm_fault < \
                 exc_page_fault < asm_exc_page_fault",
            ),
            (
                WaitClass::Fault,
                "__folio_lock < iomap_page_mkwrite < __xfs_write_fault < do_page_mkwrite < do_wp_page < \
                 handle_mm_fault < asm_exc_page_fault",
            ),
            (
                WaitClass::Journal,
                "do_get_write_access < jbd2_journal_get_write_access < ext4_reserve_inode_write < \
                 ext4_dirty_inode < file_update_time_flags < ext4_buffered_write_iter < vfs_write",
            ),
            (WaitClass::DirtyLimit, "balance_dirty_pages.isra.0 < iomap_file_buffered_write < vfs_write"),
            (
                WaitClass::Reclaim,
                "reclaim_throttle < shrink_lruvec < try_to_free_mem_cgroup_pages < try_charge_memcg < \
                 vfs_write",
            ),
            (
                WaitClass::Metadata,
                "xfs_buf_iowait < xfs_buf_read_map < xfs_vn_update_time < xfs_file_buffered_write < vfs_write",
            ),
            (WaitClass::Sync, "folio_wait_writeback < xfs_file_fsync < do_fsync"),
            (WaitClass::Device, "rq_qos_wait < wbt_wait < blk_mq_submit_bio"),
            (
                WaitClass::Device,
                "wb_wait_for_completion < __writeback_inodes_sb_nr < try_to_writeback_inodes_sb < \
                 ext4_nonda_switch < ext4_da_write_begin < ext4_buffered_write_iter < vfs_write",
            ),
            (WaitClass::Other, "do_nanosleep"),
        ] {
            assert_eq!(class_of(&stack(frames)), class, "{frames}");
        }
    }

    #[test]
    fn a_function_is_its_clones_and_nothing_longer() {
        assert!(has(&stack("a < b.constprop.0"), &["b"]));
        assert!(!has(&stack("a < b_nowait"), &["b"]));
        assert!(fits(&stack("a < x < b"), &[&["a"], &["b"]]));
        assert!(!fits(&stack("b < a"), &[&["a"], &["b"]]));
    }
}
