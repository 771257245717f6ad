//! What a single turn of a shard does at the most, however much there is to do: all its clients
//! wait for the end of it.

use aplomb_model::ErrorCode;

use crate::support::{Broker, CreateTopic, MS, Produce, SECOND, Setup};

/// Many more than have their part of a round in one turn.
const PARTITIONS: i32 = 500;
/// A partition's part may be a few commands, and a round ends with a sync.
const COMMANDS: usize = 128 + 16;

#[test]
fn a_round_over_hundreds_of_partitions_goes_on_for_many_turns() {
    let broker = Broker::of(Setup { chunks: 700, ..Setup::default() });
    broker.has(CreateTopic::named("orders").partitions(PARTITIONS));
    let client = broker.client();
    let produce = |value: &str| {
        for partition in 0..PARTITIONS {
            let done = client.ask(Produce::to(("orders", partition), value));
            assert_eq!(done.error, ErrorCode::None);
        }
    };
    produce("one");
    broker.advance(10 * SECOND);
    let _ = broker.take_most_commands();
    produce("two");
    // A checkpoint is due, too; and what is asked meanwhile is answered as ever.
    broker.advance(4 * SECOND);
    let asked = client.send(Produce::to(("orders", 7), "three"));
    broker.advance(MS);
    assert!(!asked.is_waiting());
    broker.advance(10 * SECOND);
    let most = broker.take_most_commands();
    assert!(most <= COMMANDS, "{most} commands in a turn");

    // Each of them was in a round, and was told so.
    broker.cut_power();
    broker.restart();
    let client = broker.client();
    for partition in 0..PARTITIONS {
        let expected: &[&str] = if partition == 7 { &["one", "two", "three"] } else { &["one", "two"] };
        assert_eq!(client.read(("orders", partition), 0), expected, "{partition}");
    }
}

#[test]
fn a_partition_that_is_written_to_while_a_round_comes_to_it_is_in_that_one_or_the_next() {
    let broker = Broker::of(Setup { chunks: 700, ..Setup::default() });
    broker.has(CreateTopic::named("orders").partitions(PARTITIONS));
    let client = broker.client();
    for partition in 0..PARTITIONS {
        client.ask(Produce::to(("orders", partition), "kept"));
    }
    broker.advance(20 * SECOND);
    // Nothing is dirty but what is written to while the checkpoint goes over all of them.
    for n in 0..80 {
        client.ask(Produce::to(("orders", n * 6), "late"));
        broker.advance(MS * 20);
    }
    broker.advance(3 * SECOND);
    broker.cut_power();
    broker.restart();
    let client = broker.client();
    for n in 0..80 {
        assert_eq!(client.read(("orders", n * 6), 0), ["kept", "late"], "{n}");
    }
}
