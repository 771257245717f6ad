//! How all shards end together.
//!
//! What always holds: a shard leaves only when every shard has finished, so that no message between
//! shards meets a closed door; or when the deadline has passed, since a disk may never answer
//! again.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use aplomb_broker::ports::ShardId;
use aplomb_model::Instant;

/// Whether the shards are to stop, and which of them have finished.
#[derive(Debug)]
pub(crate) struct StopSignal {
    /// Nanoseconds of the monotonic clock; 0 before a stop is asked for.
    deadline: AtomicU64,
    finished: Vec<AtomicBool>,
}

impl StopSignal {
    /// No stop is asked for yet.
    pub(crate) fn new(shards: usize) -> Self {
        Self { deadline: AtomicU64::new(0), finished: (0..shards).map(|_| AtomicBool::new(false)).collect() }
    }

    /// Asks all shards to finish, at the latest at `deadline`.
    pub(crate) fn request(&self, deadline: Instant) {
        self.deadline.store(deadline.as_nanos().max(1), Ordering::SeqCst);
    }

    /// By when to finish, if a stop is asked for.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        match self.deadline.load(Ordering::Relaxed) {
            0 => None,
            nanos => Some(Instant::from_nanos(nanos)),
        }
    }

    /// Notes whether a shard has finished, and says whether all have.
    pub(crate) fn report(&self, shard: ShardId, finished: bool) -> bool {
        self.finished[usize::from(shard.0)].store(finished, Ordering::SeqCst);
        self.finished.iter().all(|shard| shard.load(Ordering::SeqCst))
    }
}
