//! Memory that several want: the tail's, and that for readers.

use std::time::Duration;

use aplomb_model::ErrorCode;

use crate::support::{Asked, Batch, Broker, CreateTopic, Fetch, MS, Produce, SECOND, Setup};

/// How much of a log's first segment a disk has been told to write.
fn written(broker: &Broker, partition: i32) -> usize {
    let name = format!("orders-{partition}/00000000000000000000.log");
    broker.disk(0).file(&name).map_or(0, |log| log.len())
}

#[test]
fn what_the_disk_has_makes_room_for_what_it_has_not() {
    let broker = Broker::of(Setup { chunks: 16, ..Setup::default() });
    broker.has_topic("orders");
    let client = broker.client();
    for n in 0..200 {
        let produced = client.ask(Produce::to("orders", Batch::of_size(2000)));
        assert_eq!((produced.error, produced.base), (ErrorCode::None, n));
    }
    assert_eq!(client.read("orders", 0).len(), 200);
}

#[test]
fn memory_that_another_shard_keeps_for_readers_is_given_back_when_it_is_wanted() {
    let broker = Broker::of(Setup { shards: 2, chunks: 16, ..Setup::default() });
    broker.has(CreateTopic::named("orders").partitions(2));
    let client = broker.client();
    // Each partition in turn fills the share, is synced, and is in the way of the other.
    for round in 0..4 {
        for _ in 0..14 {
            let asked = client.send(Produce::to(("orders", round % 2), Batch::of_size(3000)));
            broker.advance(20 * MS); // and not when the other shard happens to have a turn
            assert_eq!(asked.answer().error, ErrorCode::None);
        }
        broker.advance(3 * SECOND);
    }
    assert_eq!(client.read(("orders", 0), 0).len() + client.read(("orders", 1), 0).len(), 56);
}

#[test]
fn a_lot_of_records_goes_to_the_disk_before_the_flush_interval_is_over() {
    let settings = vec![("aplomb.flush.interval.ms", "60000")];
    let broker = Broker::of(Setup { chunks: 16_384, settings, ..Setup::default() });
    broker.has_topic("orders");
    broker.advance(2 * SECOND);
    let client = broker.client();
    client.ask(Produce::to("orders", Batch::of_size(500_000)));
    broker.advance(SECOND);
    assert_eq!(written(&broker, 0), 0);
    (0..10).for_each(|_| {
        client.ask(Produce::to("orders", Batch::of_size(500_000)));
    });
    broker.advance(SECOND);
    assert!(written(&broker, 0) > 4_000_000);
}

#[test]
fn a_share_that_is_half_full_is_synced_before_the_flush_interval_is_over() {
    let settings = vec![("aplomb.flush.interval.ms", "60000")];
    let broker = Broker::of(Setup { chunks: 2048, settings, ..Setup::default() });
    broker.has_topic("orders");
    broker.advance(2 * SECOND);
    let client = broker.client();
    let syncs = broker.disk(0).stats().syncs();
    (0..10).for_each(|_| {
        client.ask(Produce::to("orders", Batch::of_size(500_000)));
    });
    broker.advance(SECOND);
    assert!(broker.disk(0).stats().syncs() > syncs);
}

/// Answers that lie in the sockets of clients who do not read them.
fn unread(broker: &Broker, from: i64, count: usize) -> Vec<Asked<Fetch>> {
    (0..count).map(|_| broker.client().send(Fetch::from("orders", from))).collect()
}

#[test]
fn readers_who_do_not_read_keep_no_producer_waiting() {
    let broker = Broker::of(Setup { chunks: 32, ..Setup::default() });
    broker.has_topic("orders");
    let client = broker.client();
    let mut held = Vec::new();
    for n in 0..200 {
        let asked = client.send(Produce::to("orders", Batch::of_size(2000)).within(5 * SECOND));
        assert_eq!(asked.wait().error, ErrorCode::None);
        held.extend(unread(&broker, n, 1));
    }
    assert!(held.iter().filter(|asked| !asked.is_waiting()).count() > 50, "they have got something");
}

#[test]
fn a_reader_of_new_records_waits_while_others_hold_all_memory_for_readers() {
    let settings = vec![("aplomb.fetch.memory.bytes", "5000")];
    let broker = Broker::of(Setup { chunks: 32, settings, ..Setup::default() });
    broker.has_topic("orders");
    let client = broker.client();
    let mut held = Vec::new();
    for n in 0..40 {
        client.ask(Produce::to("orders", Batch::of_size(2000)));
        held.extend(unread(&broker, n, 1));
    }
    let poll = broker.client().send(Fetch::from("orders", 39).waiting_for(1, 20 * SECOND));
    broker.advance(10 * SECOND);
    assert!(poll.is_waiting());
    held.into_iter().filter(|asked| !asked.is_waiting()).for_each(|asked| drop(asked.answer()));
    assert_eq!(poll.wait().offsets(), [39]);
}

#[test]
fn a_narrow_disk_is_given_everything_in_order() {
    let broker = Broker::of(Setup { shards: 2, lane_depth: 2, ..Setup::default() });
    broker.has(CreateTopic::named("orders").partitions(6).with("segment.ms", "1000"));
    let client = broker.client();
    for n in 0..10 {
        for partition in 0..6 {
            client.ask(Produce::to(("orders", partition), &*format!("{n}")));
        }
        broker.advance(Duration::from_millis(700));
    }
    broker.advance(10 * SECOND);
    broker.cut_power();
    broker.restart();
    for partition in 0..6 {
        let expected: Vec<String> = (0..10).map(|n| n.to_string()).collect();
        assert_eq!(broker.client().read(("orders", partition), 0), expected);
    }
}

#[test]
fn a_batch_that_no_share_can_hold_is_too_large() {
    let broker = Broker::of(Setup { chunks: 16, ..Setup::default() });
    broker.has_topic("orders");
    let asked = broker.client().send(Produce::to("orders", Batch::of_size(100_000)));
    broker.advance(MS);
    assert_eq!(asked.answer().error, ErrorCode::MessageTooLarge);
}

#[test]
fn a_batch_without_room_has_the_disk_asked_at_once_and_not_after_the_flush_interval() {
    let settings = vec![("aplomb.flush.interval.ms", "60000")];
    let broker = Broker::of(Setup { chunks: 16, settings, ..Setup::default() });
    broker.has_topic("orders");
    broker.advance(2 * SECOND);
    for _ in 0..100 {
        let asked = broker.client().send(Produce::to("orders", Batch::of_size(2000)));
        broker.advance(100 * MS);
        assert_eq!(asked.answer().error, ErrorCode::None);
    }
}
