//! Requests that the controller decides, on a metadata disk that does not answer or has no room.

use aplomb_model::ErrorCode;

use crate::support::{
    AddPartitions, Alter, Ask, Asked, Batch, Broker, CreateTopic, DeleteTopic, Describe, InitProducerId, MS,
    Produce, SECOND, Setup, UpdateFeature,
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

/// Sends a request with a timeout of five seconds, with the metadata disk frozen: it is answered
/// then, not earlier.
fn times_out<A: Ask>(broker: &Broker, ask: A) -> A::Answer {
    broker.disk(0).freeze();
    let asked: Asked<A> = broker.client().send(ask);
    broker.advance(5 * SECOND - MS);
    assert!(asked.is_waiting(), "{:?}", asked.answer());
    broker.advance(2 * MS);
    asked.answer()
}

#[test]
fn a_creation_times_out_and_the_topic_appears_when_the_disk_thaws() {
    let broker = Broker::on_two_disks();
    let created = times_out(&broker, CreateTopic::named("orders").within(5 * SECOND));
    assert_eq!(created.error, ErrorCode::RequestTimedOut);

    broker.disk(0).thaw();
    broker.advance(SECOND);
    assert_eq!(broker.client().ask(Describe("orders")).partitions[0].leader, 1);
}

#[test]
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
fn a_change_of_features_times_out() {
    let broker = Broker::on_two_disks();
    let updated = times_out(&broker, UpdateFeature::to("metadata.version", LEVEL).within(5 * SECOND));
    assert_eq!(updated.error, ErrorCode::RequestTimedOut);
}

#[test]
fn a_change_of_settings_times_out_as_a_forwarded_request_does() {
    let broker = Broker::on_two_disks();
    broker.has_topic("orders");
    broker.disk(0).freeze();
    let altered = broker.client().send(Alter::topic("orders", "retention.ms", "1000"));
    // The request has no timeout; a broker that forwards it gives up after a minute.
    broker.advance(61 * SECOND);
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

/// Freezes the metadata disk, and produces to "orders", which is on it, until its share has no more
/// room.
fn fill_the_metadata_disks_share(broker: &Broker) {
    broker.disk(0).freeze();
    for _ in 0..100 {
        let asked = broker.client().send(Produce::to("orders", Batch::of_size(2000)));
        broker.advance(MS);
        if asked.is_waiting() {
            return;
        }
    }
    panic!("the share takes more than it has");
}

fn with_a_small_tail() -> Broker {
    let broker = Broker::of(Setup { chunks: 16, ..Setup::default() });
    broker.has_topic("orders");
    broker
}

#[test]
fn a_creation_that_finds_no_memory_waits_for_it() {
    let broker = with_a_small_tail();
    fill_the_metadata_disks_share(&broker);
    let created = broker.client().send(CreateTopic::named("payments"));
    broker.advance(10 * SECOND);
    assert!(created.is_waiting());

    broker.disk(0).thaw();
    assert_eq!(created.wait().error, ErrorCode::None);
    assert_eq!(broker.client().ask(Describe("payments")).partitions[0].leader, 1);
}

#[test]
fn a_creation_that_finds_no_memory_in_time_is_refused_and_can_be_tried_again() {
    let broker = with_a_small_tail();
    fill_the_metadata_disks_share(&broker);
    let created = broker.client().send(CreateTopic::named("payments").within(5 * SECOND));
    broker.advance(6 * SECOND);
    assert_eq!(created.answer().error, ErrorCode::RequestTimedOut);

    broker.disk(0).thaw();
    broker.advance(SECOND);
    let again = broker.client().ask(CreateTopic::named("payments")).error;
    assert!([ErrorCode::None, ErrorCode::TopicAlreadyExists].contains(&again), "{again:?}");
}

#[test]
fn an_automatic_creation_that_finds_no_memory_is_made_when_there_is_some() {
    let settings = vec![("auto.create.topics.enable", "true")];
    let broker = Broker::of(Setup { chunks: 16, settings, ..Setup::default() });
    broker.has_topic("orders");
    fill_the_metadata_disks_share(&broker);
    let unknown = broker.client().ask(Describe("payments"));
    assert_eq!(unknown.error, ErrorCode::UnknownTopicOrPartition);

    broker.disk(0).thaw();
    broker.advance(SECOND);
    assert_eq!(broker.client().ask(Describe("payments")).error, ErrorCode::None);
}

#[test]
fn a_topic_is_made_for_a_client_that_asks_for_it() {
    let settings = vec![("auto.create.topics.enable", "true")];
    let broker = Broker::of(Setup { shards: 2, settings, ..Setup::default() });
    let client = broker.client_of_shard(1);
    assert_eq!(client.ask(Describe("orders")).error, ErrorCode::UnknownTopicOrPartition);
    broker.advance(SECOND);
    assert_eq!(client.ask(Describe("orders")).partitions[0].leader, 1);
}

/// Asks for producer ids until there is no answer, or an error.
fn use_up_producer_ids(broker: &Broker) -> Asked<InitProducerId> {
    let client = broker.client();
    for _ in 0..5000 {
        let asked = client.send(InitProducerId);
        if asked.is_waiting() {
            return asked;
        }
        let answer = asked.answer();
        if answer.error != ErrorCode::None {
            assert_eq!(answer.error, ErrorCode::CoordinatorLoadInProgress);
            return client.send(InitProducerId);
        }
    }
    panic!("ids are given out that no log has");
}

#[test]
fn a_producer_that_gets_no_id_from_a_frozen_disk_is_told_to_try_again() {
    let broker = Broker::start();
    broker.disk(0).freeze();
    let asked = use_up_producer_ids(&broker);
    broker.advance(30 * SECOND); // request.timeout.ms of clients
    assert_eq!(asked.answer().error, ErrorCode::CoordinatorLoadInProgress);
}

#[test]
fn producers_get_ids_again_when_the_metadata_disk_thaws() {
    let broker = Broker::start();
    broker.disk(0).freeze();
    let _asked = use_up_producer_ids(&broker);
    broker.disk(0).thaw();
    broker.advance(SECOND);
    assert_eq!(broker.client().ask(InitProducerId).error, ErrorCode::None);
}

#[test]
fn producers_get_ids_again_when_a_block_had_found_no_memory() {
    let broker = with_a_small_tail();
    fill_the_metadata_disks_share(&broker);
    let _asked = use_up_producer_ids(&broker);
    broker.disk(0).thaw();
    broker.advance(SECOND);
    let again = broker.client().send(InitProducerId);
    broker.advance(SECOND);
    assert_eq!(again.answer().error, ErrorCode::None);
}

#[test]
fn no_producer_id_is_given_out_twice() {
    let broker = Broker::start();
    let client = broker.client();
    let mut ids: Vec<i64> = (0..2500).map(|_| client.ask(InitProducerId).id).collect();
    broker.kill();
    broker.restart();
    ids.extend((0..10).map(|_| broker.client().ask(InitProducerId).id));
    let given = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), given);
}
