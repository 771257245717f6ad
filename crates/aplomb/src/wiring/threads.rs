//! How the kernel treats the threads of the shards: for how long each has waited for a processor.
//!
//! What always holds: the threads themselves say who they are, before they are at work, and no
//! more. Their files under `/proc` are read by the thread that makes the numbers; one that cannot
//! be read says that nothing was waited for.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use aplomb_server::{Prepare, RunDelays, ServerThread};

/// The threads of the shards, by their shard's number; 0 before they have said.
#[derive(Clone)]
pub(super) struct ShardThreads(Arc<[AtomicI32]>);

impl ShardThreads {
    pub(super) fn new(shards: usize) -> Self {
        Self((0..shards).map(|_| AtomicI32::new(0)).collect())
    }

    /// Has each thread say who it is, and prepare itself then.
    pub(super) fn noting(&self, prepare: Prepare) -> Prepare {
        let Self(threads) = self.clone();
        Arc::new(move |thread| {
            if let ServerThread::Shard(shard) = thread {
                let id = rustix::thread::gettid().as_raw_nonzero().get();
                threads[usize::from(shard.0)].store(id, Ordering::Relaxed);
            }
            prepare(thread);
        })
    }

    /// For how long each has waited for a processor.
    pub(super) fn delays(&self) -> RunDelays {
        let Self(threads) = self.clone();
        Box::new(move || threads.iter().map(|id| delay_of(id.load(Ordering::Relaxed))).collect())
    }
}

/// The second number of `schedstat` (proc(5)): nanoseconds in a run queue.
fn delay_of(thread: i32) -> Duration {
    let text = std::fs::read_to_string(format!("/proc/self/task/{thread}/schedstat"));
    let waited = text.ok().and_then(|text| text.split_whitespace().nth(1)?.parse().ok());
    Duration::from_nanos(waited.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use aplomb_broker::ports::ShardId;

    use super::*;

    #[test]
    fn a_thread_that_has_said_who_it_is_has_a_delay() {
        let threads = ShardThreads::new(2);
        let prepare = threads.noting(Arc::new(|_| {}));
        let told = std::thread::spawn({
            let (threads, prepare) = (threads.clone(), prepare.clone());
            move || {
                prepare(ServerThread::Acceptor);
                prepare(ServerThread::Shard(ShardId(1)));
                assert_ne!(threads.0[1].load(Ordering::Relaxed), 0);
                threads.delays()()
            }
        });
        let delays = told.join().expect("it does not panic");
        assert_eq!((delays.len(), delays[0]), (2, Duration::ZERO));
    }
}
