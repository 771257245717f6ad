//! Requests as such: who answers them, and what becomes of those that are none.

use aplomb_broker::api::APIS;
use aplomb_model::ErrorCode;
use aplomb_protocol::messages::{self as m, RequestHeader, ResponseHeader};
use aplomb_protocol::{ApiKey, Message, Reader, Request, Writer};

use crate::support::{
    AddPartitions, Batch, Broker, Client, CreateTopic, DeleteTopic, Describe, DescribeProducers, Identity,
    InitProducerId, Produce, SECOND, Setup,
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
    let no_tags = [0];
    let leader_and_isr = request_of(4, 0);
    let produce = [request_of(0, 99), no_tags.to_vec()].concat();
    broker.client().send_raw(&leader_and_isr).wait_for_close();
    broker.client().send_raw(&produce).wait_for_close();
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

/// Sends a request that asks for nothing, in every version that is served: each is answered, and
/// the answer can be read.
fn sends_nothing<Q: Request>(client: &Client) {
    sends(client, &Q::default());
}

fn sends<Q: Request>(client: &Client, request: &Q) {
    for version in Q::KEY.stable_versions().iter() {
        let mut writer = Writer::new();
        let header = RequestHeader {
            request_api_key: Q::KEY.key(),
            request_api_version: version,
            correlation_id: 7,
            client_id: None,
        };
        header.encode(&mut writer, Q::KEY.request_header_version(version)).expect("a header");
        request.encode(&mut writer, version).expect("a request");
        let asked = client.send_raw(&writer.freeze());
        if Q::KEY == ApiKey::Produce {
            asked.wait_for_nothing(); // acks=0
            continue;
        }
        let mut reader = Reader::new(asked.wait_for_bytes());
        let header = Q::KEY.response_header_version(version);
        ResponseHeader::decode(&mut reader, header).expect("an answer has a header");
        let answer = Q::Response::decode(&mut reader, version).and_then(|_| reader.finish());
        assert_eq!(answer, Ok(()), "{:?} in version {version}", Q::KEY);
    }
}

/// An API, and what sends its requests.
type Sends = (ApiKey, fn(&Client));

/// One for each API that is served.
fn requests() -> Vec<Sends> {
    fn one<Q: Request>() -> Sends {
        (Q::KEY, sends_nothing::<Q>)
    }
    // A filter of words that there are not cannot be read.
    fn all_acls(client: &Client) {
        let request = m::DescribeAclsRequest {
            resource_type_filter: 1,
            pattern_type_filter: 3,
            operation: 1,
            permission_type: 1,
            ..Default::default()
        };
        sends(client, &request);
    }
    vec![
        one::<m::ProduceRequest>(),
        one::<m::FetchRequest>(),
        one::<m::ListOffsetsRequest>(),
        one::<m::MetadataRequest>(),
        one::<m::OffsetCommitRequest>(),
        one::<m::OffsetFetchRequest>(),
        one::<m::FindCoordinatorRequest>(),
        one::<m::JoinGroupRequest>(),
        one::<m::HeartbeatRequest>(),
        one::<m::LeaveGroupRequest>(),
        one::<m::SyncGroupRequest>(),
        one::<m::DescribeGroupsRequest>(),
        one::<m::ListGroupsRequest>(),
        one::<m::SaslHandshakeRequest>(),
        one::<m::ApiVersionsRequest>(),
        one::<m::CreateTopicsRequest>(),
        one::<m::DeleteTopicsRequest>(),
        one::<m::DeleteRecordsRequest>(),
        one::<m::InitProducerIdRequest>(),
        one::<m::OffsetForLeaderEpochRequest>(),
        one::<m::AddPartitionsToTxnRequest>(),
        one::<m::AddOffsetsToTxnRequest>(),
        one::<m::EndTxnRequest>(),
        one::<m::WriteTxnMarkersRequest>(),
        one::<m::TxnOffsetCommitRequest>(),
        (ApiKey::DescribeAcls, all_acls),
        one::<m::CreateAclsRequest>(),
        one::<m::DeleteAclsRequest>(),
        one::<m::DescribeConfigsRequest>(),
        one::<m::AlterConfigsRequest>(),
        one::<m::AlterReplicaLogDirsRequest>(),
        one::<m::DescribeLogDirsRequest>(),
        one::<m::SaslAuthenticateRequest>(),
        one::<m::CreatePartitionsRequest>(),
        one::<m::CreateDelegationTokenRequest>(),
        one::<m::RenewDelegationTokenRequest>(),
        one::<m::ExpireDelegationTokenRequest>(),
        one::<m::DescribeDelegationTokenRequest>(),
        one::<m::DeleteGroupsRequest>(),
        one::<m::ElectLeadersRequest>(),
        one::<m::IncrementalAlterConfigsRequest>(),
        one::<m::AlterPartitionReassignmentsRequest>(),
        one::<m::ListPartitionReassignmentsRequest>(),
        one::<m::OffsetDeleteRequest>(),
        one::<m::DescribeClientQuotasRequest>(),
        one::<m::AlterClientQuotasRequest>(),
        one::<m::DescribeUserScramCredentialsRequest>(),
        one::<m::AlterUserScramCredentialsRequest>(),
        one::<m::DescribeQuorumRequest>(),
        one::<m::UpdateFeaturesRequest>(),
        one::<m::DescribeClusterRequest>(),
        one::<m::DescribeProducersRequest>(),
        one::<m::DescribeTransactionsRequest>(),
        one::<m::ListTransactionsRequest>(),
        one::<m::ConsumerGroupHeartbeatRequest>(),
        one::<m::ConsumerGroupDescribeRequest>(),
        one::<m::ListConfigResourcesRequest>(),
        one::<m::DescribeTopicPartitionsRequest>(),
    ]
}

#[test]
fn every_api_that_is_advertised_is_answered_in_every_version_by_every_shard() {
    let broker = Broker::of(Setup { shards: 2, ..Setup::default() });
    broker.has_topic("orders");
    broker.advance(2 * SECOND);
    let advertised: Vec<ApiKey> = APIS.iter().map(|served| served.key()).collect();
    assert_eq!(requests().iter().map(|(key, _)| *key).collect::<Vec<_>>(), advertised);
    for (_, send) in requests() {
        (0..2).for_each(|shard| send(&broker.client_of_shard(shard)));
    }
}

#[test]
fn a_request_that_asks_for_nothing_waits_for_no_disk() {
    let broker = Broker::of(Setup { shards: 2, disks: 2, ..Setup::default() });
    broker.has_topic("orders");
    broker.advance(2 * SECOND);
    (0..2).for_each(|disk| broker.disk(disk).freeze());
    let before = broker.wall_ms();
    for (_, send) in requests() {
        (0..2).for_each(|shard| send(&broker.client_of_shard(shard)));
    }
    assert_eq!(broker.wall_ms(), before, "no time has passed");
}
