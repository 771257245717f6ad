//! Settings: shown, changed one by one or all at once, refused.

use aplomb_model::Instant;

use super::super::config_changes::Stores;
use super::*;
use crate::store_checks::{StoreChecks, StoreTask};

/// What is planned of changes that are about no store.
pub(super) fn planned(
    request: &m::IncrementalAlterConfigsRequest,
    controller: &mut Controller,
    config: &BrokerConfig,
) -> Planned<m::IncrementalAlterConfigsResponse> {
    let checks = StoreChecks::new(|| {});
    let stores = &mut Stores::new(&checks, Instant::START);
    incremental_alter_configs::plan(request, controller, config, &Access::open(), stores)
}

#[test]
fn settings_show_where_they_come_from() {
    let mut broker = Broker::with(&[("log.retention.ms", "7000"), ("ssl.key.password", "secret")]);
    broker.topic("t", 1);
    assert_eq!(broker.alter(2, "t", &[("retention.ms", 0, Some("5000"))]).0, 0);
    assert_eq!(broker.alter(4, "", &[("log.retention.ms", 0, Some("6000"))]).0, 0);
    let ctx = broker.ctx();
    let resource = |kind, name: &str| m::describe_configs_request::DescribeConfigsResource {
        resource_type: kind,
        resource_name: name.to_owned(),
        configuration_keys: None,
    };
    let request = m::DescribeConfigsRequest {
        resources: vec![
            resource(2, "t"),
            resource(4, "1"),
            resource(4, ""),
            resource(2, "none"),
            resource(4, "2"),
        ],
        include_synonyms: true,
        include_documentation: true,
    };
    encodes_in_all_versions::<m::DescribeConfigsRequest, _>(|_| describe_configs::handle(&request, &ctx));
    let results = describe_configs::handle(&request, &ctx).results;
    let find = |at: usize, name: &str| {
        results[at].configs.iter().find(|config| config.name == name).expect("listed")
    };

    let retention = find(0, "retention.ms");
    assert_eq!(
        (retention.value.as_deref(), retention.config_source, retention.read_only),
        (Some("5000"), 1, false)
    );
    let synonyms: Vec<_> =
        retention.synonyms.iter().map(|s| (s.name.as_str(), s.value.as_deref(), s.source)).collect();
    assert_eq!(
        synonyms,
        [
            ("retention.ms", Some("5000"), 1),
            ("log.retention.ms", Some("6000"), 3),
            ("log.retention.ms", Some("7000"), 4),
            ("log.retention.hours", Some("168"), 5),
        ]
    );
    assert!(retention.documentation.is_some());
    assert_eq!(find(0, "segment.bytes").config_source, 5);

    let of_broker = find(1, "log.retention.ms");
    assert_eq!((of_broker.value.as_deref(), of_broker.config_source), (Some("6000"), 3));
    let password = find(1, "ssl.key.password");
    assert_eq!((password.value.as_deref(), password.is_sensitive), (None, true));
    assert_eq!((find(1, "node.id").value.as_deref(), find(1, "node.id").read_only), (Some("1"), true));
    let of_all: Vec<_> = results[2].configs.iter().map(|config| config.name.as_str()).collect();
    assert_eq!(of_all, ["log.retention.ms", "min.insync.replicas"]);
    assert_eq!(code(results[3].error_code), ErrorCode::UnknownTopicOrPartition);
    assert_eq!(code(results[4].error_code), ErrorCode::InvalidRequest);
}

#[test]
fn one_may_ask_for_a_resource_once_and_for_single_settings() {
    let broker = Broker::new();
    let resource = m::describe_configs_request::DescribeConfigsResource {
        resource_type: 4,
        resource_name: "1".to_owned(),
        configuration_keys: Some(vec!["node.id".to_owned()]),
    };
    let again = m::describe_configs_request::DescribeConfigsResource {
        resource_name: "+1".to_owned(),
        ..resource.clone()
    };
    let resources = vec![resource.clone(), resource, again];
    let request = m::DescribeConfigsRequest { resources, ..Default::default() };
    let results = describe_configs::handle(&request, &broker.ctx()).results;
    assert_eq!(results[0].configs.len(), 1);
    assert_eq!(code(results[1].error_code), ErrorCode::InvalidRequest);
    assert_eq!(code(results[2].error_code), ErrorCode::InvalidRequest);
}

#[test]
fn one_may_ask_for_so_many_groups_that_need_not_be_there() {
    let broker = Broker::new();
    let group = |n| m::describe_configs_request::DescribeConfigsResource {
        resource_type: 32,
        resource_name: format!("group-{n}"),
        configuration_keys: Some(vec!["consumer.session.timeout.ms".to_owned()]),
    };
    let request =
        m::DescribeConfigsRequest { resources: (0..10_002).map(group).collect(), ..Default::default() };
    let results = describe_configs::handle(&request, &broker.ctx()).results;
    let described = results.iter().take_while(|result| result.error_code == 0 && result.configs.len() == 1);
    assert_eq!((described.count(), results.len()), (10_000, 10_002));
    assert_eq!(
        (code(results[10_001].error_code), results[10_001].configs.len()),
        (ErrorCode::InvalidRequest, 0)
    );
}

#[test]
fn changes_of_settings_are_refused_with_a_reason() {
    let mut broker = Broker::new();
    broker.topic("t", 1);
    let invalid = ErrorCode::InvalidRequest;
    let mut refusal = |kind, name: &str, configs: &[(&str, i8, Option<&str>)]| {
        let (error, message) = broker.alter(kind, name, configs);
        (code(error), message.expect("a reason"))
    };
    assert_eq!(
        refusal(2, "t", &[("retention.ms", 0, None)]),
        (invalid, "Null value not supported for : retention.ms".to_owned())
    );
    assert_eq!(refusal(2, "t", &[("a", 0, Some("1")), ("a", 1, None)]).0, invalid);
    assert_eq!(
        refusal(2, "t", &[("retention.ms", 9, Some("1"))]),
        (invalid, "Unknown operations type 9".to_owned())
    );
    assert_eq!(
        refusal(2, "t", &[("retention.ms", 0, Some("x"))]),
        (
            ErrorCode::InvalidConfig,
            "Invalid value x for configuration retention.ms: Not a number of type LONG".to_owned()
        )
    );
    assert_eq!(refusal(99, "t", &[]).0, invalid);
    assert_eq!(refusal(2, "", &[]).0, invalid);
    assert_eq!(refusal(4, "one", &[]).0, invalid);
    assert_eq!(refusal(4, "1", &[("process.roles", 0, Some("broker"))]).0, invalid);
    assert_eq!(
        refusal(4, "1", &[("listeners", 0, Some("PLAINTEXT://:9999"))]).1,
        "These configs are read when the broker starts, and cannot be changed while it runs: [listeners]"
    );
    assert!(
        refusal(4, "1", &[("cordoned.log.dirs", 0, Some("/elsewhere"))])
            .1
            .contains("accepted is * or some of")
    );
    let by_name = ("max.connections.per.ip.overrides", 0, Some("localhost:3"));
    assert!(refusal(4, "", &[by_name]).1.contains("localhost must be an address"));
}

#[test]
fn all_settings_at_once_replace_what_was_there() {
    let mut broker = Broker::new();
    broker.topic("t", 1);
    assert_eq!(broker.alter(2, "t", &[("retention.ms", 0, Some("1")), ("segment.ms", 0, Some("2"))]).0, 0);
    let mut replace = |kind, name: &str, configs: &[(&str, Option<&str>)]| {
        let configs = configs
            .iter()
            .map(|(name, value)| m::alter_configs_request::AlterableConfig {
                name: (*name).to_owned(),
                value: value.map(str::to_owned),
            })
            .collect();
        let resource = m::alter_configs_request::AlterConfigsResource {
            resource_type: kind,
            resource_name: name.to_owned(),
            configs,
        };
        let request = m::AlterConfigsRequest { resources: vec![resource], validate_only: false };
        let checks = StoreChecks::new(|| {});
        let stores = &mut Stores::new(&checks, Instant::START);
        let (controller, config) = (&mut broker.controller, &broker.config);
        let planned = alter_configs::plan(&request, controller, config, &Access::open(), stores);
        encodes_in_all_versions::<m::AlterConfigsRequest, _>(|_| planned.response.clone());
        let answer = &planned.response.responses[0];
        (code(answer.error_code), answer.error_message.clone(), planned.records.len())
    };
    // One is as it was, one is new, one goes.
    let both = [("retention.ms", Some("1")), ("cleanup.policy", Some("compact"))];
    assert_eq!(replace(2, "t", &both), (ErrorCode::None, None, 2));
    assert_eq!(replace(2, "t", &[("segment.ms", Some("0"))]).0, ErrorCode::InvalidConfig);
    assert_eq!(replace(2, "t", &[("segment.ms", None)]).0, ErrorCode::InvalidRequest);
    let refused = replace(8, "1", &[]);
    assert_eq!(refused, (ErrorCode::InvalidRequest, Some("Unknown resource type 8".to_owned()), 0));
    let left = broker.controller.image().topic_overrides("t");
    let left: Vec<_> = left.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(left, [("cleanup.policy", "compact"), ("retention.ms", "1")]);
}

#[test]
fn subscriptions_to_clients_metrics_are_kept_and_listed() {
    let mut broker = Broker::new();
    broker.topic("t", 1);
    let set =
        [("interval.ms", 0, Some("1000")), ("match", 0, Some("client_id=a.*")), ("metrics", 0, Some("*"))];
    assert_eq!(broker.alter(16, "sub", &set), (0, None));
    let mut refusal = |name: &str, key: &str, value: &str| {
        let (error, message) = broker.alter(16, name, &[(key, 0, Some(value))]);
        (code(error), message.expect("a reason"))
    };
    assert_eq!(refusal("", "metrics", "*").0, ErrorCode::InvalidRequest);
    assert_eq!(
        refusal("sub", "colour", "red"),
        (ErrorCode::InvalidRequest, "Unknown client metrics configuration: colour".to_owned())
    );
    assert_eq!(refusal("sub", "interval.ms", "99").0, ErrorCode::InvalidRequest);
    assert_eq!(refusal("sub", "match", "client_id").0, ErrorCode::InvalidConfig);
    assert_eq!(
        refusal("sub", "metrics", "a,a"),
        (ErrorCode::InvalidConfig, "Configuration 'metrics' values must not be duplicated.".to_owned())
    );

    let list = |kinds: &[i8], version| {
        let request = m::ListConfigResourcesRequest { resource_types: kinds.to_vec() };
        let response = list_config_resources::handle(&request, version, &broker.ctx());
        let resources = response.config_resources.into_iter();
        let listed: Vec<_> =
            resources.map(|resource| (resource.resource_type, resource.resource_name)).collect();
        (code(response.error_code), listed)
    };
    let named = |kind, name: &str| (kind, name.to_owned());
    assert_eq!(list(&[], 0), (ErrorCode::None, vec![named(16, "sub")]));
    let all = vec![named(16, "sub"), named(8, "1"), named(4, "1"), named(2, "t")];
    assert_eq!(list(&[], 1), (ErrorCode::None, all));
    assert_eq!(list(&[2], 1).1, [named(2, "t")]);
    assert_eq!(list(&[1], 1).0, ErrorCode::UnsupportedVersion);
    encodes_in_all_versions::<m::ListConfigResourcesRequest, _>(|version| {
        list_config_resources::handle(&m::ListConfigResourcesRequest::default(), version, &broker.ctx())
    });

    let resource = m::describe_configs_request::DescribeConfigsResource {
        resource_type: 16,
        resource_name: "sub".to_owned(),
        configuration_keys: None,
    };
    let request = m::DescribeConfigsRequest { resources: vec![resource], ..Default::default() };
    let shown = describe_configs::handle(&request, &broker.ctx()).results.remove(0).configs;
    let shown: Vec<_> =
        shown.iter().map(|c| (c.name.as_str(), c.value.as_deref(), c.config_source)).collect();
    let client_id = Some("client_id=a.*");
    assert_eq!(shown, [("interval.ms", Some("1000"), 7), ("match", client_id, 7), ("metrics", Some("*"), 7)]);
    assert_eq!(broker.alter(16, "sub", &set.map(|(name, ..)| (name, 1, None))).0, 0);
    let request = m::ListConfigResourcesRequest::default();
    assert_eq!(list_config_resources::handle(&request, 0, &broker.ctx()).config_resources, []);
}

#[test]
fn there_are_no_loggers_to_change() {
    let mut broker = Broker::new();
    let mut refusal = |name: &str, operation, logger: &str| {
        let (error, message) = broker.alter(8, name, &[(logger, operation, Some("DEBUG"))]);
        (code(error), message.expect("a reason"))
    };
    assert_eq!(
        refusal("1", 0, "kafka.Kafka"),
        (ErrorCode::InvalidConfig, "Logger kafka.Kafka does not exist!".to_owned())
    );
    assert_eq!(refusal("1", 2, "root").0, ErrorCode::InvalidRequest);
    assert_eq!(refusal("2", 0, "root").0, ErrorCode::InvalidRequest);
    assert_eq!(refusal("one", 0, "root").0, ErrorCode::InvalidRequest);
}

#[test]
fn a_listeners_store_is_decided_on_when_it_is_known_whether_it_can_be_used() {
    let listeners = [
        ("listeners", "OUT://:9093"),
        ("listener.security.protocol.map", "OUT:SSL"),
        ("ssl.keystore.type", "PEM"),
        ("ssl.keystore.location", "old.pem"),
    ];
    let mut broker = Broker::with(&listeners);
    let checks = StoreChecks::new(|| {});
    let mut alter = |name: &str, value: &str, validate_only| {
        let config = m::incremental_alter_configs_request::AlterableConfig {
            name: format!("listener.name.out.{name}"),
            config_operation: 0,
            value: Some(value.to_owned()),
        };
        let resource = m::incremental_alter_configs_request::AlterConfigsResource {
            resource_type: 4,
            resource_name: "1".to_owned(),
            configs: vec![config],
        };
        let request = m::IncrementalAlterConfigsRequest { resources: vec![resource], validate_only };
        let mut stores = Stores::new(&checks, Instant::START);
        let (controller, config) = (&mut broker.controller, &broker.config);
        let planned =
            incremental_alter_configs::plan(&request, controller, config, &Access::open(), &mut stores);
        let answer = &planned.response.responses[0];
        (stores.is_pending(), answer.error_code, answer.error_message.clone(), planned.records.len())
    };
    let location = "ssl.keystore.location";
    assert_eq!(alter(location, "new.pem", false), (true, 0, None, 0), "nothing is decided yet");
    let told = |verdict: Result<(), String>| {
        let Some(StoreTask::Check(change)) = checks.next() else { panic!("it is looked at") };
        checks.tell(&change, verdict);
    };
    told(Ok(()));
    assert_eq!(alter(location, "new.pem", true), (false, 0, None, 0));
    assert_eq!(alter(location, "new.pem", false), (false, 0, None, 1));
    alter(location, "bad.pem", false);
    told(Err("listener OUT: it is bad".to_owned()));
    let invalid = ErrorCode::InvalidRequest.to_wire();
    let refused = (false, invalid, Some("listener OUT: it is bad".to_owned()), 0);
    assert_eq!(alter(location, "bad.pem", false), refused);
    let (_, code, message, records) = alter("ssl.truststore.location", "ca.pem", false);
    let why = "listener OUT: Cannot add SSL truststore to an existing listener for which no truststore was configured.";
    assert_eq!((code, message.as_deref(), records), (invalid, Some(why), 0));
    assert!(checks.next().is_none(), "it needs no look");
}
