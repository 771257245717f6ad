//! Reads of what the tail does not hold any more: records and offsets that only a disk has.

use aplomb_disk_api::Lane;
use aplomb_disk_api::sim::{Fault, SimOperation};
use aplomb_model::ErrorCode;

use crate::support::{
    Alter, Batch, Broker, CreateTopic, DeleteRecords, DeleteTopic, Fetch, ListOffsets, MS, MoveReplica,
    NEW_YEAR, Produce, SECOND, Setup,
};

const LOG: &str = "orders-0/00000000000000000000.log";

/// A broker whose topic "orders" has batches "one", "two" and "three" that only its disk has.
fn of_old_records() -> Broker {
    of_old_records_with(Vec::new())
}

fn of_old_records_with(settings: Vec<(&'static str, &'static str)>) -> Broker {
    let broker = Broker::of(Setup { settings, ..Setup::default() });
    broker.has(CreateTopic::named("orders").with("index.interval.bytes", "1"));
    for (n, value) in (1..).zip(["one", "two", "three"]) {
        broker.client().ask(Produce::to("orders", Batch::from(value).at(NEW_YEAR + n)));
    }
    broker.stop();
    broker.restart();
    broker.advance(SECOND);
    broker
}

/// Reads that the disk has carried out.
fn reads(broker: &Broker) -> u64 {
    broker.disk(0).stats().lane(Lane::Read).completed()
}

#[test]
fn a_fetch_of_old_records_waits_for_the_disk() {
    let broker = of_old_records();
    let fetch = broker.client().send(Fetch::from("orders", 1));
    assert!(fetch.is_waiting());
    assert_eq!(fetch.wait().values(), ["two", "three"]);
}

#[test]
fn a_cold_read_that_a_second_client_joins_costs_one_read() {
    let alone = of_old_records();
    let before = reads(&alone);
    alone.client().ask(Fetch::from("orders", 0));
    let cost = reads(&alone) - before;

    let broker = of_old_records();
    let before = reads(&broker);
    broker.disk(0).freeze();
    let (one, two) =
        (broker.client().send(Fetch::from("orders", 0)), broker.client().send(Fetch::from("orders", 0)));
    broker.disk(0).thaw();
    assert_eq!(one.wait(), two.wait());
    assert_eq!(reads(&broker) - before, cost);
}

#[test]
fn a_cold_read_whose_client_gave_up_serves_the_next_poll() {
    let broker = of_old_records();
    let consumer = broker.client();
    broker.disk(0).freeze();
    let poll = consumer.ask(Fetch::from("orders", 0));
    assert_eq!((poll.refusal(), poll.values().len()), (ErrorCode::None, 0));
    broker.disk(0).thaw();
    broker.advance(SECOND);

    broker.disk(0).freeze();
    let next = consumer.send(Fetch::from("orders", 0));
    assert_eq!(next.answer().values(), ["one", "two", "three"]);
}

#[test]
fn a_cold_read_that_meets_a_shortage_is_tried_again() {
    let broker = of_old_records();
    for operation in [None, Some(SimOperation::Read)] {
        broker.disk(0).run_short(Fault { operation, ..Fault::default() });
        assert_eq!(broker.client().send(Fetch::from("orders", 1)).wait().values(), ["two", "three"]);
        broker.stop();
        broker.restart();
        broker.advance(SECOND);
    }
    assert_eq!(broker.disk(0).lost(), None);
}

#[test]
fn a_segment_that_vanished_is_no_reason_to_begin_anew_elsewhere() {
    let broker = of_old_records();
    broker.disk(0).vanish(Some(LOG));
    let fetch = broker.client().send(Fetch::from("orders", 1)).wait();
    assert_eq!(fetch.refusal(), ErrorCode::KafkaStorageError, "consumers would skip to the log's end");
    broker.disk(0).vanish(Some("orders-0/00000000000000000000.timeindex"));
    let late = broker.client().ask(ListOffsets::at("orders", NEW_YEAR + 3));
    assert_eq!(late.error, ErrorCode::KafkaStorageError, "there is a record of that time");
}

#[test]
fn a_poll_without_patience_waits_half_a_second_for_a_frozen_disk() {
    let broker = of_old_records();
    broker.disk(0).freeze();
    let poll = broker.client().send(Fetch::from("orders", 0));
    broker.advance(500 * MS - MS);
    assert!(poll.is_waiting());
    broker.advance(MS);
    assert_eq!(poll.answer().values(), [""; 0]);
}

#[test]
fn a_reader_waits_its_turn_while_another_holds_the_memory_for_readers() {
    let broker = of_old_records_with(vec![("aplomb.fetch.memory.bytes", "100")]);
    let unread = broker.client().send(Fetch::from("orders", 0));
    broker.advance(SECOND); // answered, and still on its way to a client that does not read
    assert!(!unread.is_waiting());
    let second = broker.client().send(Fetch::from("orders", 1).waiting_for(1, 20 * SECOND));
    let third = broker.client().send(Fetch::from("orders", 2).waiting_for(1, 20 * SECOND));
    broker.advance(10 * SECOND);
    assert!(second.is_waiting() && third.is_waiting());

    unread.answer();
    assert_eq!(second.wait().values()[0], "two");
    assert_eq!(third.wait().values()[0], "three");
}

#[test]
fn a_fetch_of_old_records_is_told_that_their_disk_is_lost() {
    let broker = of_old_records();
    broker.disk(0).fail(Fault { operation: Some(SimOperation::Read), ..Fault::default() });
    let fetched = broker.client().ask(Fetch::from("orders", 0));
    assert_eq!(fetched.refusal(), ErrorCode::KafkaStorageError);
}

#[test]
fn a_fetch_of_old_records_is_told_that_their_topic_is_deleted() {
    let broker = of_old_records();
    broker.disk(0).set_service(slow());
    let fetch = broker.client().send(Fetch::from("orders", 0).waiting_for(1, 20 * SECOND));
    broker.client().ask(DeleteTopic::named("orders"));
    assert_eq!(fetch.wait().refusal(), ErrorCode::UnknownTopicOrPartition);
}

#[test]
fn a_fetch_of_old_records_is_told_that_they_were_deleted() {
    let broker = of_old_records();
    assert_eq!(broker.client().ask(DeleteRecords::before("orders", 2)).log_start, 2);
    let fetched = broker.client().ask(Fetch::from("orders", 1));
    assert_eq!(fetched.refusal(), ErrorCode::OffsetOutOfRange);
    assert_eq!(broker.client().read("orders", 2), ["three"]);
}

/// A disk whose reads take longer than its decisions.
fn slow() -> aplomb_disk_api::sim::ServiceTimes {
    let read = SECOND..SECOND + MS;
    aplomb_disk_api::sim::ServiceTimes { read, ..Default::default() }
}

#[test]
fn a_damaged_segment_answers_corrupt_message_and_the_log_says_where() {
    let broker = of_old_records();
    let second_batch = batch_len(&broker);
    broker.overwrite(0, LOG, second_batch, &[0xff; 61]);
    let fetched = broker.client().ask(Fetch::from("orders", 1));
    assert_eq!(fetched.refusal(), ErrorCode::CorruptMessage);
    assert!(broker.logs("orders-0: segment 0"));
    assert_eq!(broker.client().ask(Produce::to("orders", "four")).base, 3, "appends go on");
}

/// Bytes of the first batch.
fn batch_len(broker: &Broker) -> u64 {
    let log = broker.disk(0).file(LOG).expect("the segment is there");
    12 + u64::from(u32::from_be_bytes(log[8..12].try_into().expect("four bytes")))
}

#[test]
fn an_offset_is_found_by_time_in_memory_and_on_the_disk() {
    let broker = of_old_records();
    let client = broker.client();
    client.ask(Produce::to("orders", Batch::from("four").at(NEW_YEAR + 10)));
    broker.disk(0).set_service(slow());
    let hot = client.send(ListOffsets::at("orders", NEW_YEAR + 5));
    let cold = client.send(ListOffsets::at("orders", NEW_YEAR + 2));
    broker.advance(MS);
    assert!(cold.is_waiting());
    let (hot, cold) = (hot.wait(), cold.wait());
    assert_eq!((hot.offset, hot.timestamp), (3, NEW_YEAR + 10));
    assert_eq!((cold.offset, cold.timestamp), (1, NEW_YEAR + 2));
    let none = client.ask(ListOffsets::at("orders", NEW_YEAR + 11));
    assert_eq!((none.error, none.offset), (ErrorCode::None, -1));
}

#[test]
fn an_offset_is_found_by_time_on_a_damaged_index() {
    let broker = of_old_records();
    let index = LOG.replace(".log", ".timeindex");
    let len = broker.len(0, &index) as usize;
    broker.overwrite(0, &index, 0, &vec![0xff; len]);
    let found = broker.client().ask(ListOffsets::at("orders", NEW_YEAR + 2));
    assert_eq!((found.error, found.offset), (ErrorCode::None, 1));
}

#[test]
fn records_are_found_on_a_damaged_index() {
    let broker = of_old_records();
    let index = LOG.replace(".log", ".index");
    let len = broker.len(0, &index) as usize;
    assert_ne!(len, 0);
    broker.overwrite(0, &index, 0, &vec![0xff; len]);
    assert_eq!(broker.client().read("orders", 2), ["three"]);
}

#[test]
fn a_lookup_by_time_is_told_that_its_disk_is_lost() {
    let broker = of_old_records();
    broker.disk(0).fail(Fault { operation: Some(SimOperation::Read), ..Fault::default() });
    let found = broker.client().ask(ListOffsets::at("orders", NEW_YEAR + 2));
    assert_eq!(found.error, ErrorCode::KafkaStorageError);
}

#[test]
fn a_lookup_by_time_gives_up_on_a_frozen_disk_after_half_a_minute() {
    let broker = of_old_records();
    broker.disk(0).freeze();
    let lookup = broker.client().send(ListOffsets::at("orders", NEW_YEAR + 2));
    broker.advance(30 * SECOND - MS);
    assert!(lookup.is_waiting());
    broker.advance(MS);
    assert_eq!(lookup.answer().error, ErrorCode::RequestTimedOut);
}

/// A disk whose reads take so long that anything may happen meanwhile.
fn very_slow() -> aplomb_disk_api::sim::ServiceTimes {
    let read = 10 * SECOND..10 * SECOND + MS;
    aplomb_disk_api::sim::ServiceTimes { read, ..Default::default() }
}

#[test]
fn a_cold_read_whose_records_are_deleted_meanwhile_is_out_of_range() {
    let broker = of_old_records();
    let client = broker.client();
    broker.client().ask(Alter::topic("orders", "segment.ms", "1000"));
    broker.client().ask(Alter::topic("orders", "file.delete.delay.ms", "0"));
    let of_another_segment = Batch::from("four").at(NEW_YEAR + 60_000);
    client.ask(Produce::to("orders", of_another_segment));
    broker.advance(10 * SECOND); // a checkpoint that covers both
    broker.disk(0).set_service(very_slow());
    let fetch = client.send(Fetch::from("orders", 0).waiting_for(1, 60 * SECOND));
    broker.disk(0).set_service(Default::default());
    assert_eq!(client.ask(DeleteRecords::before("orders", 3)).error, ErrorCode::None);
    broker.advance(5 * SECOND);
    assert!(fetch.is_waiting());
    assert_eq!(broker.disk(0).file(LOG), None);
    assert_eq!(fetch.wait().refusal(), ErrorCode::OffsetOutOfRange);
}

#[test]
fn a_cold_read_goes_on_on_the_disk_that_its_partition_moves_to_meanwhile() {
    let broker = Broker::on_two_disks();
    broker.has_on_disk(0, CreateTopic::named("orders").with("file.delete.delay.ms", "0"));
    let client = broker.client();
    for n in 1..=3 {
        client.ask(Produce::to("orders", Batch::from("old").at(NEW_YEAR + n)));
    }
    broker.stop();
    broker.restart();
    let client = broker.client();
    broker.disk(0).set_service(very_slow());
    let fetch = client.send(Fetch::from("orders", 0).waiting_for(1, 60 * SECOND));
    let lookup = client.send(ListOffsets::at("orders", NEW_YEAR + 2));
    broker.disk(0).set_service(Default::default());
    assert_eq!(client.ask(MoveReplica::of("orders", 1)).error, ErrorCode::None);
    broker.advance(5 * SECOND);
    assert_eq!(broker.disks_with("orders-0"), [1]);
    assert!(fetch.is_waiting() && lookup.is_waiting());
    assert_eq!(fetch.wait().values(), ["old"; 3]);
    assert_eq!(lookup.wait().offset, 1);
}

#[test]
fn a_lookup_by_time_finds_what_went_from_memory_to_the_disk_meanwhile() {
    let broker = Broker::of(Setup { chunks: 16, ..Setup::default() });
    broker.has_topic("orders");
    let client = broker.client();
    let batch = |n| Produce::to("orders", Batch::of_size(2000).at(NEW_YEAR + n));
    (0..40).for_each(|n| {
        client.ask(batch(n));
    }); // the first of them only the disk has
    broker.advance(2 * SECOND);
    broker.disk(0).set_service(very_slow());
    let lookup = client.send(ListOffsets::at("orders", NEW_YEAR + 39));
    assert!(lookup.is_waiting(), "the disk is asked first");
    broker.disk(0).set_service(Default::default());
    (40..80).for_each(|n| {
        client.ask(batch(n));
    });
    broker.advance(2 * SECOND);
    assert!(lookup.is_waiting());
    assert_eq!(lookup.wait().offset, 39);
}

#[test]
fn records_that_many_clients_gave_up_on_are_not_kept_for_ever() {
    let broker = Broker::of(Setup { chunks: 4096, ..Setup::default() });
    broker.has_topic("orders");
    (0..20).for_each(|_| {
        broker.client().ask(Produce::to("orders", Batch::of_size(1_000_000)));
    });
    broker.stop();
    broker.restart();
    let client = broker.client();
    for offset in 0..20 {
        assert_eq!(client.ask(Fetch::from("orders", offset)).offsets(), [offset]);
    }
    broker.disk(0).freeze();
    assert_eq!(client.ask(Fetch::from("orders", 19)).offsets(), [19], "the last ones are");
    assert_eq!(client.ask(Fetch::from("orders", 0)).offsets(), [0; 0], "the first ones are not");
}

#[test]
fn a_reader_who_comes_when_memory_is_free_again_does_not_overtake_one_who_waits() {
    let broker = of_old_records_with(vec![("aplomb.fetch.memory.bytes", "100")]);
    let unread = broker.client().send(Fetch::from("orders", 0));
    broker.advance(SECOND);
    let waits = broker.client().send(Fetch::from("orders", 1).waiting_for(1, 20 * SECOND));
    broker.advance(SECOND);
    unread.answer();
    let comes = broker.client().send(Fetch::from("orders", 2).waiting_for(1, 20 * SECOND));
    broker.advance(SECOND);
    assert!(!waits.is_waiting() && comes.is_waiting());
    assert_eq!(waits.answer().values()[0], "two");
    assert_eq!(comes.wait().values(), ["three"]);
}
