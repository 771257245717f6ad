//! Wakes a thread that sleeps in `epoll_wait`, and costs nothing while it is awake.
//!
//! What always holds: a sender first puts its mail down and then looks whether the receiver sleeps;
//! the receiver first says that it sleeps and then looks for mail once more. With sequentially
//! consistent order between the two steps on both sides, one of them sees the other.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering, fence};

use rustix::event::{EventfdFlags, eventfd};

/// The bell of one thread. A thread that watches it edge-triggered never reads it.
#[derive(Debug)]
pub(crate) struct Waker {
    bell: OwnedFd,
    asleep: AtomicBool,
}

impl Waker {
    /// Fails if the process may not open another descriptor.
    pub(crate) fn new() -> std::io::Result<Self> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { bell, asleep: AtomicBool::new(false) })
    }

    /// Wakes the thread if it sleeps. Call it after the mail is where the thread will find it.
    pub(crate) fn wake(&self) {
        fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::Relaxed) && self.asleep.swap(false, Ordering::SeqCst) {
            self.ring();
        }
    }

    /// Wakes the thread whether or not it has said that it sleeps.
    pub(crate) fn ring(&self) {
        // The only failure is a counter at its end, 2^64 - 2 rings away; the bell has rung then,
        // too.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }

    /// Says that the thread is about to sleep. It must look for mail once more before it does.
    pub(crate) fn falling_asleep(&self) {
        self.asleep.store(true, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// Says that the thread is awake.
    pub(crate) fn awake(&self) {
        self.asleep.store(false, Ordering::Relaxed);
    }

    /// The number that the guard has to let the other threads write to.
    pub(crate) fn raw_fd(&self) -> RawFd {
        self.bell.as_raw_fd()
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}
