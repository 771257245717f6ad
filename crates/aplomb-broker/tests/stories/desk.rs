//! Requests as such: who answers them, and what becomes of those that nobody can.

use aplomb_model::ErrorCode;

use crate::support::{
    AddPartitions, Batch, Broker, CreateTopic, DeleteTopic, Describe, DescribeProducers, Identity,
    InitProducerId, Produce, Setup,
};

#[test]
fn any_shard_takes_requests_that_are_for_the_controller() {
    let broker = Broker::of(Setup { shards: 3, ..Setup::default() });
    let client = broker.client_of_shard(2);
    assert_eq!(client.ask(CreateTopic::named("orders")).error, ErrorCode::None);
    assert_eq!(client.ask(AddPartitions::to("orders", 5)).error, ErrorCode::None);
    for shard in 0..3 {
        let described = broker.client_of_shard(shard).ask(Describe("orders"));
        assert_eq!(described.partitions.len(), 5, "all shards know when the answer goes out");
    }
    for partition in 0..5 {
        assert_eq!(client.ask(Produce::to(("orders", partition), "one")).error, ErrorCode::None);
    }
    assert_eq!(client.ask(InitProducerId).error, ErrorCode::None);
    assert_eq!(client.ask(DeleteTopic::named("orders")).error, ErrorCode::None);
    assert_eq!(broker.client().ask(Describe("orders")).error, ErrorCode::UnknownTopicOrPartition);
}

#[test]
fn a_frame_that_is_no_request_closes_its_connection() {
    let broker = Broker::start();
    broker.client().send_raw(&[0, 3]).wait_for_close();
    broker.client().send_raw(&[0, 3, 0, 9, 0, 0, 0, 1, 0xff, 0xff, 0, 0xff]).wait_for_close();
}

#[test]
fn an_api_that_is_not_served_closes_its_connection() {
    let broker = Broker::start();
    broker.client().send_raw(&request_of(4, 0)).wait_for_close(); // LeaderAndIsr
    broker.client().send_raw(&request_of(0, 99)).wait_for_close(); // Produce
}

#[test]
fn api_versions_of_a_newer_client_is_answered_with_what_is_served() {
    let broker = Broker::start();
    let no_tags_and_what_is_to_come = [0, 1, 2, 3];
    let request = [request_of(18, 99), no_tags_and_what_is_to_come.to_vec()].concat();
    let answer = broker.client().send_raw(&request).wait_for_bytes();
    let error = i16::from_be_bytes([answer[4], answer[5]]);
    assert_eq!(error, ErrorCode::UnsupportedVersion.to_wire());
}

/// A request of nothing but a header.
fn request_of(api: i16, version: i16) -> Vec<u8> {
    let correlation = 7_i32;
    [&api.to_be_bytes()[..], &version.to_be_bytes(), &correlation.to_be_bytes(), &[0xff, 0xff]].concat()
}

#[test]
fn producers_of_a_partition_are_described() {
    let broker = Broker::of(Setup { shards: 2, ..Setup::default() });
    broker.has_topic("orders");
    let client = broker.client();
    let producer: Identity = client.ask(InitProducerId);
    client.ask(Produce::to("orders", Batch::from("one").by(producer, 0)));
    for shard in 0..2 {
        let known = broker.client_of_shard(shard).ask(DescribeProducers("orders".into()));
        assert_eq!(known, Ok(vec![producer.id]));
    }
    let unknown = client.ask(DescribeProducers("payments".into()));
    assert_eq!(unknown, Err(ErrorCode::UnknownTopicOrPartition));
}
