//! The guard's own thread. It is no request thread: it may wait for the log.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use aplomb_broker::ports::{Event, Severity};
use rustix::event::{PollFd, PollFlags, poll};

use super::notify::{self, Notification};
use super::{GuardCounters, GuardMode, describe};
use crate::log::Log;
use crate::mail::Waker;

/// How long the log may take to say why the process ends.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// A thread under guard.
#[derive(Debug)]
pub(super) struct Protected {
    pub(super) name: String,
    pub(super) listener: OwnedFd,
}

/// Starts the thread.
pub(super) fn start(
    mode: GuardMode,
    log: Log,
    news: Receiver<Protected>,
    bell: Arc<Waker>,
    counters: Arc<GuardCounters>,
) -> std::io::Result<()> {
    std::thread::Builder::new()
        .name("aplomb-guard".to_owned())
        .spawn(move || Supervisor { mode, log, counters, threads: Vec::new() }.run(&news, &bell))?;
    Ok(())
}

struct Supervisor {
    mode: GuardMode,
    log: Log,
    counters: Arc<GuardCounters>,
    threads: Vec<Protected>,
}

impl Supervisor {
    /// Answers notifications for as long as the process lives: a call without an answer would hang.
    fn run(mut self, news: &Receiver<Protected>, bell: &Waker) {
        loop {
            self.threads.extend(news.try_iter());
            let mut watched: Vec<PollFd<'_>> =
                self.threads.iter().map(|thread| PollFd::new(&thread.listener, PollFlags::IN)).collect();
            watched.push(PollFd::new(bell, PollFlags::IN));
            if poll(&mut watched, None).is_err() {
                continue;
            }
            let events: Vec<PollFlags> = watched.iter().map(PollFd::revents).collect();
            if events.last().is_some_and(|event| event.contains(PollFlags::IN)) {
                // Polled by level, so this bell is read. Its count does not matter.
                let _ = rustix::io::read(bell, &mut [0; 8]);
            }
            for (thread, event) in self.threads.iter().zip(&events) {
                if event.contains(PollFlags::IN)
                    && let Some(notification) = notify::receive(thread.listener.as_fd())
                {
                    self.on_call(thread, &notification);
                }
            }
            // Hung up: the thread has ended.
            let mut ended = events.iter().map(|event| event.contains(PollFlags::HUP));
            self.threads.retain(|_| !ended.next().unwrap_or(false));
        }
    }

    fn on_call(&self, thread: &Protected, notification: &Notification) {
        let seen = self.counters.count(notification.call);
        let call = describe(notification.call, notification.path().as_deref());
        let what = format!(
            "thread {} (id {}) called {call}, which may wait for a file system",
            thread.name, notification.tid
        );
        match self.mode {
            GuardMode::Off | GuardMode::Log => {
                // The first of a kind, then ever fewer: a call in a loop must not drown the log.
                if seen.is_power_of_two() {
                    self.log.warn(
                        "server/guard",
                        format!("{what}; it passed (aplomb.guard=log; {seen} such calls so far)"),
                    );
                }
                notify::let_pass(thread.listener.as_fd(), notification);
            }
            GuardMode::Enforce => {
                let text = format!("{what}; the process is aborted (aplomb.guard=enforce)");
                let event = Event { severity: Severity::Error, room: "server/guard", text };
                if self.log.abort_after(crate::clock::wall(), event) {
                    // The log ends the process, unless its reader hangs.
                    std::thread::park_timeout(LAST_WORDS);
                }
                std::process::abort();
            }
        }
    }
}
