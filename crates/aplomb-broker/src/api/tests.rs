//! Requests and responses of the APIs that are answered from metadata, in every version.

mod configs;
mod describe;
mod features;
mod quotas;

use aplomb_model::{BrokerId, ErrorCode, Offset, ProducerId, Uuid};
use aplomb_protocol::messages as m;
use aplomb_protocol::{Message, Request};

use super::*;
use crate::config::{BrokerConfig, Properties};
use crate::controller::{Controller, Node, Planned, create_with_defaults};
use crate::metadata::{Endpoint, MetadataImage};
use crate::quotas::Permits;

const NODE: BrokerId = BrokerId(1);

/// A broker whose log is always durable at once.
struct Broker {
    controller: Controller,
    config: BrokerConfig,
    ids: u128,
}

impl Broker {
    fn new() -> Self {
        Self::with(&[])
    }

    fn with(settings: &[(&str, &str)]) -> Self {
        let properties: Properties =
            settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let node = Self::node();
        let mut controller = Controller::new(MetadataImage::empty("cluster"));
        drop(controller.activate(&node, Offset::ZERO, false, true));
        let config = BrokerConfig::from_properties(&properties).expect("valid").0;
        drop(controller.say_min_in_sync(&config));
        drop(controller.register(&node, Offset::new(4)));
        Self { controller, config, ids: 0 }
    }

    fn node() -> Node {
        let endpoint = |name: &str, port: u16| Endpoint {
            name: name.to_owned(),
            host: "localhost".to_owned(),
            port,
            security_protocol: 0,
        };
        Node {
            id: NODE,
            incarnation: Uuid::from_u128(5),
            endpoints: vec![endpoint("PLAINTEXT", 9092)],
            controller_endpoints: vec![endpoint("CONTROLLER", 9093)],
            rack: Some("r1".to_owned()),
            directories: vec![Uuid::from_u128(1000)],
            cordoned_directories: vec![],
            metadata_directory: Uuid::from_u128(1000),
        }
    }

    fn ctx(&self) -> Context<'_> {
        Context {
            image: self.controller.image(),
            config: &self.config,
            listener: "PLAINTEXT",
            access: Access::open(),
        }
    }

    fn create(&mut self, request: &m::CreateTopicsRequest) -> Planned<m::CreateTopicsResponse> {
        let ids = &mut self.ids;
        let mut random = || {
            *ids += 1;
            (*ids << 64 | 7).to_be_bytes()
        };
        create_topics::plan(
            request,
            &mut self.controller,
            &self.config,
            &mut random,
            &mut Permits::unlimited(),
            &Access::open(),
        )
    }

    fn topic(&mut self, name: &str, partitions: i32) -> Uuid {
        let planned = self.create(&m::CreateTopicsRequest {
            topics: vec![creatable(name, partitions)],
            ..Default::default()
        });
        assert_eq!(planned.response.topics[0].error_code, 0, "{:?}", planned.response);
        planned.response.topics[0].topic_id
    }

    fn alter(&mut self, kind: i8, name: &str, configs: &[(&str, i8, Option<&str>)]) -> (i16, Option<String>) {
        let configs = configs
            .iter()
            .map(|(name, operation, value)| m::incremental_alter_configs_request::AlterableConfig {
                name: (*name).to_owned(),
                config_operation: *operation,
                value: value.map(str::to_owned),
            })
            .collect();
        let resource = m::incremental_alter_configs_request::AlterConfigsResource {
            resource_type: kind,
            resource_name: name.to_owned(),
            configs,
        };
        let request = m::IncrementalAlterConfigsRequest { resources: vec![resource], validate_only: false };
        let planned = configs::planned(&request, &mut self.controller, &self.config);
        encodes_in_all_versions::<m::IncrementalAlterConfigsRequest, _>(|_| planned.response.clone());
        let answer = planned.response.responses.into_iter().next().expect("one for each resource");
        (answer.error_code, answer.error_message)
    }
}

fn creatable(name: &str, partitions: i32) -> m::create_topics_request::CreatableTopic {
    m::create_topics_request::CreatableTopic {
        name: name.to_owned(),
        num_partitions: partitions,
        replication_factor: -1,
        ..Default::default()
    }
}

/// A response has to fit every version that its request is served in.
fn encodes_in_all_versions<Q: Request + Message, R: Message>(response: impl Fn(i16) -> R) {
    let key = aplomb_protocol::ApiKey::from_i16(Q::API_KEY.expect("a request")).expect("known");
    let served = APIS.iter().find(|served| served.key() == key).expect("served");
    for version in served.versions().min..=served.versions().max {
        let response = response(version);
        let bytes = response.to_bytes(version).unwrap_or_else(|error| panic!("version {version}: {error}"));
        R::from_bytes(bytes, version).expect("reads back");
    }
}

fn code(raw: i16) -> ErrorCode {
    ErrorCode::from_wire(raw).expect("a code of Kafka's")
}

fn software(name: &str) -> m::ApiVersionsRequest {
    m::ApiVersionsRequest {
        client_software_name: name.to_owned(),
        client_software_version: "1.0".to_owned(),
        ..Default::default()
    }
}

#[test]
fn versions_are_told_to_all_who_introduce_themselves() {
    let broker = Broker::new();
    let ctx = broker.ctx();
    let request = software("librdkafka");
    encodes_in_all_versions::<m::ApiVersionsRequest, _>(|version| {
        api_versions::handle(&request, version, APIS, &ctx)
    });
    let response = api_versions::handle(&request, 4, APIS, &ctx);
    let range = |key: i16| {
        response.api_keys.iter().find(|api| api.api_key == key).map(|api| (api.min_version, api.max_version))
    };
    assert_eq!(range(0), Some((0, 13)), "old librdkafka needs Produce from 0 on");
    assert_eq!(range(1), Some((4, 18)));
    assert_eq!(range(22), Some((0, 5)));
    assert_eq!(range(11), Some((0, 9)));
    assert_eq!(range(24), Some((0, 5)));
    assert_eq!(range(76), None, "there are no share groups yet");
    let features: Vec<_> = response
        .finalized_features
        .iter()
        .map(|f| (f.name.as_str(), f.min_version_level, f.max_version_level))
        .collect();
    let eligible = ("eligible.leader.replicas.version", 1, 1);
    let transactions = ("transaction.version", 2, 2);
    let metadata = ("metadata.version", 33, 33);
    assert_eq!(features, [eligible, metadata, transactions, ("kraft.version", 1, 1)]);
    assert_eq!(response.supported_features.len(), 4);
    let old = api_versions::handle(&request, 3, APIS, &ctx);
    assert_eq!(old.supported_features.len(), 1, "a feature that begins at 0 breaks old clients");
}

#[test]
fn versions_are_refused_to_strangers_and_to_those_who_meant_somebody_else() {
    let broker = Broker::new();
    let ctx = broker.ctx();
    let error = |request: &m::ApiVersionsRequest, version| {
        code(api_versions::handle(request, version, APIS, &ctx).error_code)
    };
    for name in ["", "-a", "a-", "a b", "ä"] {
        assert_eq!(error(&software(name), 3), ErrorCode::InvalidRequest, "{name}");
        assert_eq!(error(&software(name), 2), ErrorCode::None, "{name}");
    }
    let meant = |cluster: &str, node_id| m::ApiVersionsRequest {
        cluster_id: Some(cluster.to_owned()),
        node_id,
        ..software("java")
    };
    assert_eq!(error(&meant("cluster", 1), 5), ErrorCode::None);
    assert_eq!(error(&meant("other", 1), 5), ErrorCode::RebootstrapRequired);
    assert_eq!(error(&meant("cluster", 2), 5), ErrorCode::RebootstrapRequired);
    assert_eq!(error(&software("java"), 5), ErrorCode::None);

    let response = api_versions::unsupported_version();
    assert_eq!(code(response.error_code), ErrorCode::UnsupportedVersion);
    assert_eq!(response.api_keys.len(), 1);
    assert!(response.to_bytes(0).is_ok());
}

fn metadata_of(names: &[&str]) -> m::MetadataRequest {
    let topic = |name: &&str| m::metadata_request::MetadataRequestTopic {
        name: Some((*name).to_owned()),
        ..Default::default()
    };
    m::MetadataRequest { topics: Some(names.iter().map(topic).collect()), ..Default::default() }
}

#[test]
fn metadata_says_who_leads_what() {
    let mut broker = Broker::new();
    let id = broker.topic("t", 2);
    let ctx = broker.ctx();
    let request = m::MetadataRequest {
        include_topic_authorized_operations: true,
        include_cluster_authorized_operations: true,
        ..metadata_of(&["t", "t"])
    };
    encodes_in_all_versions::<m::MetadataRequest, _>(|version| {
        metadata::handle(&request, version, &ctx).response
    });
    let response = metadata::handle(&request, 9, &ctx).response;
    assert_eq!((response.controller_id, response.cluster_id.as_deref()), (1, Some("cluster")));
    assert_eq!((response.brokers[0].host.as_str(), response.brokers[0].port), ("localhost", 9092));
    assert_eq!(response.topics.len(), 1);
    let topic = &response.topics[0];
    assert_eq!((topic.topic_id, topic.error_code, topic.partitions.len()), (id, 0, 2));
    assert_eq!((topic.partitions[1].leader_id, &topic.partitions[1].isr_nodes[..]), (1, &[1][..]));
    assert_eq!((topic.topic_authorized_operations, response.cluster_authorized_operations), (3576, 8096));

    let all = m::MetadataRequest { topics: None, ..Default::default() };
    assert_eq!(metadata::handle(&all, 12, &ctx).response.topics.len(), 1);
    assert_eq!(metadata::handle(&metadata_of(&[]), 0, &ctx).response.topics.len(), 1);
    assert_eq!(metadata::handle(&metadata_of(&[]), 1, &ctx).response.topics.len(), 0);
}

#[test]
fn asking_for_a_topic_creates_it_unless_one_does_not_want_that() {
    let mut broker = Broker::new();
    let request = metadata_of(&["new", "bad name", "__consumer_offsets"]);
    let answer = metadata::handle(&request, 13, &broker.ctx());
    assert_eq!(answer.create, ["new"]);
    let codes: Vec<_> = answer.response.topics.iter().map(|topic| code(topic.error_code)).collect();
    let unknown = ErrorCode::UnknownTopicOrPartition;
    // Only its coordinator makes an internal topic; a client that waits for it waits in vain.
    assert_eq!(codes, [unknown, ErrorCode::InvalidTopicException, ErrorCode::InvalidTopicException]);
    let without = m::MetadataRequest { allow_auto_topic_creation: false, ..request.clone() };
    assert_eq!(metadata::handle(&without, 13, &broker.ctx()).create, [""; 0]);

    let (controller, mut random) = (&mut broker.controller, || [7; 16]);
    let records = create_with_defaults(&answer.create, controller, &broker.config, &mut random);
    assert_eq!(records.len(), 2, "a topic and its partition");
    assert_eq!(metadata::handle(&request, 13, &broker.ctx()).create, [""; 0]);

    let never = Broker::with(&[("auto.create.topics.enable", "false")]);
    assert_eq!(metadata::handle(&request, 13, &never.ctx()).create, [""; 0]);
}

#[test]
fn topics_have_ids_from_version_12_on() {
    let mut broker = Broker::new();
    let id = broker.topic("t", 1);
    let by_id = |id: Uuid| m::MetadataRequest {
        topics: Some(vec![m::metadata_request::MetadataRequestTopic { topic_id: id, name: None }]),
        ..Default::default()
    };
    let ctx = broker.ctx();
    let answer = |id: Uuid, version| metadata::handle(&by_id(id), version, &ctx).response.topics.remove(0);
    assert_eq!(answer(id, 12).name.as_deref(), Some("t"));
    let unknown = answer(Uuid::from_u128(9), 12);
    assert_eq!((code(unknown.error_code), unknown.name), (ErrorCode::UnknownTopicId, None));
    assert_eq!(code(answer(id, 11).error_code), ErrorCode::InvalidRequest);
    assert!(metadata::handle(&by_id(id), 11, &ctx).response.to_bytes(11).is_ok());
}

#[test]
fn a_leader_behind_another_listener_is_not_there() {
    let mut broker = Broker::new();
    broker.topic("t", 1);
    let ctx = Context { listener: "OTHER", ..broker.ctx() };
    let partition = |version| {
        metadata::handle(&metadata_of(&["t"]), version, &ctx).response.topics.remove(0).partitions.remove(0)
    };
    assert_eq!(code(partition(6).error_code), ErrorCode::ListenerNotFound);
    assert_eq!(code(partition(5).error_code), ErrorCode::LeaderNotAvailable);
    assert_eq!((partition(6).leader_id, &partition(6).offline_replicas[..]), (-1, &[1][..]));
    assert_eq!((partition(0).replica_nodes.len(), partition(1).replica_nodes.len()), (0, 1));
}

#[test]
fn the_cluster_is_described_to_those_who_ask_for_brokers() {
    let broker = Broker::new();
    let ctx = broker.ctx();
    let request =
        m::DescribeClusterRequest { include_cluster_authorized_operations: true, ..Default::default() };
    encodes_in_all_versions::<m::DescribeClusterRequest, _>(|version| {
        describe_cluster::handle(&request, version, &ctx)
    });
    let response = describe_cluster::handle(&request, 2, &ctx);
    assert_eq!(
        (response.controller_id, response.brokers.len(), response.cluster_authorized_operations),
        (1, 1, 8096)
    );
    let controllers = m::DescribeClusterRequest { endpoint_type: 2, ..Default::default() };
    let error = |version| code(describe_cluster::handle(&controllers, version, &ctx).error_code);
    assert_eq!((error(0), error(1)), (ErrorCode::InvalidRequest, ErrorCode::MismatchedEndpointType));
    let nobody = m::DescribeClusterRequest { endpoint_type: 3, ..Default::default() };
    assert_eq!(
        code(describe_cluster::handle(&nobody, 1, &ctx).error_code),
        ErrorCode::UnsupportedEndpointType
    );
}

#[test]
fn creation_is_planned_topic_by_topic() {
    let mut broker = Broker::new();
    broker.topic("there", 1);
    let request = m::CreateTopicsRequest {
        topics: vec![
            creatable("new", 3),
            creatable("there", 1),
            creatable("twice", 1),
            creatable("twice", 2),
            creatable("__cluster_metadata", 1),
            m::create_topics_request::CreatableTopic {
                assignments: vec![m::create_topics_request::CreatableReplicaAssignment {
                    partition_index: 0,
                    broker_ids: vec![1],
                }],
                ..creatable("assigned", 1)
            },
        ],
        validate_only: true,
        ..Default::default()
    };
    let validated = broker.create(&request);
    assert_eq!(validated.records, []);
    let planned = broker.create(&m::CreateTopicsRequest { validate_only: false, ..request });
    encodes_in_all_versions::<m::CreateTopicsRequest, _>(|_| planned.response.clone());
    let outcome: Vec<_> =
        planned.response.topics.iter().map(|topic| (topic.name.as_str(), code(topic.error_code))).collect();
    let invalid = ErrorCode::InvalidRequest;
    assert_eq!(
        outcome,
        [
            ("new", ErrorCode::None),
            ("there", ErrorCode::TopicAlreadyExists),
            ("twice", invalid),
            ("__cluster_metadata", invalid),
            ("assigned", invalid)
        ]
    );
    assert_eq!(planned.records.len(), 4);
    let new = &planned.response.topics[0];
    assert_eq!((new.num_partitions, new.replication_factor), (3, 1));
    let configs = new.configs.as_ref().expect("the settings in force");
    let retention = configs.iter().find(|config| config.name == "retention.ms").expect("there");
    assert_eq!((retention.value.as_deref(), retention.config_source), (Some("604800000"), 5));
    assert!(configs.is_sorted_by(|left, right| left.name < right.name));
}

#[test]
fn deletion_is_planned_by_name_or_id() {
    let mut broker = Broker::new();
    let (a, b) = (broker.topic("a", 1), broker.topic("b", 1));
    broker.topic("c", 1);
    let by = |name: Option<&str>, topic_id| m::delete_topics_request::DeleteTopicState {
        name: name.map(str::to_owned),
        topic_id,
    };
    let request = m::DeleteTopicsRequest {
        topics: vec![
            by(None, a),
            by(None, Uuid::from_u128(9)),
            by(Some("none"), Uuid::ZERO),
            by(None, Uuid::ZERO),
            by(Some("a"), a),
            by(Some("b"), Uuid::ZERO),
            by(None, b),
            by(Some("c"), Uuid::ZERO),
            by(Some("c"), Uuid::ZERO),
        ],
        ..Default::default()
    };
    let planned = delete_topics::plan(
        &request,
        6,
        &mut broker.controller,
        &broker.config,
        &mut Permits::unlimited(),
        &Access::open(),
    );
    let unknown = planned.response.responses[2].error_message.as_deref();
    assert_eq!(unknown, Some("This server does not host this topic-partition."));
    let invalid = ErrorCode::InvalidRequest;
    let outcome: Vec<_> = planned.response.responses.iter().map(|topic| code(topic.error_code)).collect();
    assert_eq!(
        outcome,
        [
            ErrorCode::None,
            ErrorCode::UnknownTopicId,
            ErrorCode::UnknownTopicOrPartition,
            invalid,
            invalid,
            invalid,
            invalid,
            invalid
        ]
    );
    assert_eq!(planned.response.responses[0].name.as_deref(), Some("a"));
    assert_eq!(planned.records.len(), 1);

    let names = m::DeleteTopicsRequest { topic_names: vec!["b".to_owned()], ..Default::default() };
    let planned = delete_topics::plan(
        &names,
        5,
        &mut broker.controller,
        &broker.config,
        &mut Permits::unlimited(),
        &Access::open(),
    );
    encodes_in_all_versions::<m::DeleteTopicsRequest, _>(|_| planned.response.clone());
    assert_eq!(planned.records.len(), 1);

    let mut refusing = Broker::with(&[("delete.topic.enable", "false")]);
    refusing.topic("b", 1);
    let mut refused = |version| {
        let planned = delete_topics::plan(
            &names,
            version,
            &mut refusing.controller,
            &refusing.config,
            &mut Permits::unlimited(),
            &Access::open(),
        );
        assert_eq!(planned.records, []);
        code(planned.response.responses[0].error_code)
    };
    assert_eq!((refused(2), refused(3)), (invalid, ErrorCode::TopicDeletionDisabled));
}

#[test]
fn partitions_are_planned_topic_by_topic() {
    let mut broker = Broker::new();
    broker.topic("t", 1);
    let more = |name: &str, count| m::create_partitions_request::CreatePartitionsTopic {
        name: name.to_owned(),
        count,
        assignments: None,
    };
    let request = m::CreatePartitionsRequest {
        topics: vec![more("t", 3), more("none", 3), more("u", 1), more("u", 2)],
        ..Default::default()
    };
    let planned =
        create_partitions::plan(&request, &mut broker.controller, &mut Permits::unlimited(), &Access::open());
    encodes_in_all_versions::<m::CreatePartitionsRequest, _>(|_| planned.response.clone());
    let outcome: Vec<_> = planned.response.results.iter().map(|result| code(result.error_code)).collect();
    assert_eq!(outcome, [ErrorCode::None, ErrorCode::UnknownTopicOrPartition, ErrorCode::InvalidRequest]);
    assert_eq!(planned.records.len(), 2);
}

#[test]
fn an_identity_is_whole_or_not_there_and_a_transactional_id_has_letters() {
    let fresh = m::InitProducerIdRequest {
        transactional_id: None,
        producer_id: -1,
        producer_epoch: -1,
        transaction_timeout_ms: 60_000,
        ..Default::default()
    };
    let check = init_producer_id::check;
    assert_eq!(check(&fresh), Ok(()));
    assert_eq!(
        check(&m::InitProducerIdRequest { producer_id: 0, producer_epoch: 3, ..fresh.clone() }),
        Ok(())
    );
    let half = m::InitProducerIdRequest { producer_id: 5, ..fresh.clone() };
    assert_eq!(check(&half), Err(ErrorCode::InvalidRequest));
    let transactional = |id: &str, transaction_timeout_ms| m::InitProducerIdRequest {
        transactional_id: Some(id.to_owned()),
        transaction_timeout_ms,
        ..fresh.clone()
    };
    assert_eq!(check(&transactional("", 1)), Err(ErrorCode::InvalidRequest));
    assert_eq!(check(&transactional("t", 0)), Ok(()), "its coordinator knows how long it may last");
    for ended in [Ok((ProducerId::from_wire(7).expect("an id"), 3)), Err(ErrorCode::NotCoordinator)] {
        encodes_in_all_versions::<m::InitProducerIdRequest, _>(|_| init_producer_id::response(ended));
    }
}
