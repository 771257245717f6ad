//! One story for each cause, with the look-alikes beside it.

use super::story::{
    ANOTHER_HANDLER, CLEANER, GC_LOG, HANDLER, JOURNAL, LENGTH_MS, NETWORK, SCHEDULER, SEGMENT, SERVER_LOG,
    Story, VM,
};
use super::{Confidence, Diagnosis, diagnose};
use crate::recording::{Kind, Role, Sighting, Thread, Usage, WaitClass};

const APPEND: &str = "xfs_file_buffered_write < vfs_write < __x64_sys_pwrite64";
const READ: &str =
    "folio_wait_bit_common < filemap_get_pages < filemap_splice_read < xfs_file_splice_read < do_sendfile";
const LOCK: &str = "rwsem_down_write_slowpath < xfs_ilock < xfs_file_buffered_write < vfs_write";
const COMMIT: &str = "do_get_write_access < jbd2_journal_get_write_access < ext4_dirty_inode < ext4_buffered_write_iter < vfs_write";
const FAULT: &str =
    "folio_wait_bit_common < filemap_fault < __do_fault < handle_mm_fault < asm_exc_page_fault";
const DIRTY: &str = "balance_dirty_pages < iomap_file_buffered_write < vfs_write";
const FSYNC: &str = "folio_wait_writeback < xfs_file_fsync < do_fsync";
const DIRECTORY: &str = "xlog_wait_on_iclog < xfs_log_force_seq < do_fsync";

fn diagnosis(story: &Story) -> Diagnosis {
    diagnose(&story.0)
}

fn names(story: &Story) -> Vec<String> {
    diagnosis(story).causes.into_iter().map(|cause| cause.name).collect()
}

/// The story's first cause is this.
#[track_caller]
fn first(story: &Story, name: &str) -> super::Cause {
    let found = diagnosis(story);
    let cause = found.causes.first().unwrap_or_else(|| panic!("{name} is not found: {found:?}")).clone();
    assert_eq!(cause.name, name, "{found:#?}");
    assert!(!cause.evidence.is_empty() && !cause.remedy.is_empty() && !cause.summary.is_empty());
    assert_eq!(cause.mechanism.matches(". ").count() + 1, 3, "three sentences: {}", cause.mechanism);
    cause
}

fn xfs() -> Story {
    Story::of_kafka("xfs")
}

fn ext4() -> Story {
    Story::of_kafka("ext4")
}

#[test]
fn where_nothing_was_slow_there_is_no_cause() {
    assert_eq!(diagnosis(&xfs()).causes, []);
    let short = xfs().waits(HANDLER, WaitClass::Journal, 3, 20.0, COMMIT);
    assert_eq!(diagnosis(&short).causes, [], "three times 20 ms");
    let background = xfs().waits(SCHEDULER, WaitClass::Sync, 10, 500.0, FSYNC);
    let found = diagnosis(&background);
    assert_eq!(found.causes, [], "that is what those threads are for");
    assert!(found.observations.iter().any(|line| line.contains("what they are for")));
}

#[test]
fn an_append_behind_a_reader_is_the_inode_lock() {
    let story = xfs()
        .waits(HANDLER, WaitClass::Inode, 15, 200.0, LOCK)
        .waits(NETWORK, WaitClass::Page, 15, 220.0, READ)
        .in_call(HANDLER, "pwrite64", SEGMENT)
        .in_call(NETWORK, "sendfile", SEGMENT)
        .held_by(HANDLER, NETWORK);
    let cause = first(&story, "inode-lock");
    assert_eq!((cause.confidence, names(&story).len()), (Confidence::Proved, 1));
    assert!(cause.threads.contains(&HANDLER) && cause.summary.contains(SEGMENT));
    // Without a holder it is as likely as the wait alone makes it.
    let alone = xfs().waits(HANDLER, WaitClass::Inode, 15, 200.0, LOCK);
    assert_eq!(first(&alone, "inode-lock").confidence, Confidence::Likely);
}

/// What a profiler has of a story: gaps of threads, with the program's frames.
fn sampled(mut story: Story) -> Story {
    for wait in &mut story.0.waits {
        wait.sighting = Sighting::Gap;
        wait.kernel = Vec::new();
        if wait.class == WaitClass::Other {
            wait.frames = vec!["a.FileDispatcherImpl.pwrite0".to_owned(), "a.FileRecords.append".to_owned()];
        }
    }
    story
}

#[test]
fn a_profilers_samples_tell_the_inode_lock_by_what_ends_together() {
    let story = |read_ms| {
        sampled(xfs().waits(HANDLER, WaitClass::Other, 15, 200.0, "").waits(
            NETWORK,
            WaitClass::Page,
            15,
            read_ms,
            "",
        ))
    };
    let cause = first(&story(205.0), "inode-lock");
    assert!(cause.evidence.iter().any(|line| line.contains("15 of 15 end together")), "{cause:?}");
    assert!(cause.against.iter().any(|line| line.contains("do not show")), "{cause:?}");
    // Reads that end at other times are a network thread's own.
    assert_eq!(names(&story(400.0)), ["network-thread"]);
}

#[test]
fn what_was_there_all_the_time_is_no_ground() {
    let waits = |story: Story| story.waits(HANDLER, WaitClass::Lock, 10, 280.0, "");
    let synced = waits(xfs().waits(CLEANER, WaitClass::Sync, 10, 300.0, DIRECTORY));
    let cause = first(&synced, "compaction");
    assert_eq!(cause.confidence, Confidence::Proved);
    assert!(cause.evidence.iter().any(|line| line.contains("in 1 % of the calm ones")), "{cause:?}");
    let mut always = waits(xfs().waits(CLEANER, WaitClass::Sync, 1, 300.0, DIRECTORY));
    for wait in always.0.waits.iter_mut().filter(|wait| wait.tid == CLEANER) {
        (wait.from_ms, wait.to_ms) = (0.0, LENGTH_MS);
    }
    let cause = first(&always, "compaction");
    assert_eq!(cause.confidence, Confidence::Likely);
    assert!(cause.against.iter().any(|line| line.contains("in 100 % of the calm ones")), "{cause:?}");
}

#[test]
fn short_waits_that_were_traced_name_the_thread_that_let_go() {
    let release = "rwsem_wake < up_read < xfs_iunlock < xfs_file_splice_read < do_sendfile";
    let story = xfs()
        .waits(HANDLER, WaitClass::Inode, 18, 18.0, LOCK)
        .in_call(HANDLER, "pwrite64", SEGMENT)
        .let_go_by(HANDLER, NETWORK, release);
    let cause = first(&story, "inode-lock");
    assert_eq!(cause.confidence, Confidence::Proved);
    let said = format!("data-plane-kafka-network-thread-1 ({NETWORK}) let go (rwsem_wake < up_read");
    assert!(cause.evidence.iter().any(|line| line.contains(&said)), "{:?}", cause.evidence);
    let journal = ext4()
        .waits(HANDLER, WaitClass::Journal, 18, 18.0, COMMIT)
        .in_call(HANDLER, "pwrite64", SEGMENT)
        .let_go_by(HANDLER, JOURNAL, "__wake_up_bit < jbd2_journal_commit_transaction < kjournald2");
    let cause = first(&journal, "journal");
    assert!(cause.evidence.iter().any(|line| line.contains("jbd2/sda-8 (7) let go")), "{:?}", cause.evidence);
    // Without tracing nothing of it is said.
    let looked = || xfs().waits(HANDLER, WaitClass::Inode, 15, 200.0, LOCK).held_by(HANDLER, NETWORK);
    assert_eq!(
        names(&looked()),
        [""; 0],
        "a holder that does not read has no processor, or is another story"
    );
    let looked = looked().waits(NETWORK, WaitClass::Page, 15, 200.0, READ);
    let cause = first(&looked, "inode-lock");
    assert!(cause.evidence.iter().all(|line| !line.contains("let go")), "{:?}", cause.evidence);
}

#[test]
fn a_cold_read_of_a_network_thread_is_its_neighbours_wait() {
    let read = |story: Story| {
        story.waits(NETWORK, WaitClass::Page, 15, 300.0, READ).in_call(NETWORK, "sendfile", SEGMENT)
    };
    first(&read(xfs()), "network-thread");
    first(&read(ext4()), "inode-lock-ext4");
}

#[test]
fn a_fault_before_a_safepoint_is_a_page_fault_and_a_long_collection_is_none() {
    let fault = xfs().waits(HANDLER, WaitClass::Fault, 10, 400.0, FAULT).stood(
        10,
        380.0,
        390.0,
        "G1CollectForAllocation",
    );
    assert_eq!(first(&fault, "page-fault").confidence, Confidence::Proved);
    let collector =
        xfs().stood(10, 0.1, 390.0, "G1CollectForAllocation").collected(10, 389.0, 380.0, 1_500.0);
    first(&collector, "long-gc");
}

#[test]
fn a_deletion_that_others_wait_for_is_told_from_a_lookup() {
    let story = xfs()
        .waits(
            SCHEDULER,
            WaitClass::Metadata,
            10,
            500.0,
            "xfs_buf_iowait < xfs_inactive < xfs_inodegc_flush < do_unlinkat",
        )
        .waits(HANDLER, WaitClass::Lock, 10, 450.0, "")
        .waits(ANOTHER_HANDLER, WaitClass::Fault, 10, 450.0, FAULT);
    first(&story, "munmap");
}

#[test]
fn a_line_of_the_collectors_log_is_told_from_the_collector() {
    let story = ext4()
        .waits(VM, WaitClass::Journal, 10, 300.0, COMMIT)
        .in_call(VM, "write", GC_LOG)
        .held_by(VM, JOURNAL)
        .stood(10, 0.1, 310.0, "G1CollectForAllocation")
        .collected(10, 308.0, 6.0, 10.0);
    assert_eq!(names(&story), ["gc-log"]);
    first(&story, "gc-log");
    let log_alone = ext4().collected(10, 308.0, 6.0, 10.0).stood(10, 0.1, 310.0, "G1CollectForAllocation");
    first(&log_alone, "gc-log");
}

#[test]
fn a_journal_is_told_by_the_file_that_is_written() {
    let wait = |path| {
        ext4().waits(HANDLER, WaitClass::Journal, 10, 300.0, COMMIT).in_call(HANDLER, "pwrite64", path)
    };
    assert_eq!(first(&wait(SEGMENT).held_by(HANDLER, JOURNAL), "journal").confidence, Confidence::Proved);
    first(&wait(SERVER_LOG), "own-log");
}

#[test]
fn a_device_that_stands_still_is_told_from_one_that_is_slow() {
    let story = |ms| {
        ext4()
            .waits(HANDLER, WaitClass::Journal, 1, ms, COMMIT)
            .in_call(HANDLER, "pwrite64", SEGMENT)
            .frozen("8:0", ms)
    };
    assert_eq!(names(&story(3_000.0)), ["freeze"]);
    let two = story(3_000.0).and_another_directory();
    assert_eq!(names(&two), ["one-of-two-dirs"]);
    let many = |traffic: &mut crate::recording::Traffic| {
        traffic.waiting_connections = 14;
        traffic.waiting_bytes = 2_186_686;
    };
    first(&story(3_000.0).and_another_directory().sockets(3_000.0, many), "crowd");
    first(&story(12_000.0).and_another_directory().sockets(3_000.0, many), "long-crowd");
    // No request waits for it: it is seen, and no cause.
    let unnoticed = xfs().waits(SCHEDULER, WaitClass::Sync, 1, 3_000.0, FSYNC).frozen("8:0", 3_000.0);
    let found = diagnosis(&unnoticed);
    assert_eq!(found.causes, []);
    assert!(found.observations.iter().any(|line| line.contains("answered nothing")), "{found:?}");
}

#[test]
fn what_one_look_alone_has_found_is_no_stall() {
    let story = |looks| {
        let mut story =
            ext4().waits(HANDLER, WaitClass::Journal, 2, 450.0, COMMIT).in_call(HANDLER, "pwrite64", SEGMENT);
        for wait in &mut story.0.waits {
            wait.sighting = Sighting::One { looks };
        }
        names(&story)
    };
    assert_eq!(story(1), [""; 0], "looks were half a second apart");
    assert_eq!(story(2), ["journal"]);
}

#[test]
fn the_limit_of_dirty_pages_is_told_from_a_frozen_device_by_its_length() {
    let wait =
        |ms| xfs().waits(HANDLER, WaitClass::DirtyLimit, 1, ms, DIRTY).in_call(HANDLER, "pwrite64", SEGMENT);
    first(&wait(3_000.0).frozen("8:0", 3_000.0), "dirty-limit");
    first(&wait(15_000.0).frozen("8:0", 15_000.0), "long-freeze");
    let full = |row: &mut crate::recording::HostSample| row.dirty_bytes = row.dirty_limit_bytes;
    assert_eq!(first(&wait(3_000.0).rows(3_000.0, full), "dirty-limit").confidence, Confidence::Proved);
}

#[test]
fn a_full_memory_group_is_told_by_who_frees_pages() {
    let story = ext4()
        .waits(
            HANDLER,
            WaitClass::Reclaim,
            10,
            200.0,
            "reclaim_throttle < shrink_lruvec < try_to_free_mem_cgroup_pages < try_charge_memcg < vfs_write",
        )
        .waits(ANOTHER_HANDLER, WaitClass::Journal, 10, 300.0, COMMIT)
        .rows(10_000.0, |row| row.cgroup_limit_hits = Some(9));
    let cause = first(&story, "cgroup-reclaim");
    assert_eq!((cause.confidence, names(&story)), (Confidence::Proved, vec!["cgroup-reclaim".to_owned()]));
}

#[test]
fn a_cleaner_that_syncs_under_a_lock_is_compaction_and_a_sync_alone_is_not() {
    let syncs = || xfs().waits(CLEANER, WaitClass::Sync, 10, 300.0, DIRECTORY);
    assert_eq!(names(&syncs()), [""; 0]);
    let story = syncs().waits(HANDLER, WaitClass::Lock, 10, 280.0, "").waits(
        ANOTHER_HANDLER,
        WaitClass::Lock,
        10,
        250.0,
        "",
    );
    first(&story, "compaction");
}

#[test]
fn a_sync_within_a_request_is_a_roll() {
    first(
        &xfs().waits(HANDLER, WaitClass::Sync, 10, 300.0, FSYNC).in_call(HANDLER, "fsync", SEGMENT),
        "roll",
    );
}

#[test]
fn an_append_that_reads_its_inode_is_cold_metadata() {
    let stack =
        "xfs_buf_iowait < xfs_buf_read_map < xfs_vn_update_time < xfs_file_buffered_write < vfs_write";
    let story = xfs()
        .waits(HANDLER, WaitClass::Metadata, 4, 300.0, stack)
        .waits(ANOTHER_HANDLER, WaitClass::Inode, 4, 280.0, LOCK)
        .held_by(ANOTHER_HANDLER, HANDLER)
        .in_call(HANDLER, "pwrite64", SEGMENT);
    assert_eq!(names(&story)[0], "cold-metadata");
}

#[test]
fn a_lost_directory_is_named_by_why() {
    first(
        &xfs()
            .says("ERROR Stopping serving logs in dir /data")
            .says("java.io.IOException: No space left on device"),
        "disk-full",
    );
    first(
        &xfs()
            .says("ERROR Stopping serving logs in dir /data")
            .says("java.io.IOException: Input/output error"),
        "eio",
    );
}

#[test]
fn a_start_that_reads_the_logs_is_recovery() {
    let mut story = xfs().says("Recovering unflushed segment 0. 3/12 recovered for orders-0.");
    story.0.threads.push(Thread {
        tid: 8,
        name: "log-recovery-/da".to_owned(),
        role: Role::Disk,
        usage: Vec::new(),
    });
    let story =
        story.waits(8, WaitClass::Page, 10, 900.0, "folio_wait_bit_common < filemap_get_pages < vfs_read");
    first(&story, "kill-9-recovery");
}

/// What a thread has of a processor that others want.
fn hungry() -> Usage {
    Usage { ran_ms: 5.0, runnable_ms: 60.0, turns: 6 }
}

/// A machine that has no processor left.
fn busy(row: &mut crate::recording::HostSample) {
    row.busy_ms = 790.0;
}

#[test]
fn processors_are_blamed_where_they_are_short_and_a_quota_where_it_is_one() {
    let hungry = hungry();
    let starved = xfs().usage(10_000.0, hungry).rows(10_000.0, busy);
    assert_eq!(names(&starved), ["cpu-starvation"]);
    first(&starved, "cpu-starvation");
    assert_eq!(names(&xfs().usage(800.0, hungry).rows(800.0, busy)), [""; 0], "in passing");
    let alone = xfs()
        .usage(10_000.0, hungry)
        .rows(10_000.0, busy)
        .sockets(10_000.0, |traffic| traffic.connections = 0);
    assert_eq!(names(&alone), [""; 0], "a broker that starts has no client that waits");
    let stolen = |row: &mut crate::recording::HostSample| {
        row.busy_ms = 500.0;
        row.steal_ms = 290.0;
    };
    let by_host = xfs().usage(800.0, hungry).rows(800.0, stolen);
    assert!(first(&by_host, "cpu-starvation").summary.contains("the host"));
    let throttled = |row: &mut crate::recording::HostSample| {
        row.cgroup_periods = Some((2, 2));
        row.cgroup_throttled_ms = Some(90.0);
    };
    let held = xfs().usage(10_000.0, hungry).rows(10_000.0, throttled);
    assert_eq!(names(&held), ["cpu-quota"], "the machine itself is idle");
}

#[test]
fn a_jvm_that_compiles_is_not_starved_by_others() {
    // Three threads that carry requests, on four processors, in rows of 200 ms.
    let turns = Usage { ran_ms: 40.0, runnable_ms: 200.0, turns: 100 };
    let others = xfs().usage(10_000.0, turns).rows(10_000.0, busy);
    assert!(first(&others, "cpu-starvation").summary.contains("which others had"));
    let mut compiles = xfs().usage(10_000.0, turns).rows(10_000.0, busy);
    let rows = compiles.0.host.len();
    compiles.0.threads.push(Thread {
        tid: 9,
        name: "C2 CompilerThre".to_owned(),
        role: Role::Machinery,
        usage: vec![Usage { ran_ms: 350.0, runnable_ms: 20.0, turns: 50 }; rows],
    });
    assert_eq!(names(&compiles), [""; 0]);
    let beyond = Usage { runnable_ms: 400.0, ..turns };
    let compiles = compiles.usage(10_000.0, beyond);
    assert!(first(&compiles, "cpu-starvation").summary.contains("the broker's own threads"));
}

#[test]
fn a_row_without_a_look_is_one_with_the_next() {
    // All that each second row has is of both: twice what it would be.
    let both = |story: Story, usage: Usage| {
        let mut story = story.usage(10_000.0, usage);
        for thread in &mut story.0.threads {
            thread.usage.iter_mut().step_by(2).for_each(|usage| *usage = Usage::default());
        }
        names(&story.rows(10_000.0, busy))
    };
    let waits = |runnable_ms| Usage { ran_ms: 5.0, runnable_ms, turns: 6 };
    assert_eq!(both(xfs(), waits(30.0)), [""; 0], "90 ms of 400");
    assert_eq!(both(xfs(), waits(60.0)), ["cpu-starvation"]);
}

#[test]
fn one_long_stall_is_worse_than_as_much_in_small_pieces() {
    let stall = || {
        xfs()
            .waits(HANDLER, WaitClass::DirtyLimit, 1, 700.0, DIRTY)
            .in_call(HANDLER, "pwrite64", SEGMENT)
            .rows(700.0, |row| row.dirty_bytes = row.dirty_limit_bytes)
    };
    assert_eq!(names(&stall()), ["dirty-limit"]);
    // Nearly 6 s more in which each turn waits for a processor.
    let mut both = stall().usage(6_500.0, hungry()).rows(6_500.0, busy);
    both.0.threads.iter_mut().flat_map(|thread| &mut thread.usage[..54]).for_each(|usage| {
        *usage = Usage { ran_ms: 5.0, runnable_ms: 1.0, turns: 20 };
    });
    assert_eq!(names(&both), ["dirty-limit", "cpu-starvation"]);
}

#[test]
fn a_tool_that_stops_the_jvm_is_named() {
    let story = xfs().stood(5, 0.1, 300.0, "GC_HeapInspection");
    assert!(first(&story, "vm-operation").summary.contains("histo"));
}

#[test]
fn clients_and_the_network_are_not_the_disk() {
    let slow = |traffic: &mut crate::recording::Traffic| {
        traffic.unread_connections = 1;
        traffic.unread_bytes = 2 << 20;
    };
    first(&xfs().sockets(5_000.0, slow), "slow-consumer");
    assert_eq!(names(&xfs().sockets(800.0, slow)), [""; 0], "in passing");
    let lost = |traffic: &mut crate::recording::Traffic| {
        slow(traffic);
        traffic.retransmitting = 2;
        traffic.retransmits = 4;
    };
    first(&xfs().sockets(5_000.0, lost), "network");
    let muted = |traffic: &mut crate::recording::Traffic| {
        traffic.waiting_connections = 3;
        traffic.muted_connections = 3;
        traffic.waiting_bytes = 300_000;
    };
    first(&xfs().sockets(5_000.0, muted), "client-quota");
    let locked = xfs().sockets(5_000.0, muted).waits(HANDLER, WaitClass::Lock, 1, 6_000.0, "futex_wait");
    assert!(names(&locked).iter().all(|name| name != "client-quota"));
    // Whose threads have no processor reads from no connection.
    let starved = xfs().sockets(5_000.0, muted).usage(10_000.0, hungry()).rows(10_000.0, busy);
    assert_eq!(names(&starved), ["cpu-starvation"]);
}

#[test]
fn swap_huge_pages_and_a_clock_have_their_names() {
    let swapped = |row: &mut crate::recording::HostSample| {
        row.swapped_in = 500;
        row.process_swap_bytes = 300 << 20;
    };
    let stack = "folio_wait_bit_common < do_swap_page < handle_mm_fault < asm_exc_page_fault";
    first(&xfs().waits(HANDLER, WaitClass::Fault, 10, 200.0, stack).rows(10_000.0, swapped), "swap");
    let moved = "compact_zone < try_to_compact_pages < handle_mm_fault < asm_exc_page_fault";
    first(&xfs().waits(HANDLER, WaitClass::Reclaim, 10, 200.0, moved), "memory-compaction");
    let mut stepped = xfs();
    stepped.0.clock.steps.push((15_000.0, -3_000.0));
    first(&stepped, "clock-step");
}

#[test]
fn what_no_rule_explains_is_said_to_be_unknown() {
    let story = xfs().waits(HANDLER, WaitClass::Metadata, 10, 300.0, "do_filp_open < do_sys_openat2");
    let found = diagnosis(&story);
    assert_eq!(found.causes, []);
    assert!(!found.next.is_empty() && !found.unexplained.is_empty(), "{found:?}");
    assert!(found.slow.iter().all(|span| span.from_ms >= 0.0 && span.to_ms <= LENGTH_MS));
}

#[test]
fn a_broker_whose_requests_do_not_wait_has_no_cause_whatever_its_disks_do() {
    let mut story = ext4()
        .waits(SCHEDULER, WaitClass::Journal, 1, 3_000.0, COMMIT)
        .in_call(SCHEDULER, "fdatasync", SEGMENT)
        .frozen("8:0", 3_000.0);
    story.0.process.kind = Kind::Aplomb;
    assert_eq!(names(&story), [""; 0]);
}

#[test]
fn appends_alone_do_not_make_a_cause() {
    assert_eq!(names(&xfs().waits(SCHEDULER, WaitClass::Other, 10, 100.0, APPEND)), [""; 0]);
}
