//! Requests that the controller decides, on a metadata disk that does not answer or has no room.

use aplomb_model::ErrorCode;

use crate::support::{
    AddPartitions, AlterTopic, Ask, Asked, Broker, CreateTopic, DeleteTopic, Describe, InitProducerId, MS,
    Produce, SECOND, UpdateFeature,
};

/// The level of `metadata.version` that a new cluster has: to finalize it again is a decision, too.
const LEVEL: i16 = 33;

#[test]
fn a_topic_is_there_when_its_creation_is_answered() {
    let broker = Broker::start();
    assert_eq!(broker.client().ask(CreateTopic::named("orders")).error, ErrorCode::None);
    assert_eq!(broker.client().ask(Describe("orders")).partitions[0].leader, 1);
}

#[test]
fn a_creation_waits_for_a_frozen_metadata_disk_and_data_does_not() {
    let broker = Broker::on_two_disks();
    broker.has_on_disk(1, CreateTopic::named("orders"));
    broker.disk(0).freeze();
    let created = broker.client().send(CreateTopic::named("payments"));
    let produced = broker.client().ask(Produce::to("orders", "one"));
    assert_eq!(produced.error, ErrorCode::None);
    assert!(created.is_waiting());
    let unknown = broker.client().ask(Describe("payments"));
    assert_eq!(unknown.error, ErrorCode::UnknownTopicOrPartition);

    broker.disk(0).thaw();
    assert_eq!(created.wait().error, ErrorCode::None);
}

/// Sends a request with a timeout of five seconds, with the metadata disk frozen: it is answered then, not earlier.
fn times_out<A: Ask>(broker: &Broker, ask: A) -> A::Answer {
    broker.disk(0).freeze();
    let asked: Asked<A> = broker.client().send(ask);
    broker.advance(5 * SECOND - MS);
    assert!(asked.is_waiting(), "{:?}", asked.answer());
    broker.advance(2 * MS);
    asked.answer()
}

#[test]
#[ignore = "fails: CreateTopics ignores timeout_ms, and is not answered while the metadata disk is frozen"]
fn a_creation_times_out_and_the_topic_appears_when_the_disk_thaws() {
    let broker = Broker::on_two_disks();
    let created = times_out(&broker, CreateTopic::named("orders").within(5 * SECOND));
    assert_eq!(created.error, ErrorCode::RequestTimedOut);

    broker.disk(0).thaw();
    broker.advance(SECOND);
    assert_eq!(broker.client().ask(Describe("orders")).partitions[0].leader, 1);
}

#[test]
#[ignore = "fails: DeleteTopics ignores timeout_ms, and is not answered while the metadata disk is frozen"]
fn a_deletion_times_out_and_the_topic_goes_when_the_disk_thaws() {
    let broker = Broker::on_two_disks();
    broker.has_topic("orders");
    let deleted = times_out(&broker, DeleteTopic::named("orders").within(5 * SECOND));
    assert_eq!(deleted.error, ErrorCode::RequestTimedOut);

    broker.disk(0).thaw();
    broker.advance(SECOND);
    assert_eq!(broker.client().ask(Describe("orders")).error, ErrorCode::UnknownTopicOrPartition);
}

#[test]
#[ignore = "fails: CreatePartitions ignores timeout_ms, and is not answered while the metadata disk is frozen"]
fn more_partitions_time_out_and_appear_when_the_disk_thaws() {
    let broker = Broker::on_two_disks();
    broker.has_topic("orders");
    let added = times_out(&broker, AddPartitions::to("orders", 3).within(5 * SECOND));
    assert_eq!(added.error, ErrorCode::RequestTimedOut);

    broker.disk(0).thaw();
    broker.advance(SECOND);
    assert_eq!(broker.client().ask(Describe("orders")).partitions.len(), 3);
}

#[test]
#[ignore = "fails: UpdateFeatures ignores timeout_ms, and is not answered while the metadata disk is frozen"]
fn a_change_of_features_times_out() {
    let broker = Broker::on_two_disks();
    let updated = times_out(&broker, UpdateFeature::to("metadata.version", LEVEL).within(5 * SECOND));
    assert_eq!(updated.error, ErrorCode::RequestTimedOut);
}

#[test]
#[ignore = "fails: IncrementalAlterConfigs is never answered while the metadata disk is frozen"]
fn a_change_of_settings_times_out_as_a_forwarded_request_does() {
    let broker = Broker::on_two_disks();
    broker.has_topic("orders");
    broker.disk(0).freeze();
    let altered = broker.client().send(AlterTopic::set("orders", "retention.ms", "1000"));
    broker.advance(61 * SECOND); // the request has no timeout; a forwarding broker gives up after a minute
    assert_eq!(altered.answer().error, ErrorCode::RequestTimedOut);
}

#[test]
fn producer_ids_are_given_out_while_the_metadata_disk_is_frozen() {
    let broker = Broker::start();
    broker.disk(0).freeze();
    let one = broker.client().ask(InitProducerId);
    let two = broker.client().ask(InitProducerId);
    assert_eq!((one.error, two.error), (ErrorCode::None, ErrorCode::None));
    assert_ne!(one.id, two.id);
}
