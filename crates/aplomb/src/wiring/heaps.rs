//! Gives each thread of the server a heap of its own.

use std::sync::Arc;

use aplomb_server::log::Log;
use aplomb_server::{Prepare, ServerThread};

use crate::heap::{Heap, HeapError, RESERVE};

/// The acceptor keeps little: a connection until it has handed it on. The first shard has no
/// connections, and what it does may wait for a page.
const SMALL: usize = RESERVE / 4;

/// Makes a heap for each of so many shards, and for the acceptor; waits for their memory. What is
/// given makes each the heap of its thread.
///
/// # Errors
/// There is no memory.
pub(super) fn prepare(shards: usize, log: &Log) -> Result<Prepare, HeapError> {
    let (acceptor, mut not_locked) = Heap::new(SMALL)?;
    let mut heaps = Vec::with_capacity(shards);
    for shard in 0..shards {
        let (heap, why) = Heap::new(if shard == 0 { SMALL } else { RESERVE })?;
        heaps.push(heap);
        not_locked = not_locked.or(why);
    }
    if let Some(why) = not_locked {
        let text =
            format!("memory of request threads may be swapped out, and a request may wait for that: {why}");
        log.warn("wiring/heaps", text);
    }
    let log = log.clone();
    Ok(Arc::new(move |thread| {
        let heap = match thread {
            ServerThread::Shard(shard) => heaps[usize::from(shard.0)],
            ServerThread::Acceptor => acceptor,
        };
        if let Err(error) = heap.adopt() {
            log.warn("wiring/heaps", format!("{thread:?} has no heap of its own: {error}"));
        }
    }))
}
