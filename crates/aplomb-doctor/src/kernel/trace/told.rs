//! From what programs have written to waits with their wakers, and those among the waits that looks
//! have found.
//!
//! What always holds: a wait is told once. What looks have found of a wait that was traced adds to
//! it what only they know, and goes. What one look alone has found was over before it would have
//! been told; what several have stays as it was.

use std::collections::{HashMap, HashSet};

use super::symbols::Symbols;
use crate::kernel::stacks::{class_of, has};
use crate::recording::{Call, Sighting, Wait, WaitClass, Waker};

/// A look is noted as of its beginning, and reaches each thread a little later.
const LOOK_MS: f64 = 2.0;
/// Waits in the same place, that looks have found one after the other, are what was traced if that
/// covers so much of the time.
const COVERED: f64 = 0.5;

/// What stands innermost where programs themselves, or the waking of a thread, are on the stack.
const MACHINERY: [&str; 12] = [
    "try_to_wake_up",
    "wake_up_process",
    "wake_up_q",
    "wake_up_state",
    "default_wake_function",
    "autoremove_wake_function",
    "wake_bit_function",
    "var_wake_function",
    "__wake_up_common",
    "__wake_up_common_lock",
    "__wake_up",
    "swake_up_locked",
];
/// How programs, and the kernel's ways to them, are called.
const PROGRAMS: [&str; 5] = ["bpf_", "__bpf_", "__traceiter_", "__perf_event_", "perf_callchain"];
/// Programs are found so deep at the most.
const DEEPEST_PROGRAM: usize = 8;

/// An interrupt, or what one has left to be done: who was running has nothing to do with it.
const INTERRUPTS: [&str; 9] = [
    "asm_sysvec_",
    "sysvec_",
    "asm_common_interrupt",
    "common_interrupt",
    "handle_softirqs",
    "__do_softirq",
    "__irq_exit_rcu",
    "el1_interrupt",
    "el0_interrupt",
];
/// What lets go of a lock: the thread had it until then.
const RELEASES: [&str; 14] = [
    "rwsem_wake",
    "up_read",
    "up_write",
    "xfs_iunlock",
    "mutex_unlock",
    "__mutex_unlock_slowpath",
    "rt_mutex_slowunlock",
    "percpu_up_write",
    "percpu_up_read",
    "up",
    "futex_wake",
    "futex_wake_op",
    "futex_requeue",
    "jbd2_journal_commit_transaction",
];

/// A wait that was traced, with addresses for names.
#[derive(Clone, Debug)]
pub(super) struct Traced {
    pub(super) tid: u32,
    pub(super) from_ms: f64,
    pub(super) to_ms: f64,
    pub(super) waker: u32,
    pub(super) call: Option<Call>,
    /// It waited for a futex without a limit in time.
    pub(super) is_lock: bool,
    /// Stacks by their number: its own, and the waker's.
    pub(super) stacks: (usize, usize),
}

/// Stacks with the names of their functions.
pub(super) fn named(stacks: &[Vec<u64>], symbols: &Symbols) -> Vec<Vec<String>> {
    // The same functions are on most stacks.
    let mut names: HashMap<u64, Option<String>> = HashMap::new();
    let mut name = |address: u64| {
        names.entry(address).or_insert_with(|| symbols.name(address).map(str::to_owned)).clone()
    };
    stacks.iter().map(|stack| stack.iter().filter_map(|address| name(*address)).collect()).collect()
}

/// The wait of a record, by stacks with names.
pub(super) fn told(traced: Traced, stacks: &[Vec<String>]) -> Wait {
    let stack = |number: usize| stacks.get(number).cloned().unwrap_or_default();
    let kernel = stack(traced.stacks.0);
    let waker = waker(traced.waker, stack(traced.stacks.1));
    let class = match (&traced.call, class_of(&kernel)) {
        _ if traced.is_lock => WaitClass::Lock,
        (Some(call), WaitClass::Other | WaitClass::Page) if call.name == "fault" => WaitClass::Fault,
        (_, class) => class,
    };
    let holder = waker.tid.filter(|tid| *tid != traced.tid && has(&waker.kernel, &RELEASES));
    Wait {
        tid: traced.tid,
        from_ms: traced.from_ms,
        to_ms: traced.to_ms,
        sighting: Sighting::Exact,
        class,
        call: traced.call,
        kernel,
        frames: Vec::new(),
        holders: holder.into_iter().collect(),
        holders_known: holder.is_some(),
        woken_by: Some(waker),
    }
}

/// What woke a thread: what ran then, unless that was an interrupt.
fn waker(tid: u32, stack: Vec<String>) -> Waker {
    let is_program = |name: &String| PROGRAMS.iter().any(|begin| name.starts_with(begin));
    let programs = stack.iter().take(DEEPEST_PROGRAM).rposition(is_program).map_or(0, |last| last + 1);
    let rest = stack.into_iter().skip(programs);
    let kernel: Vec<String> = rest.skip_while(|name| has(std::slice::from_ref(name), &MACHINERY)).collect();
    // Nothing runs where the number is 0 but an interrupt.
    let of_interrupt = |name: &String| INTERRUPTS.iter().any(|begin| name.starts_with(begin));
    let is_interrupt = tid == 0 || kernel.iter().any(of_interrupt);
    Waker { tid: (!is_interrupt).then_some(tid), kernel }
}

/// Which waits would have been told if they had been long enough.
#[derive(Debug)]
pub(super) struct Told<'a> {
    /// Of these threads.
    pub(super) threads: &'a HashSet<u32>,
    /// All of at least this length, in milliseconds.
    pub(super) least_ms: f64,
    /// That were over by then.
    pub(super) until_ms: f64,
}

/// Waits that looks have found, and those that were traced, without what is in both. `told` is what
/// was sure to be traced, if anything was: looks are up to half a second apart on a busy machine,
/// and one that comes upon a wait of a millisecond must not make half a second of it.
pub(super) fn merged(looked: Vec<Wait>, mut traced: Vec<Wait>, told: Option<&Told<'_>>) -> Vec<Wait> {
    traced.sort_by(|a, b| a.from_ms.total_cmp(&b.from_ms));
    let mut by_thread: HashMap<u32, Vec<usize>> = HashMap::new();
    for (at, wait) in traced.iter().enumerate() {
        by_thread.entry(wait.tid).or_default().push(at);
    }
    let mut all: Vec<Wait> = Vec::with_capacity(looked.len());
    for mut look in looked {
        let of_thread = by_thread.get(&look.tid).map_or(&[][..], Vec::as_slice);
        // A thread's waits follow one another, so those before its end that are over after its
        // beginning are neighbours.
        let end = of_thread.partition_point(|at| traced[*at].from_ms <= look.to_ms);
        let begin = of_thread[..end].partition_point(|at| traced[*at].to_ms < look.from_ms);
        let beside = &of_thread[begin..end];
        let same = match look.sighting {
            Sighting::One { .. } => {
                let within = |at: &&usize| traced[**at].from_ms <= look.from_ms + LOOK_MS;
                beside.iter().rfind(within).copied()
            }
            Sighting::Several { .. } => {
                let common = |at: &usize| {
                    (traced[*at].to_ms.min(look.to_ms) - traced[*at].from_ms.max(look.from_ms)).max(0.0)
                };
                let covered: f64 = beside.iter().map(common).sum();
                let long = look.to_ms - look.from_ms;
                (covered >= COVERED * long).then(|| beside.first().copied()).flatten()
            }
            Sighting::Exact | Sighting::Gap => None,
        };
        match same {
            Some(at) => add(&mut traced[at], look),
            None => {
                let shorter = told.filter(|told| {
                    let once = matches!(look.sighting, Sighting::One { looks: 1 });
                    once && told.threads.contains(&look.tid) && look.to_ms < told.until_ms
                });
                if let Some(told) = shorter {
                    look.to_ms = look.to_ms.min(look.from_ms + told.least_ms + LOOK_MS);
                }
                all.push(look);
            }
        }
    }
    all.extend(traced);
    all.sort_by(|a, b| a.from_ms.total_cmp(&b.from_ms).then_with(|| a.tid.cmp(&b.tid)));
    all
}

/// What a look knows of the same wait.
fn add(wait: &mut Wait, look: Wait) {
    wait.call = match (wait.call.take(), look.call) {
        (Some(call), Some(looked)) if call.path.is_none() && call.name == looked.name => Some(looked),
        (Some(call), _) => Some(call),
        (None, looked) => looked,
    };
    // The waker let go of it; those who used the file meanwhile had it, too.
    let adds = look.holders_known || wait.holders.is_empty();
    for holder in look.holders.into_iter().filter(|_| adds) {
        if !wait.holders.contains(&holder) {
            wait.holders.push(holder);
            wait.holders_known |= look.holders_known;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(stack: &str) -> Vec<String> {
        stack.split(" < ").filter(|name| !name.is_empty()).map(str::to_owned).collect()
    }

    fn traced(from_ms: f64, to_ms: f64, waker: u32, stack: &str, waker_stack: &str) -> Wait {
        let call = Call { name: "pwrite64".to_owned(), ..Call::default() };
        let one = Traced { tid: 1, from_ms, to_ms, waker, call: Some(call), is_lock: false, stacks: (0, 1) };
        told(one, &[names(stack), names(waker_stack)])
    }

    fn lock(from_ms: f64, to_ms: f64) -> Wait {
        traced(
            from_ms,
            to_ms,
            9,
            "rwsem_down_write_slowpath < down_write < xfs_ilock < xfs_file_buffered_write < vfs_write",
            "bpf_prog_1_aplomb_woken < bpf_trace_run1 < __traceiter_sched_waking < try_to_wake_up < \
             wake_up_q < rwsem_wake < up_read < xfs_iunlock < xfs_file_splice_read < do_sendfile",
        )
    }

    fn look(from_ms: f64, to_ms: f64, sighting: Sighting) -> Wait {
        let call = Call { path: Some("/data/a".to_owned()), name: "pwrite64".to_owned(), ..Call::default() };
        let kernel = names("xfs_ilock < xfs_file_buffered_write < vfs_write");
        Wait {
            sighting,
            call: Some(call),
            kernel,
            holders: vec![7],
            holders_known: true,
            woken_by: None,
            ..lock(from_ms, to_ms)
        }
    }

    #[test]
    fn who_let_go_of_a_lock_had_it() {
        let wait = lock(10.0, 16.5);
        assert_eq!((wait.class, wait.sighting), (WaitClass::Inode, Sighting::Exact));
        assert_eq!((wait.holders.as_slice(), wait.holders_known), ([9].as_slice(), true));
        let waker = wait.woken_by.expect("it was woken");
        assert_eq!(waker.tid, Some(9));
        assert_eq!(
            waker.kernel,
            names("rwsem_wake < up_read < xfs_iunlock < xfs_file_splice_read < do_sendfile")
        );
    }

    #[test]
    fn an_interrupt_holds_nothing_whatever_it_came_upon() {
        let page = "folio_wait_bit_common < filemap_get_pages < filemap_read";
        let wait = traced(
            0.0,
            9.0,
            9,
            page,
            "try_to_wake_up < __wake_up_common < folio_end_read < blk_update_request < handle_softirqs < \
             __irq_exit_rcu < common_interrupt < asm_common_interrupt < up_read < do_sendfile",
        );
        assert_eq!(wait.class, WaitClass::Page);
        assert_eq!((wait.holders.len(), wait.holders_known), (0, false));
        assert_eq!(wait.woken_by.expect("it was woken").tid, None);
        // A worker that completes a request holds no lock.
        let wait =
            traced(0.0, 9.0, 9, page, "try_to_wake_up < folio_wake_bit < loop_process_work < worker_thread");
        assert_eq!((wait.holders.len(), wait.woken_by.and_then(|waker| waker.tid)), (0, Some(9)));
    }

    #[test]
    fn a_look_at_a_wait_that_was_traced_is_the_same_wait() {
        let looked = vec![
            look(11.0, 31.0, Sighting::One { looks: 1 }),
            look(40.0, 60.0, Sighting::One { looks: 1 }),
            Wait { tid: 2, ..look(11.0, 31.0, Sighting::One { looks: 1 }) },
        ];
        let all = merged(looked, vec![lock(80.0, 90.0), lock(10.0, 16.5)], None);
        let times: Vec<(u32, f64, f64)> =
            all.iter().map(|wait| (wait.tid, wait.from_ms, wait.to_ms)).collect();
        assert_eq!(times, [(1, 10.0, 16.5), (2, 11.0, 31.0), (1, 40.0, 60.0), (1, 80.0, 90.0)]);
        assert_eq!(all[0].holders, [9, 7]);
        assert_eq!(all[0].call.as_ref().and_then(|call| call.path.as_deref()), Some("/data/a"));
        assert_eq!(all[3].holders, [9]);
    }

    #[test]
    fn several_waits_that_looks_took_for_one_are_told_apart_if_most_of_them_were_traced() {
        let several = || vec![look(0.0, 100.0, Sighting::Several { looks: 4 })];
        assert_eq!(merged(several(), vec![lock(0.0, 30.0), lock(40.0, 70.0)], None).len(), 2);
        assert_eq!(merged(several(), vec![lock(0.0, 30.0)], None).len(), 2, "the rest was shorter: it stays");
    }

    #[test]
    fn what_one_look_has_found_and_was_not_traced_was_short() {
        let told = Told { threads: &HashSet::from([1]), least_ms: 5.0, until_ms: 5_000.0 };
        let length = |look: Wait| {
            let all = merged(vec![look], vec![lock(2_000.0, 2_010.0)], Some(&told));
            let found = all.iter().find(|wait| wait.sighting != Sighting::Exact);
            found.map(|wait| wait.to_ms - wait.from_ms)
        };
        let once = || look(1_000.0, 1_450.0, Sighting::One { looks: 1 });
        assert_eq!(length(once()), Some(5.0 + LOOK_MS));
        assert_eq!(length(look(1_000.0, 1_004.0, Sighting::One { looks: 1 })), Some(4.0));
        assert_eq!(length(look(1_000.0, 1_900.0, Sighting::One { looks: 2 })), Some(900.0));
        assert_eq!(length(look(1_000.0, 1_900.0, Sighting::Several { looks: 2 })), Some(900.0));
        assert_eq!(length(Wait { tid: 2, ..once() }), Some(450.0), "this thread is not traced");
        assert_eq!(length(look(4_800.0, 5_250.0, Sighting::One { looks: 1 })), Some(450.0), "nor this time");
        assert_eq!(length(look(2_005.0, 2_300.0, Sighting::One { looks: 1 })), None, "it was traced");
    }
}
