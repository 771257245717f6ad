//! Gives each thread of the server a heap of its own.

use std::sync::Arc;

use aplomb_server::ServerThread;
use aplomb_server::log::Log;

use crate::heap::{Heap, HeapError, RESERVE};

/// The acceptor keeps little: a connection until it has handed it on.
const OF_THE_ACCEPTOR: usize = RESERVE / 4;

/// What a thread of the server does before it is at work.
type Prepare = Arc<dyn Fn(ServerThread) + Send + Sync>;

/// Makes a heap for each of so many shards, and for the acceptor; waits for their memory. What is given makes each the heap of its thread.
///
/// # Errors
/// There is no memory.
pub(super) fn prepare(shards: usize, log: &Log) -> Result<Prepare, HeapError> {
    let shards: Vec<Heap> =
        (0..shards).map(|_| with_warning(RESERVE, log)).collect::<Result<_, HeapError>>()?;
    let acceptor = with_warning(OF_THE_ACCEPTOR, log)?;
    let log = log.clone();
    Ok(Arc::new(move |thread| {
        let heap = match thread {
            ServerThread::Shard(shard) => shards[usize::from(shard.0)],
            ServerThread::Acceptor => acceptor,
        };
        if let Err(error) = heap.adopt() {
            log.warn("wiring/heaps", format!("{thread:?} has no heap of its own: {error}"));
        }
    }))
}

fn with_warning(bytes: usize, log: &Log) -> Result<Heap, HeapError> {
    let (heap, not_locked) = Heap::new(bytes)?;
    if let Some(why) = not_locked {
        let text =
            format!("a request thread's memory may be swapped out, and a request may wait for that: {why}");
        log.warn("wiring/heaps", text);
    }
    Ok(heap)
}
