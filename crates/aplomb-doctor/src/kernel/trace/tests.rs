//! Tracing ourselves, on a kernel that lets us.

use std::sync::Mutex;
use std::thread;

use rustix::time::{ClockId, clock_gettime};

use super::*;
use crate::recording::WaitClass;

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn tid() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get() as u32
}

/// Where the kernel refuses, that is what is looked at: it has to be said in a sentence.
fn start(origin_ns: u64) -> Option<Tracer> {
    match Tracer::start(std::process::id(), origin_ns) {
        Ok(tracer) => Some(tracer),
        Err(fault) => {
            let said = fault.to_string();
            assert!(!matches!(fault, TraceFault::Verifier { .. }), "{said}");
            assert!(said.contains(':') && said.len() < 200, "{said}");
            None
        }
    }
}

/// Waits until a thread of ours sleeps; fails after ten seconds and more.
fn until_it_sleeps(tid: u32) {
    for _ in 0..10_000 {
        let stat = std::fs::read_to_string(format!("/proc/self/task/{tid}/stat")).expect("it lives");
        let (_, state) = stat.rsplit_once(") ").expect("a name in brackets");
        if state.starts_with('S') {
            return;
        }
        thread::sleep(Duration::from_millis(1));
    }
    panic!("thread {tid} does not wait for the lock");
}

#[test]
fn a_wait_for_a_lock_is_told_from_beginning_to_end_with_the_thread_that_let_go() {
    let Some(mut tracer) = start(now_ns()) else { return };
    let lock = Mutex::new(());
    let held = lock.lock().expect("it is free");
    let waiter = thread::scope(|scope| {
        let (tell, told) = std::sync::mpsc::channel();
        let lock = &lock;
        let waiter = scope.spawn(move || {
            let tid = tid();
            tell.send(tid).expect("it is waited for");
            drop(lock.lock().expect("it is handed on"));
            tid
        });
        // Where all processors are busy it may be long until it waits.
        let waiter_tid = told.recv().expect("it tells");
        until_it_sleeps(waiter_tid);
        thread::sleep(Duration::from_millis(30));
        drop(held);
        waiter.join().expect("it does not panic")
    });
    let thread = |tid, role| Thread {
        tid,
        name: "data-plane-kafka-request-handler-0".to_owned(),
        role,
        usage: Vec::new(),
    };
    let threads = [thread(waiter, Role::Request), thread(tid(), Role::Other)];
    let mut descriptors = Descriptors::of(std::process::id());
    tracer.drain(&mut descriptors);
    let found = tracer.finish(100.0, &threads, Vec::new(), &mut [], &mut descriptors);
    let waits: Vec<&Wait> = found.waits.iter().filter(|wait| wait.tid == waiter).collect();
    assert_eq!(waits.len(), 1, "{waits:?}");
    let wait = waits[0];
    assert_eq!((wait.class, wait.holders.as_slice()), (WaitClass::Lock, [tid()].as_slice()));
    let long = wait.to_ms - wait.from_ms;
    assert!((5.0..2_000.0).contains(&long), "{wait:?}");
    assert!(wait.kernel.iter().any(|name| name.starts_with("futex_wait")), "{wait:?}");
    let waker = wait.woken_by.as_ref().expect("it was woken");
    assert!(waker.kernel.iter().any(|name| name.starts_with("futex_wake")), "{waker:?}");
    assert!(found.trace.runs > 0 && found.trace.cost_cpu_ms > 0.0, "{:?}", found.trace);
}

#[test]
fn too_dear_it_is_taken_off_and_says_so() {
    let Some(mut tracer) = start(now_ns()) else { return };
    // No budget at all: the first sample in which a thread of ours has slept is too much.
    for _ in 0..100 {
        thread::sleep(Duration::from_millis(40));
        tracer.row(20.0, 0.0);
        if tracer.attached.is_empty() {
            break;
        }
    }
    assert!(tracer.attached.is_empty());
    let mut descriptors = Descriptors::of(std::process::id());
    let found = tracer.finish(50.0, &[], Vec::new(), &mut [], &mut descriptors);
    assert_eq!(found.trace.until_ms, Some(20.0));
    assert!(found.missing.iter().any(|line| line.contains("too dear")), "{:?}", found.missing);
}

#[test]
fn a_waker_is_told_by_its_process() {
    let of = |pid| {
        let thread = thread_of(9, &("runs".to_owned(), pid), 7);
        (thread.name, thread.role)
    };
    assert_eq!(of(7), ("runs".to_owned(), Role::Other));
    let ours = std::process::id();
    assert_eq!(of(ours), (format!("runs (process {ours})"), Role::Neighbour));
}

#[test]
fn a_device_has_the_kernels_number() {
    assert_eq!(kernel_number("254:1"), Some(254 << 20 | 1));
    assert_eq!((kernel_number("8"), kernel_number("4096:0"), kernel_number("x:1")), (None, None, None));
}
