//! The guard: the kernel holds threads that carry requests to the law, **no system call that can
//! touch a file system**.
//!
//! Each such thread installs a seccomp filter over itself ([`filter`] has the list of what it may
//! call). Any other call stops in the kernel before it has any effect, and the guard's own thread
//! ([`supervisor`]) hears of it through seccomp's user notification. Under [`GuardMode::Log`] it
//! counts and logs the call and lets it pass; under [`GuardMode::Enforce`] it logs it and aborts
//! the process. The stopped thread stands in its call meanwhile, so a core file shows where it came
//! from.
//!
//! What always holds: a protected thread stays protected until it ends; no call outside the list
//! goes unseen.

mod filter;
mod names;
mod notify;
mod supervisor;

use std::fmt::Write as _;
use std::os::fd::{OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};

use self::supervisor::Protected;
use crate::log::Log;
use crate::mail::Waker;

/// What becomes of a call that is not on the list (`aplomb.guard`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardMode {
    /// No thread is watched.
    Off,
    /// It is counted and logged, and passes.
    Log,
    /// The process is aborted.
    Enforce,
}

/// Why threads cannot be guarded.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// No descriptor or thread for the supervisor.
    #[error("the guard's thread cannot be started: {0}")]
    Supervisor(#[source] std::io::Error),
    /// No filter for this processor.
    #[error("no filter can be made: {0}")]
    Filter(#[source] seccompiler::BackendError),
    /// The kernel refuses the filter: no seccomp with user notification (Linux 5.5), or another
    /// supervisor is there.
    #[error("the kernel does not take the filter: {0}")]
    Install(#[source] std::io::Error),
}

/// What the guard has seen. By system call number.
#[derive(Debug)]
pub struct GuardCounters {
    calls: Vec<AtomicU64>,
}

/// Watches over threads. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Guard {
    mode: GuardMode,
    counters: Arc<GuardCounters>,
    supervisor: Option<Arc<Way>>,
}

/// The way to the supervisor.
#[derive(Debug)]
struct Way {
    threads: Sender<Protected>,
    bell: Arc<Waker>,
}

impl Guard {
    /// A guard that watches nothing.
    #[must_use]
    pub fn off() -> Self {
        Self { mode: GuardMode::Off, counters: Arc::default(), supervisor: None }
    }

    /// Starts the supervisor, unless `mode` is off. What it sees goes to `log`.
    ///
    /// # Errors
    /// If there is no descriptor or no thread for it.
    pub fn start(mode: GuardMode, log: Log) -> Result<Self, GuardError> {
        if mode == GuardMode::Off {
            return Ok(Self::off());
        }
        let (threads, news) = channel();
        let bell = Arc::new(Waker::new().map_err(GuardError::Supervisor)?);
        let counters = Arc::<GuardCounters>::default();
        supervisor::start(mode, log, news, Arc::clone(&bell), Arc::clone(&counters))
            .map_err(GuardError::Supervisor)?;
        Ok(Self { mode, counters, supervisor: Some(Arc::new(Way { threads, bell })) })
    }

    /// What becomes of a call that is not on the list.
    #[must_use]
    pub fn mode(&self) -> GuardMode {
        self.mode
    }

    /// The calls that were not on the list.
    #[must_use]
    pub fn counters(&self) -> &Arc<GuardCounters> {
        &self.counters
    }

    /// Whether the kernel takes the filter, tried with a thread that ends at once.
    ///
    /// # Errors
    /// As for [`Guard::protect`].
    pub fn check(&self) -> Result<(), GuardError> {
        let guard = self.clone();
        let probe = std::thread::Builder::new().name("aplomb-probe".to_owned());
        let probe = probe.spawn(move || guard.protect(&[])).map_err(GuardError::Supervisor)?;
        probe.join().expect("a probe does not panic")
    }

    /// Puts the calling thread under guard for the rest of its life. It may ring the bells in
    /// `bells` and write to no other descriptor that is not a socket. Everything else that it needs
    /// must be open already.
    ///
    /// # Errors
    /// If the kernel does not take the filter. The thread is unguarded then.
    pub fn protect(&self, bells: &[RawFd]) -> Result<(), GuardError> {
        let Some(way) = &self.supervisor else { return Ok(()) };
        let mut writable = bells.to_vec();
        writable.push(way.bell.raw_fd());
        let program = filter::program(&writable).map_err(GuardError::Filter)?;
        // The first look at a clock finds the kernel's shared page, by calls that are not on the
        // list.
        let _ = crate::clock::now();
        let name = std::thread::current().name().unwrap_or("a thread without a name").to_owned();
        let listener: OwnedFd = notify::install(&program).map_err(GuardError::Install)?;
        // Fails only when the supervisor is gone, with the process.
        let _ = way.threads.send(Protected { name, listener });
        way.bell.ring();
        Ok(())
    }
}

impl Default for GuardCounters {
    fn default() -> Self {
        Self { calls: (0..512).map(|_| AtomicU64::new(0)).collect() }
    }
}

impl GuardCounters {
    /// Counts a call and gives the number of those seen so far, this one included.
    fn count(&self, call: i32) -> u64 {
        let index = usize::try_from(call).unwrap_or(usize::MAX).min(self.calls.len() - 1);
        self.calls[index].fetch_add(1, Ordering::Relaxed) + 1
    }

    /// All calls seen so far.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.calls.iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// The calls that were seen, with their counts, by name.
    #[must_use]
    pub fn by_call(&self) -> Vec<(String, u64)> {
        let counts = self.calls.iter().map(|count| count.load(Ordering::Relaxed)).enumerate();
        counts
            .filter(|(_, count)| *count > 0)
            .map(|(call, count)| (names::name(call as i64), count))
            .collect()
    }
}

/// What was called, in words: `openat("/etc/localtime")`.
fn describe(call: i32, path: Option<&str>) -> String {
    let mut text = names::name(i64::from(call));
    if let Some(path) = path {
        // Writing to a `String` cannot fail.
        let _ = write!(text, "({path:?})");
    }
    text
}
