//! What an administrator asks: settings, topics in detail, the cluster and its quorum.

use aplomb_model::{ErrorCode, Uuid};
use aplomb_protocol::messages as m;

use crate::support::{
    Alter, AsIs, Broker, Client, CreateTopic, Describe, Fetch, NODE, Produce, SECOND, Setup,
};

const TOPIC: i8 = 2;
const BROKER: i8 = 4;
const OF_THE_TOPIC: i8 = 1;
const DEFAULT: i8 = 5;

fn none(code: i16) {
    assert_eq!(ErrorCode::from_wire(code), Some(ErrorCode::None));
}

/// A setting of a topic as DescribeConfigs shows it: its value, and where it comes from.
fn setting(client: &Client, topic: &str, key: &str) -> (String, i8) {
    setting_of(client, (TOPIC, topic), key)
}

fn setting_of(client: &Client, (resource_type, name): (i8, &str), key: &str) -> (String, i8) {
    use m::describe_configs_request::{DescribeConfigsRequest, DescribeConfigsResource};
    let resource = DescribeConfigsResource {
        resource_type,
        resource_name: name.to_owned(),
        configuration_keys: Some(vec![key.to_owned()]),
    };
    let request = DescribeConfigsRequest { resources: vec![resource], ..Default::default() };
    let described = client.ask(AsIs::<_, 4>(request));
    none(described.results[0].error_code);
    let config = &described.results[0].configs[0];
    (config.value.clone().unwrap_or_default(), config.config_source)
}

#[test]
fn settings_are_described_with_where_they_come_from() {
    let broker = Broker::of(Setup { shards: 2, ..Setup::default() });
    broker.has(CreateTopic::named("orders").with("retention.ms", "1000"));
    let client = broker.client_of_shard(1);
    assert_eq!(setting(&client, "orders", "retention.ms"), ("1000".to_owned(), OF_THE_TOPIC));
    assert_eq!(setting(&client, "orders", "flush.messages").1, DEFAULT);
    assert_eq!(client.ask(Alter::topic("orders", "flush.messages", "1")).error, ErrorCode::None);
    assert_eq!(setting(&client, "orders", "flush.messages"), ("1".to_owned(), OF_THE_TOPIC));
}

#[test]
fn alter_configs_replaces_all_settings_of_a_topic() {
    use m::alter_configs_request::{AlterConfigsRequest, AlterConfigsResource, AlterableConfig};
    let broker = Broker::start();
    broker.has(CreateTopic::named("orders").with("retention.ms", "1000"));
    let config = AlterableConfig { name: "retention.bytes".to_owned(), value: Some("5".to_owned()) };
    let resource = AlterConfigsResource {
        resource_type: TOPIC,
        resource_name: "orders".to_owned(),
        configs: vec![config],
    };
    let request = AlterConfigsRequest { resources: vec![resource], validate_only: false };
    none(broker.client().ask(AsIs::<_, 2>(request)).responses[0].error_code);
    let client = broker.client();
    assert_eq!(setting(&client, "orders", "retention.bytes"), ("5".to_owned(), OF_THE_TOPIC));
    assert_eq!(setting(&client, "orders", "retention.ms").1, DEFAULT);
}

#[test]
fn what_is_only_validated_is_not_done() {
    use m::create_topics_request::{CreatableTopic, CreateTopicsRequest};
    let broker = Broker::start();
    let topic = |name: &str, num_partitions| CreatableTopic {
        name: name.to_owned(),
        num_partitions,
        replication_factor: 1,
        ..Default::default()
    };
    let topics = vec![topic("orders", 1), topic("payments", 0)];
    let request = CreateTopicsRequest { topics, timeout_ms: 1000, validate_only: true };
    let answer = broker.client().ask(AsIs::<_, 7>(request));
    let errors: Vec<_> = answer.topics.iter().map(|t| ErrorCode::from_wire(t.error_code)).collect();
    assert_eq!(errors, [Some(ErrorCode::None), Some(ErrorCode::InvalidPartitions)]);
    let unknown = broker.client().ask(Describe("orders"));
    assert_eq!(unknown.error, ErrorCode::UnknownTopicOrPartition);
}

/// The id of a topic.
fn id_of(client: &Client, name: &str) -> Uuid {
    use m::metadata_request::{MetadataRequest, MetadataRequestTopic};
    let topic = MetadataRequestTopic { name: Some(name.to_owned()), ..Default::default() };
    let request = MetadataRequest { topics: Some(vec![topic]), ..Default::default() };
    client.ask(AsIs::<_, 13>(request)).topics[0].topic_id
}

#[test]
fn clients_may_name_a_topic_by_its_id() {
    use m::delete_topics_request::{DeleteTopicState, DeleteTopicsRequest};
    use m::fetch_request::{FetchPartition, FetchRequest, FetchTopic};
    let broker = Broker::of(Setup { shards: 2, ..Setup::default() });
    broker.has_topic("orders");
    let client = broker.client();
    client.ask(Produce::to("orders", "one"));
    let topic_id = id_of(&client, "orders");
    let fetch = |topic_id| {
        let partitions = vec![FetchPartition { partition_max_bytes: 1000, ..Default::default() }];
        let topics = vec![FetchTopic { topic_id, partitions, ..Default::default() }];
        let answer = client.ask(AsIs::<_, 16>(FetchRequest { topics, ..Default::default() }));
        let part = &answer.responses[0].partitions[0];
        (ErrorCode::from_wire(part.error_code), part.records.as_ref().map_or(0, |bytes| bytes.len()))
    };
    let (error, bytes) = fetch(topic_id);
    assert_eq!(error, Some(ErrorCode::None));
    assert!(bytes > 0);
    assert_eq!(fetch(Uuid::from_u128(7)).0, Some(ErrorCode::UnknownTopicId));

    let topics = vec![DeleteTopicState { name: None, topic_id }];
    let request = DeleteTopicsRequest { topics, timeout_ms: 1000, ..Default::default() };
    none(client.ask(AsIs::<_, 6>(request)).responses[0].error_code);
    assert_eq!(fetch(topic_id).0, Some(ErrorCode::UnknownTopicId));
}

#[test]
fn a_session_does_not_change_from_names_to_ids() {
    use m::fetch_request::FetchRequest;
    let broker = Broker::start();
    broker.has_topic("orders");
    let client = broker.client();
    let session_id = client.ask(Fetch::of_session(0, 0).and("orders", 0)).session;
    let request = FetchRequest { session_id, session_epoch: 1, ..Default::default() };
    let answer = client.ask(AsIs::<_, 13>(request));
    assert_eq!(ErrorCode::from_wire(answer.error_code), Some(ErrorCode::FetchSessionTopicIdError));
}

#[test]
fn topics_are_described_in_pages() {
    use m::describe_topic_partitions_request::{Cursor, DescribeTopicPartitionsRequest};
    let broker = Broker::of(Setup { shards: 2, ..Setup::default() });
    broker.has(CreateTopic::named("orders").partitions(3));
    broker.has(CreateTopic::named("payments").partitions(2));
    let client = broker.client_of_shard(1);
    let mut cursor = None;
    let mut seen = Vec::new();
    for _ in 0..10 {
        let request =
            DescribeTopicPartitionsRequest { response_partition_limit: 2, cursor, ..Default::default() };
        let page = client.ask(AsIs::<_, 0>(request));
        for topic in page.topics {
            let name = topic.name.unwrap_or_default();
            seen.extend(topic.partitions.iter().map(|part| (name.clone(), part.partition_index)));
        }
        let Some(next) = page.next_cursor else { break };
        let (topic_name, partition_index) = (next.topic_name, next.partition_index);
        cursor = Some(Cursor { topic_name, partition_index });
    }
    let expected = [("orders", 0), ("orders", 1), ("orders", 2), ("payments", 0), ("payments", 1)];
    assert_eq!(seen, expected.map(|(topic, index)| (topic.to_owned(), index)));
}

#[test]
fn the_cluster_is_one_broker_that_leads_its_quorum() {
    use m::describe_quorum_request::{DescribeQuorumRequest, PartitionData, TopicData};
    let broker = Broker::of(Setup { shards: 2, ..Setup::default() });
    let client = broker.client_of_shard(1);
    let request = m::DescribeClusterRequest { endpoint_type: 1, ..Default::default() };
    let cluster = client.ask(AsIs::<_, 2>(request));
    let brokers: Vec<_> = cluster.brokers.iter().map(|b| (b.broker_id, b.is_fenced)).collect();
    assert_eq!((cluster.controller_id, brokers), (NODE, vec![(NODE, false)]));

    let partitions = vec![PartitionData { partition_index: 0 }];
    let topics = vec![TopicData { topic_name: "__cluster_metadata".to_owned(), partitions }];
    let quorum = |client: &Client| {
        let answer = client.ask(AsIs::<_, 2>(DescribeQuorumRequest { topics: topics.clone() }));
        let part = &answer.topics[0].partitions[0];
        (part.leader_id, part.high_watermark, part.current_voters[0].log_end_offset)
    };
    let (leader, before, end) = quorum(&client);
    assert_eq!((leader, before), (NODE, end));
    broker.disk(0).freeze();
    broker.client().send(CreateTopic::named("orders"));
    let (_, high_watermark, end) = quorum(&client);
    assert_eq!(high_watermark, before, "nothing is committed that no disk has");
    assert!(end > before);
    broker.disk(0).thaw();
    broker.advance(SECOND);
    let (_, high_watermark, end) = quorum(&client);
    assert_eq!(high_watermark, end);
}

#[test]
fn a_reassignment_to_where_a_partition_is_is_done_and_any_other_is_refused() {
    use m::alter_partition_reassignments_request as asked;
    let broker = Broker::of(Setup { shards: 2, ..Setup::default() });
    broker.has_topic("orders");
    let reassign = |replicas: Option<Vec<i32>>| {
        let partitions = vec![asked::ReassignablePartition { partition_index: 0, replicas }];
        let topics = vec![asked::ReassignableTopic { name: "orders".to_owned(), partitions }];
        let request = m::AlterPartitionReassignmentsRequest { topics, ..Default::default() };
        let answer = broker.client_of_shard(1).ask(AsIs::<_, 0>(request));
        ErrorCode::from_wire(answer.responses[0].partitions[0].error_code)
    };
    assert_eq!(reassign(Some(vec![NODE])), Some(ErrorCode::None));
    assert_eq!(reassign(Some(vec![NODE + 1])), Some(ErrorCode::InvalidReplicaAssignment));
    assert_eq!(reassign(None), Some(ErrorCode::NoReassignmentInProgress));
}

#[test]
fn resources_with_settings_are_listed() {
    let broker = Broker::start();
    broker.has_topic("orders");
    let request = m::ListConfigResourcesRequest { resource_types: vec![TOPIC, BROKER] };
    let answer = broker.client().ask(AsIs::<_, 1>(request));
    none(answer.error_code);
    let named = |(name, kind): (&str, i8)| {
        answer.config_resources.iter().any(|r| r.resource_name == name && r.resource_type == kind)
    };
    assert!(named(("orders", TOPIC)) && named(("1", BROKER)), "{:?}", answer.config_resources);
}

#[test]
fn the_same_topic_twice_in_a_request_is_refused() {
    use m::create_topics_request::{CreatableTopic, CreateTopicsRequest};
    let broker = Broker::start();
    let topic = CreatableTopic {
        name: "orders".to_owned(),
        num_partitions: 1,
        replication_factor: 1,
        ..Default::default()
    };
    let topics = vec![topic.clone(), topic];
    let request = CreateTopicsRequest { topics, timeout_ms: 1000, validate_only: false };
    let answer = broker.client().ask(AsIs::<_, 7>(request));
    assert_eq!(answer.topics.len(), 1);
    assert_eq!(ErrorCode::from_wire(answer.topics[0].error_code), Some(ErrorCode::InvalidRequest));
    broker.has_topic("orders");
}

/// While it is found out whether a store can be used.
#[test]
fn what_a_connection_asks_behind_a_change_that_has_to_wait_is_done_behind_it() {
    for shard in [0, 1] {
        let settings = vec![
            ("listeners", "PLAINTEXT://:9092,OUT://:9093"),
            ("listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,OUT:SSL"),
            ("listener.name.out.ssl.keystore.type", "PEM"),
            ("listener.name.out.ssl.keystore.location", "old.pem"),
        ];
        let broker = Broker::of(Setup { shards: 2, settings, ..Setup::default() });
        let [client, other] = [shard, shard].map(|shard| broker.client_of_shard(shard));
        let retention = |value| Alter::brokers("log.retention.ms", value);
        // No thread looks at the store here: who wants it is told that it was too late.
        let first = client.send(Alter::broker("listener.name.out.ssl.keystore.location", "new.pem"));
        let second = client.send(retention("1000"));
        let third = client.send(retention("2000"));
        broker.advance(SECOND);
        assert!(first.is_waiting() && second.is_waiting() && third.is_waiting());
        assert_eq!(other.ask(retention("3000")).error, ErrorCode::None, "others do not wait with it");
        assert_eq!(first.wait().error, ErrorCode::RequestTimedOut);
        assert_eq!([second.wait().error, third.wait().error], [ErrorCode::None; 2]);
        let (retention, _) = setting_of(&client, (BROKER, &NODE.to_string()), "log.retention.ms");
        assert_eq!(retention, "2000");
    }
}
