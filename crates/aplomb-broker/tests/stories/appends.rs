//! Batches that wait: for memory, for a sync.

use aplomb_model::ErrorCode;

use crate::support::{Asked, Batch, Broker, Client, CreateTopic, InitProducerId, MS, Produce, SECOND, Setup};

/// A broker with a topic "orders" on its second disk, which is frozen, and whose share of the tail is full: the
/// batch waits.
fn a_full_share() -> (Broker, Client, Asked<Produce>) {
    let (broker, producer) = a_frozen_disk();
    let batch = fill(&broker, &producer);
    (broker, producer, batch)
}

/// A broker with a topic "orders" on its second disk, which is frozen.
fn a_frozen_disk() -> (Broker, Client) {
    let broker = Broker::of(Setup { disks: 2, chunks: 16, ..Setup::default() });
    broker.has_on_disk(1, CreateTopic::named("orders"));
    let producer = broker.client();
    broker.disk(1).freeze();
    (broker, producer)
}

/// Produces until a batch waits.
fn fill(broker: &Broker, producer: &Client) -> Asked<Produce> {
    for _ in 0..100 {
        let asked = producer.send(Produce::to("orders", Batch::of_size(2000)));
        broker.advance(MS);
        if asked.is_waiting() {
            return asked;
        }
    }
    panic!("the share takes more than it has");
}

#[test]
fn batches_without_room_wait_and_are_appended_in_order_when_the_disk_catches_up() {
    let (broker, producer, first) = a_full_share();
    let second = producer.send(Produce::to("orders", "second"));
    let third = producer.send(Produce::to("orders", "third"));
    broker.advance(10 * SECOND);
    assert!(first.is_waiting() && second.is_waiting() && third.is_waiting());

    broker.disk(1).thaw();
    let (first, second, third) = (first.wait(), second.wait(), third.wait());
    assert_eq!([first.error, second.error, third.error], [ErrorCode::None; 3]);
    assert_eq!((second.base, third.base), (first.base + 1, first.base + 2));
}

#[test]
fn a_batch_without_room_times_out_at_its_deadline_and_is_not_appended_later() {
    let (broker, producer, _first) = a_full_share();
    let late = producer.send(Produce::to("orders", "late").within(5 * SECOND));
    broker.advance(5 * SECOND - MS);
    assert!(late.is_waiting());
    broker.advance(MS);
    assert_eq!(late.answer().error, ErrorCode::RequestTimedOut);

    broker.disk(1).thaw();
    let next = producer.ask(Produce::to("orders", "next"));
    let read = producer.read("orders", next.base - 1);
    assert_eq!(read.len(), 2, "the batch that filled the share, and the next one");
    assert_eq!(read[1], "next");
}

#[test]
fn the_next_batch_of_a_producer_is_not_ahead_of_one_that_timed_out() {
    let (broker, client) = a_frozen_disk();
    let producer = client.ask(InitProducerId);
    let _filled = fill(&broker, &client);
    let batch = |value, sequence| Produce::to("orders", Batch::from(value).by(producer, sequence));
    let late = client.send(batch("0", 0).within(2 * SECOND));
    let next = client.send(batch("1", 1).within(30 * SECOND));
    broker.advance(2 * SECOND);
    assert_eq!(late.answer().error, ErrorCode::RequestTimedOut);

    broker.disk(1).thaw();
    assert_eq!(next.wait().error, ErrorCode::OutOfOrderSequenceNumber);
    // As the producer does then: both again, in order.
    let (again, after) = (client.ask(batch("0", 0)), client.ask(batch("1", 1)));
    assert_eq!((again.error, after.error), (ErrorCode::None, ErrorCode::None));
    assert_eq!(after.base, again.base + 1);
}

#[test]
fn with_flush_messages_1_a_batch_is_acknowledged_only_after_its_sync() {
    let broker = Broker::start();
    broker.has(CreateTopic::named("orders").with("flush.messages", "1"));
    let producer = broker.client();
    broker.disk(0).freeze();
    let asked = producer.send(Produce::to("orders", "durable"));
    broker.advance(10 * SECOND);
    assert!(asked.is_waiting());

    broker.disk(0).thaw();
    assert_eq!(asked.wait().error, ErrorCode::None);
    let durable = broker.disk(0).durable("orders-0/00000000000000000000.log").expect("the segment is there");
    assert!(durable.windows(7).any(|bytes| bytes == b"durable"), "acknowledged and not synced");
}

#[test]
fn with_flush_messages_1_a_batch_that_came_during_a_round_waits_for_the_next() {
    let broker = Broker::start();
    broker.has(CreateTopic::named("orders").with("flush.messages", "1"));
    let producer = broker.client();
    let first = producer.send(Produce::to("orders", "one"));
    let second = producer.send(Produce::to("orders", "two")); // the round that syncs "one" is under way
    assert!(first.is_waiting() && second.is_waiting());
    assert_eq!(first.wait().error, ErrorCode::None);
    assert!(second.is_waiting(), "the round of the first did not cover it");

    assert_eq!(second.wait().error, ErrorCode::None);
    let durable = broker.disk(0).durable("orders-0/00000000000000000000.log").expect("the segment is there");
    assert!(durable.windows(3).any(|bytes| bytes == b"two"), "acknowledged and not synced");
}

#[test]
fn a_batch_with_acks_0_that_is_refused_closes_the_connection() {
    let broker = Broker::start();
    broker.has_topic("orders");
    let producer = broker.client();
    producer.send(Produce::to("orders", "one").acks(0)).wait_for_nothing();
    producer.send(Produce::to("payments", "one").acks(0)).wait_for_close();
    assert_eq!(broker.client().read("orders", 0), ["one"]);
}
