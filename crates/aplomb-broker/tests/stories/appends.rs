//! Batches that wait: for memory, for a sync.

use aplomb_disk_api::sim::{Fault, ServiceTimes, SimOperation};
use aplomb_model::ErrorCode;

use crate::support::{
    Asked, Batch, Broker, Client, CreateTopic, DeleteTopic, InitProducerId, MS, NEW_YEAR, Produce,
    ProduceAll, SECOND, Setup,
};

/// A broker with a topic "orders" on its second disk, which is frozen, and whose share of the tail
/// is full: the batch waits.
fn a_full_share() -> (Broker, Client, Asked<Produce>) {
    let (broker, producer) = a_frozen_disk();
    let batch = fill(&broker, &producer);
    (broker, producer, batch)
}

/// A broker with a topic "orders" on its second disk, which is frozen.
fn a_frozen_disk() -> (Broker, Client) {
    let broker = Broker::of(Setup { disks: 2, chunks: 15, ..Setup::default() });
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

/// Batches for "orders" of one idempotent producer, by value and base sequence.
fn batches_of_a_producer(client: &Client) -> impl Fn(&str, i32) -> Produce {
    let producer = client.ask(InitProducerId);
    move |value, sequence| Produce::to("orders", Batch::from(value).by(producer, sequence))
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
    let (broker, client, _filled) = a_full_share();
    let batch = batches_of_a_producer(&client);
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
fn of_several_that_were_refused_the_first_in_order_has_to_come_first() {
    let (broker, client, _filled) = a_full_share();
    let batch = batches_of_a_producer(&client);
    let first = client.send(batch("0", 0).within(5 * SECOND));
    let second = client.send(batch("1", 1).within(30 * SECOND));
    let third = client.send(batch("2", 2).within(2 * SECOND));
    broker.advance(5 * SECOND);
    assert_eq!([first.answer().error, third.answer().error], [ErrorCode::RequestTimedOut; 2]);

    broker.disk(1).thaw();
    assert_eq!(second.wait().error, ErrorCode::OutOfOrderSequenceNumber);
    let again = ["0", "1", "2"].map(|value| client.ask(batch(value, value.parse().expect("a number"))));
    assert_eq!(again.map(|answer| answer.error), [ErrorCode::None; 3]);
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
    // The round that syncs "one" is under way.
    let second = producer.send(Produce::to("orders", "two"));
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

#[test]
fn a_waiting_batch_waits_a_second_however_little_time_its_producer_gives() {
    let (broker, producer, _first) = a_full_share();
    let asked = producer.send(Produce::to("orders", "hurried").within(10 * MS));
    broker.advance(SECOND - MS);
    assert!(asked.is_waiting());
    broker.advance(MS);
    assert_eq!(asked.answer().error, ErrorCode::RequestTimedOut);
}

#[test]
fn a_waiting_batch_is_not_appended_after_its_connection_has_gone() {
    let (broker, _producer, first) = a_full_share();
    let gone = broker.client().busy();
    let _never_answered = gone.send(Produce::to("orders", "gone"));
    gone.close();
    broker.disk(1).thaw();
    let base = first.wait().base;
    broker.advance(SECOND);
    let client = broker.client();
    client.ask(Produce::to("orders", "next"));
    assert_eq!(client.read("orders", base + 1), ["next"]);
}

/// Its client writes, and leaves: to it, what it has written is sent.
#[test]
fn a_waiting_batch_that_nobody_waits_for_is_appended_after_its_connection_has_gone() {
    let (broker, _producer, first) = a_full_share();
    let gone = broker.client().busy();
    let _never_answered = gone.send(Produce::to("orders", "sent").acks(0));
    gone.close();
    broker.disk(1).thaw();
    let base = first.wait().base;
    broker.advance(SECOND);
    assert_eq!(broker.client().read("orders", base + 1), ["sent"]);
}

#[test]
fn batches_of_a_request_are_answered_when_all_have_found_room() {
    let (broker, _producer, _first) = a_full_share();
    broker.has_on_disk(0, CreateTopic::named("payments"));
    let both = [("payments".into(), "now".into()), ("orders".into(), "later".into())];
    let asked = broker.client().busy().send(ProduceAll::to(both));
    broker.advance(SECOND);
    assert!(asked.is_waiting());
    assert_eq!(broker.client().read("payments", 0), ["now"]);

    broker.disk(1).thaw();
    let answers = asked.wait();
    assert_eq!([answers[0].error, answers[1].error], [ErrorCode::None; 2]);
}

#[test]
fn a_disk_that_keeps_no_batch_waiting_is_not_noticed_by_another() {
    let (broker, _producer, _first) = a_full_share();
    broker.has_on_disk(0, CreateTopic::named("payments"));
    let asked = broker.client().send(Produce::to("payments", "now"));
    assert_eq!(asked.answer().error, ErrorCode::None);
}

#[test]
fn a_batch_that_waits_for_memory_is_refused_when_its_disk_is_lost() {
    let (broker, _producer, first) = a_full_share();
    broker.disk(1).fail(Fault { operation: Some(SimOperation::Write), ..Fault::default() });
    broker.disk(1).thaw();
    assert_eq!(first.wait().error, ErrorCode::KafkaStorageError);
}

#[test]
fn a_batch_that_waits_for_memory_is_refused_when_its_topic_is_deleted() {
    let (broker, _producer, first) = a_full_share();
    broker.client().ask(DeleteTopic::named("orders"));
    assert_eq!(first.answer().error, ErrorCode::UnknownTopicOrPartition);
}

#[test]
fn a_batch_that_waits_for_its_sync_is_refused_when_its_disk_is_lost() {
    let broker = Broker::start();
    broker.has(CreateTopic::named("orders").with("flush.messages", "1"));
    broker.disk(0).fail(Fault { operation: Some(SimOperation::Sync), ..Fault::default() });
    let refused = broker.client().ask(Produce::to("orders", "one"));
    assert_eq!(refused.error, ErrorCode::KafkaStorageError);
}

#[test]
fn a_batch_that_waits_for_its_sync_times_out_with_a_frozen_disk() {
    let broker = Broker::start();
    broker.has(CreateTopic::named("orders").with("flush.messages", "1"));
    broker.disk(0).freeze();
    let asked = broker.client().send(Produce::to("orders", "one").within(5 * SECOND));
    broker.advance(5 * SECOND);
    assert_eq!(asked.answer().error, ErrorCode::RequestTimedOut);
}

#[test]
fn a_retry_of_an_acknowledged_batch_is_answered_with_its_offset() {
    let broker = Broker::start();
    broker.has_topic("orders");
    let client = broker.client();
    let producer = client.ask(InitProducerId);
    let batch = |value, sequence| Produce::to("orders", Batch::from(value).by(producer, sequence));
    let bases = [client.ask(batch("0", 0)).base, client.ask(batch("1", 1)).base];
    let again = client.ask(batch("1", 1));
    assert_eq!((again.error, again.base), (ErrorCode::None, bases[1]));
    assert_eq!(client.read("orders", 0), ["0", "1"]);
    assert_eq!(client.ask(batch("5", 5)).error, ErrorCode::OutOfOrderSequenceNumber);
}

#[test]
fn a_retry_is_told_the_time_that_is_stored() {
    let broker = Broker::start();
    let client = broker.client();
    for (of, kept) in [("CreateTime", Some(NEW_YEAR)), ("LogAppendTime", None)] {
        broker.has(CreateTopic::named(of).with("message.timestamp.type", of));
        let producer = client.ask(InitProducerId);
        let batch = || Produce::to(of, Batch::from("one").by(producer, 0));
        let first = client.ask(batch()).append_time;
        assert_eq!(first, kept.map_or(broker.wall_ms(), |_| -1), "{of}");
        broker.advance(SECOND);
        assert_eq!(client.ask(batch()).append_time, kept.unwrap_or(first), "{of}");
    }
}

#[test]
fn a_retry_after_a_kill_waits_until_what_was_written_before_is_durable() {
    let broker = Broker::start();
    broker.has(CreateTopic::named("orders").with("flush.messages", "1"));
    let client = broker.client();
    let producer = client.ask(InitProducerId);
    let slow = ServiceTimes { sync: 10 * SECOND..10 * SECOND + MS, ..ServiceTimes::default() };
    broker.disk(0).set_service(slow);
    let batch = || Produce::to("orders", Batch::from("one").by(producer, 0));
    let first = client.send(batch());
    broker.advance(SECOND);
    assert!(first.is_waiting(), "it is written and not synced");
    broker.kill();
    broker.restart();
    let retry = broker.client().send(batch());
    broker.advance(SECOND);
    assert!(retry.is_waiting(), "it is found and not synced");
    assert_eq!(retry.wait().base, 0);
    broker.cut_power();
    broker.restart();
    assert_eq!(broker.client().read("orders", 0), ["one"]);
}

#[test]
fn a_retry_of_a_batch_that_waits_for_its_sync_waits_as_well() {
    let broker = Broker::start();
    broker.has(CreateTopic::named("orders").with("flush.messages", "1"));
    let client = broker.client();
    let producer = client.ask(InitProducerId);
    broker.disk(0).freeze();
    let batch = || Produce::to("orders", Batch::from("one").by(producer, 0));
    let (first, retry) = (client.send(batch()), broker.client().send(batch()));
    broker.advance(SECOND);
    assert!(first.is_waiting() && retry.is_waiting());
    broker.disk(0).thaw();
    assert_eq!((first.wait().base, retry.wait().base), (0, 0));
    assert_eq!(client.read("orders", 0), ["one"]);
}

#[test]
fn a_retry_of_a_batch_that_waits_for_memory_is_appended_once() {
    let (broker, client) = a_frozen_disk();
    let producer = client.ask(InitProducerId);
    let _filled = fill(&broker, &client);
    let batch = || Produce::to("orders", Batch::from("one").by(producer, 0));
    let (first, retry) = (client.send(batch()), broker.client().busy().send(batch()));
    broker.disk(1).thaw();
    let (first, retry) = (first.wait(), retry.wait());
    assert_eq!((retry.error, retry.base), (ErrorCode::None, first.base));
    assert_eq!(client.read("orders", first.base), ["one"]);
}

#[test]
fn batches_of_several_producers_keep_their_order_through_a_full_share() {
    let (broker, client, first) = a_full_share();
    let producers: Vec<_> = (0..3).map(|_| client.ask(InitProducerId)).collect();
    let mut asked = Vec::new();
    for sequence in 0..5 {
        for producer in &producers {
            let value = format!("{}-{sequence}", producer.id);
            let batch = Batch::from(value.as_str()).by(*producer, sequence);
            asked.push((client.send(Produce::to("orders", batch)), value));
        }
    }
    broker.disk(1).thaw();
    let base = first.wait().base;
    let mut values = Vec::new();
    for (asked, value) in asked {
        assert_eq!(asked.wait().error, ErrorCode::None);
        values.push(value);
    }
    assert_eq!(client.read("orders", base + 1), values);
}

#[test]
fn of_what_waits_for_room_a_turn_appends_so_much_and_no_more() {
    let setup = Setup { disks: 2, chunks: 2048, shards: 1, ..Setup::default() };
    let broker = Broker::of(setup);
    broker.has_on_disk(1, CreateTopic::named("orders"));
    broker.has_on_disk(1, CreateTopic::named("payments"));
    broker.disk(1).freeze();
    let producer = broker.client();
    let large = |topic| producer.send(Produce::to(topic, Batch::of_size(100_000)).within(100 * SECOND));
    let mut waiting = Vec::new();
    while waiting.len() < 80 {
        waiting.extend([large("orders"), large("payments")].into_iter().filter(Asked::is_waiting));
    }
    assert_eq!(broker.most_replies_of_a_turn(), 1);

    broker.disk(1).thaw();
    let bases: Vec<i64> = waiting.into_iter().map(|asked| asked.wait().base).collect();
    assert!(bases.iter().all(|base| *base > 0), "{bases:?}");
    let most = broker.most_replies_of_a_turn();
    assert!((2..=3).contains(&most), "{most} batches of 100,000 bytes in a turn of 262,144");
}

#[test]
fn flush_ms_of_a_topic_makes_records_durable_sooner() {
    let broker = Broker::start();
    broker.has(CreateTopic::named("orders").with("flush.ms", "100"));
    broker.has_topic("payments");
    broker.advance(2 * SECOND);
    let client = broker.client();
    let durable = |topic: &str| {
        let name = format!("{topic}-0/00000000000000000000.log");
        broker.disk(0).durable(&name).is_some_and(|bytes| !bytes.is_empty())
    };
    client.ask(Produce::to("payments", "one"));
    broker.advance(200 * MS);
    assert!(!durable("payments"));
    client.ask(Produce::to("orders", "one"));
    broker.advance(200 * MS);
    assert!(durable("orders"));
}

#[test]
fn producers_are_known_after_a_stop_and_after_kill_9() {
    let broker = Broker::start();
    broker.has_topic("orders");
    let producer = broker.client().ask(InitProducerId);
    let batch = |sequence| Produce::to("orders", Batch::from("x").by(producer, sequence));
    broker.client().ask(batch(0));
    broker.stop();
    broker.restart();
    assert_eq!(broker.client().ask(batch(0)).base, 0, "a retry");
    assert_eq!(broker.client().ask(batch(1)).base, 1);
    broker.kill();
    broker.restart();
    assert_eq!(broker.client().ask(batch(1)).base, 1, "a retry");
    assert_eq!(broker.client().ask(batch(7)).error, ErrorCode::OutOfOrderSequenceNumber);
    assert_eq!(broker.client().ask(batch(2)).base, 2);
}

#[test]
fn batches_of_a_connection_keep_their_order_behind_a_request_about_very_many_partitions() {
    for shards in [1, 3] {
        let broker = Broker::of(Setup { shards, ..Setup::default() });
        broker.has_topic("orders");
        let client = broker.client_of_shard(shards - 1);
        let wide = |value: &str| {
            let others = (1..=1_000).map(|index| (("orders", index).into(), Batch::of(&["nowhere"])));
            let parts: Vec<_> = others.chain([(("orders", 0).into(), Batch::of(&[value]))]).collect();
            ProduceAll::to(parts)
        };
        let first = client.send_along(wide("first"));
        let second = client.send_along(Produce::to("orders", "second"));
        let third = client.send_along(wide("third"));
        let fourth = client.send_along(Produce::to("orders", "fourth"));
        broker.advance(SECOND);
        let (first, third) = (first.answer(), third.answer());
        assert_eq!((first.len(), third.len()), (1_001, 1_001));
        assert!(first[..1_000].iter().all(|part| part.error == ErrorCode::UnknownTopicOrPartition));
        let bases = [first[1_000].base, second.answer().base, third[1_000].base, fourth.answer().base];
        assert_eq!(bases, [0, 1, 2, 3], "{shards} shards");
        assert_eq!(client.read("orders", 0), ["first", "second", "third", "fourth"]);
    }
}
