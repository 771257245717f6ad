//! Where a loop sleeps: until a socket changes, the bell rings, or time is up.
//!
//! What always holds: sockets are registered once, edge-triggered; a change that was reported is
//! not reported again. The bell counts as heard when the thread is awake.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::io::Errno;

use crate::mail::Waker;

/// The number that the bell has among the sockets.
const BELL: u64 = u64::MAX;

/// The sockets of one loop, and its bell.
#[derive(Debug)]
pub(super) struct Poll {
    epoll: OwnedFd,
    bell: Arc<Waker>,
}

/// What one wait reports. Belongs to the thread that waits.
pub(super) struct Events(Vec<Event>);

impl Poll {
    /// Fails if the process may not open another descriptor.
    pub(super) fn new(bell: Arc<Waker>) -> Result<Self, Errno> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let poll = Self { epoll, bell };
        poll.watch(&*poll.bell, BELL, EventFlags::IN)?;
        Ok(poll)
    }

    /// Reports what of `flags` happens to `socket` from now on, under its number.
    pub(super) fn watch(&self, socket: impl AsFd, number: u64, flags: EventFlags) -> Result<(), Errno> {
        epoll::add(&self.epoll, socket, EventData::new_u64(number), flags | EventFlags::ET)
    }

    /// Sleeps until something happens, for up to `patience`, or without end. `has_work` is asked
    /// when the bell would be heard already; if it says yes there is no sleep, as with no patience.
    pub(super) fn wait(
        &self,
        events: &mut Events,
        patience: Option<Duration>,
        has_work: impl FnOnce() -> bool,
    ) {
        let mut timeout = patience;
        if timeout != Some(Duration::ZERO) {
            self.bell.falling_asleep();
            if has_work() {
                timeout = Some(Duration::ZERO);
            }
        }
        let timeout = timeout.map(|time| time.try_into().expect("no deadline is so far away"));
        match epoll::wait(&self.epoll, spare_capacity(&mut events.0), timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => panic!("epoll_wait cannot fail on our own descriptors: {errno}"),
        }
        self.bell.awake();
    }
}

impl Events {
    /// Up to `most` changes with one wait.
    pub(super) fn new(most: usize) -> Self {
        Self(Vec::with_capacity(most))
    }

    /// The sockets that have changed, by number, and how.
    pub(super) fn take(&mut self) -> impl Iterator<Item = (u64, EventFlags)> {
        let events = self.0.drain(..).map(|event| (event.data.u64(), event.flags));
        events.filter(|(number, _)| *number != BELL)
    }
}
