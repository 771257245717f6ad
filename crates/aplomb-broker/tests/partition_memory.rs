//! What a partition takes of a shard's memory: there may be a hundred thousand, and each was made
//! once, written to once, and had an append that waited once.
#![expect(unsafe_code, reason = "an allocator that counts is the only witness of what is held")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use self::support::{AddPartitions, Batch, Broker, Produce, SECOND, Setup};

#[path = "support/mod.rs"]
#[expect(dead_code, unused_imports, reason = "a test of its own, for its allocator, needs little of it")]
mod support;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
}

struct Counting;

fn count(bytes: isize) {
    // A thread that is going away has nothing left to count in.
    let _ = HELD.try_with(|held| held.set(held.get() + bytes));
}

// SAFETY: every call goes to the system's allocator unchanged; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promises about `layout` are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: `block` came from `alloc` above with this layout, hence from the system.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What goes with the broker's process, its disks and its tail apart, in bytes.
fn held_by(broker: &Broker) -> usize {
    let before = HELD.get();
    broker.kill();
    usize::try_from(before - HELD.get()).expect("a process holds something")
}

const PARTITIONS: i32 = 600;

/// Bytes of a partition: its row, its names, its place in the image, what its disk knows of it.
const EACH: usize = 3600;

fn broker_with(partitions: i32) -> Broker {
    let broker = Broker::of(Setup { chunks: 256, ..Setup::default() });
    broker.has_topic("orders");
    let client = broker.client();
    for count in (1..=partitions).step_by(200).skip(1).chain([partitions]) {
        client.ask(AddPartitions::to("orders", count));
    }
    broker
}

#[test]
fn a_partition_that_was_written_to_once_keeps_its_row_and_little_else() {
    let few = held_by(&broker_with(2));
    let broker = broker_with(PARTITIONS);
    let client = broker.client();
    let to = |partition| client.send(Produce::to(("orders", partition), Batch::of_size(100)));
    let asked: Vec<_> = (0..PARTITIONS).map(to).collect();
    assert!(asked.last().is_some_and(|last| last.is_waiting()), "for memory");
    asked.into_iter().for_each(|asked| {
        asked.wait();
    });
    broker.advance(60 * SECOND);
    let each = (held_by(&broker) - few) / PARTITIONS as usize;
    assert!(each < EACH, "{each} bytes for each");
}
