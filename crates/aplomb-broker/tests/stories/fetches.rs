//! Fetches: waiting for more, and sessions.

use aplomb_disk_api::sim::{Fault, SimOperation};
use aplomb_model::ErrorCode;

use crate::support::{
    Asked, Broker, CreateTopic, DeleteRecords, DeleteTopic, Fetch, MS, Produce, SECOND, Setup,
};

/// A broker with an empty topic "orders" on its second disk, and a fetch that waits there for 100 bytes.
fn a_waiting_fetch() -> (Broker, Asked<Fetch>) {
    let broker = Broker::on_two_disks();
    broker.has_on_disk(1, CreateTopic::named("orders"));
    broker.client().ask(Produce::to("orders", "one"));
    let fetch = broker.client().send(Fetch::from("orders", 0).waiting_for(200, 30 * SECOND));
    broker.advance(SECOND);
    assert!(fetch.is_waiting());
    (broker, fetch)
}

#[test]
fn a_fetch_that_waits_is_woken_when_there_is_enough() {
    let (broker, fetch) = a_waiting_fetch();
    broker.client().ask(Produce::to("orders", "two"));
    assert!(fetch.is_waiting(), "not enough yet");
    broker.client().ask(Produce::to("orders", "three"));
    assert_eq!(fetch.answer().values(), ["one", "two", "three"]);
}

#[test]
fn a_fetch_that_waits_is_answered_with_what_there_is_when_its_time_is_up() {
    let (broker, fetch) = a_waiting_fetch();
    broker.advance(29 * SECOND - MS);
    assert!(fetch.is_waiting());
    broker.advance(MS);
    assert_eq!(fetch.answer().values(), ["one"]);
}

#[test]
fn a_fetch_that_waits_is_told_at_once_that_its_topic_is_deleted() {
    let (broker, fetch) = a_waiting_fetch();
    broker.client().ask(DeleteTopic::named("orders"));
    assert_eq!(fetch.answer().refusal(), ErrorCode::UnknownTopicOrPartition);
}

#[test]
fn a_fetch_that_waits_is_told_at_once_that_its_records_were_deleted() {
    let (broker, fetch) = a_waiting_fetch();
    let deleted = broker.client().ask(DeleteRecords::before("orders", 1));
    assert_eq!((deleted.error, deleted.log_start), (ErrorCode::None, 1));
    assert_eq!(fetch.answer().refusal(), ErrorCode::OffsetOutOfRange);
}

#[test]
fn a_fetch_that_waits_is_told_at_once_that_its_disk_is_lost() {
    let (broker, fetch) = a_waiting_fetch();
    broker.disk(1).fail(Fault { operation: Some(SimOperation::Write), ..Fault::default() });
    broker.client().ask(Produce::to("orders", "2"));
    assert!(fetch.is_waiting(), "nothing has gone wrong yet");
    broker.advance(2 * SECOND);
    assert_eq!(fetch.answer().refusal(), ErrorCode::KafkaStorageError);
}

#[test]
fn a_fetch_whose_connection_is_gone_is_not_answered() {
    let broker = Broker::start();
    broker.has_topic("orders");
    let consumer = broker.client();
    let fetch = consumer.send(Fetch::from("orders", 0).waiting_for(1, 30 * SECOND));
    consumer.close();
    broker.client().ask(Produce::to("orders", "one"));
    broker.advance(40 * SECOND);
    assert!(fetch.is_waiting());
}

#[test]
fn an_incremental_fetch_has_only_the_partitions_with_news() {
    let broker = Broker::of(Setup { shards: 2, ..Setup::default() });
    broker.has(CreateTopic::named("orders").partitions(2));
    let consumer = broker.client();
    let first = consumer.ask(Fetch::of_session(0, 0).and(("orders", 0), 0).and(("orders", 1), 0));
    assert_ne!(first.session, 0);
    assert_eq!(first.partitions.len(), 2);

    broker.client().ask(Produce::to(("orders", 1), "news"));
    let second = consumer.ask(Fetch::of_session(first.session, 1));
    assert_eq!((second.values(), second.partitions.len()), (vec!["news"], 1));
    let third = consumer.ask(Fetch::of_session(first.session, 2).and(("orders", 1), 1));
    assert_eq!(third.partitions, []);
}

#[test]
fn a_session_forgets_a_partition_and_refuses_a_wrong_epoch() {
    let broker = Broker::start();
    broker.has(CreateTopic::named("orders").partitions(2));
    let consumer = broker.client();
    let session = consumer.ask(Fetch::of_session(0, 0).and(("orders", 0), 0).and(("orders", 1), 0)).session;
    consumer.ask(Fetch::of_session(session, 1).without(("orders", 1)));
    broker.client().ask(Produce::to(("orders", 1), "news"));
    assert_eq!(consumer.ask(Fetch::of_session(session, 2)).partitions, []);

    assert_eq!(consumer.ask(Fetch::of_session(session, 7)).error, ErrorCode::InvalidFetchSessionEpoch);
    assert_eq!(consumer.ask(Fetch::of_session(session + 1, 1)).error, ErrorCode::FetchSessionIdNotFound);
}
