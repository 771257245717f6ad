//! What is asked of a broker while its disk is disturbed. All records come from and go to the
//! generator of `aplomb bench`.
//!
//! What always holds: every load is a thread that ends when it is told to and at the latest when
//! its time is over; dropping it ends it. The main load is open loop ([`load`]); beside it there
//! are those who read from the beginning ([`lagging`]), ask for offsets by time ([`lookups`]), and
//! have a JVM allocate ([`allocation`]), and consumer groups ([`groups`], with the names that
//! [`coordinators`] finds). [`history`] writes what is old before the run begins,
//! [`neighbour`] keeps a filesystem's journal busy,
//! [`placement`] finds the partitions that are on the slow disk. Those that have nothing to do with
//! a disk keep the processors [`busy`], are a consumer that is [`paused`], or a client's [`quota`].

pub(crate) mod allocation;
pub(crate) mod busy;
pub(crate) mod coordinators;
pub(crate) mod groups;
pub(crate) mod history;
pub(crate) mod lagging;
pub(crate) mod load;
pub(crate) mod lookups;
pub(crate) mod neighbour;
pub(crate) mod paused;
pub(crate) mod placement;
pub(crate) mod quota;

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use aplomb_bench::{BenchError, NewTopic};

/// Why a load could not do what it was to do.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// The generator could not begin.
    #[error("{what}: {error}")]
    Bench {
        /// Which load.
        what: &'static str,
        /// What the client said.
        error: BenchError,
    },
    /// There is no thread for it, or its file cannot be written.
    #[error("{what}: {error}")]
    System {
        /// Which load.
        what: &'static str,
        /// What the system said.
        error: io::Error,
    },
    /// Records that were to be old were not all taken.
    #[error("of {wanted} records for topic {topic}, {acknowledged} were acknowledged: {errors}")]
    NotWritten {
        /// The topic that could not be made or written.
        topic: String,
        /// How many there were.
        wanted: u64,
        /// How many the broker has.
        acknowledged: u64,
        /// What went wrong, by Kafka's names.
        errors: String,
    },
    /// Groups that did not get their partitions.
    #[error("not all were stable within {seconds} s")]
    NotStable {
        /// How long was waited.
        seconds: u64,
    },
    /// A comparison of log directories that has one of them.
    #[error(
        "all partitions of topic {topic} are on one side: this incident needs a broker with two log directories, one on the slow disk and one elsewhere"
    )]
    OneSide {
        /// The topic that is not there.
        topic: String,
    },
}

/// A thread that goes on until it is told to end.
#[derive(Debug)]
pub(crate) struct Background<T> {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<T>>,
}

impl<T: Send + 'static> Background<T> {
    /// Starts `work`, which looks at its argument as often as it can.
    fn start(
        what: &'static str,
        work: impl FnOnce(&AtomicBool) -> T + Send + 'static,
    ) -> Result<Self, WorkloadError> {
        let stop = Arc::new(AtomicBool::new(false));
        let theirs = Arc::clone(&stop);
        let thread = thread::Builder::new().name(format!("lab-{what}"));
        let thread = thread.spawn(move || work(&theirs));
        let thread = thread.map_err(|error| WorkloadError::System { what, error })?;
        Ok(Self { stop, thread: Some(thread) })
    }

    /// Waits for its end, without telling it to.
    fn wait(mut self) -> T {
        let thread = self.thread.take().expect("it is taken at the end alone");
        thread.join().expect("a load does not panic")
    }

    /// Tells it to end, and waits until it has.
    pub(crate) fn finish(self) -> T {
        self.tell();
        self.wait()
    }
}

impl<T> Background<T> {
    /// Tells it to end, without waiting.
    pub(crate) fn tell(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl<T> Drop for Background<T> {
    fn drop(&mut self) {
        self.tell();
    }
}

/// A topic as the lab makes it: each partition on one broker.
pub(crate) fn new_topic(partitions: i32, configs: &[(String, String)]) -> NewTopic {
    NewTopic { partitions, replication_factor: 1, configs: configs.to_vec() }
}

/// What an observer of the generator says.
fn go_on(stop: &AtomicBool) -> ControlFlow<()> {
    if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_load_ends_when_it_is_told_to() {
        let load = Background::start("test", |stop| {
            let mut turns = 0;
            while !stop.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(1));
                turns += 1;
            }
            turns
        });
        let load = load.expect("a thread");
        let turns: u32 = load.finish();
        assert!(turns < 10_000);
    }
}
