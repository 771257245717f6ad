//! Clients that may not do everything, on a broker of several shards.

use aplomb_broker::security::{AclOperation, PatternKind, PermissionKind, ResourceKind};
use aplomb_model::ErrorCode;
use aplomb_protocol::messages as m;

use crate::support::{AsIs, Broker, Client, Produce, SECOND, Setup};

const SETTINGS: [(&str, &str); 2] = [
    ("authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer"),
    ("allow.everyone.if.no.acl.found", "true"),
];

fn guarded() -> Broker {
    Broker::of(Setup { shards: 3, settings: SETTINGS.to_vec(), ..Setup::default() })
}

/// Writes an ACL for every principal about a topic.
fn acl(client: &Client, permission: PermissionKind, operation: AclOperation, topic: &str) {
    let creation = m::create_acls_request::AclCreation {
        resource_type: ResourceKind::Topic.to_wire(),
        resource_name: topic.to_owned(),
        resource_pattern_type: PatternKind::Literal.to_wire(),
        principal: "User:*".to_owned(),
        host: "*".to_owned(),
        operation: operation.to_wire(),
        permission_type: permission.to_wire(),
    };
    let told = client.ask(AsIs::<_, 3>(m::CreateAclsRequest { creations: vec![creation] }));
    assert_eq!(told.results.iter().map(|result| result.error_code).collect::<Vec<_>>(), [0]);
}

/// Deletes all ACLs. Gives how many there were.
fn delete_all(client: &Client) -> usize {
    let filter = m::delete_acls_request::DeleteAclsFilter {
        resource_type_filter: ResourceKind::Any.to_wire(),
        resource_name_filter: None,
        pattern_type_filter: PatternKind::Any.to_wire(),
        principal_filter: None,
        host_filter: None,
        operation: AclOperation::Any.to_wire(),
        permission_type: PermissionKind::Any.to_wire(),
    };
    let told = client.ask(AsIs::<_, 3>(m::DeleteAclsRequest { filters: vec![filter] }));
    told.filter_results[0].matching_acls.len()
}

fn produces(broker: &Broker) -> Vec<ErrorCode> {
    (0..3).map(|shard| broker.client_of_shard(shard).ask(Produce::to("orders", "x")).error).collect()
}

#[test]
fn an_acl_holds_on_every_shard_when_it_is_answered() {
    let broker = guarded();
    broker.has_topic("orders");
    assert_eq!(produces(&broker), [ErrorCode::None; 3]);
    acl(&broker.client(), PermissionKind::Deny, AclOperation::Write, "orders");
    assert_eq!(produces(&broker), [ErrorCode::TopicAuthorizationFailed; 3]);
    acl(&broker.client(), PermissionKind::Allow, AclOperation::All, "orders");
    assert_eq!(produces(&broker), [ErrorCode::TopicAuthorizationFailed; 3], "what is denied is denied");
    assert_eq!(delete_all(&broker.client()), 2);
    assert_eq!(produces(&broker), [ErrorCode::None; 3]);
}

#[test]
fn a_flood_of_refusals_is_no_flood_of_lines_and_each_second_has_its_own() {
    let broker = guarded();
    broker.has_topic("orders");
    acl(&broker.client(), PermissionKind::Deny, AclOperation::Write, "orders");
    broker.advance(2 * SECOND);
    let refused = |times: usize| {
        for _ in 0..times {
            let refused = broker.client().ask(Produce::to("orders", "x")).error;
            assert_eq!(refused, ErrorCode::TopicAuthorizationFailed);
        }
    };
    refused(130);
    broker.advance(2 * SECOND);
    refused(1);
    assert!(broker.logs("(30 decisions before this one were left out)"));
}

#[test]
fn acls_are_what_they_were_after_a_kill() {
    let broker = guarded();
    broker.has_topic("orders");
    acl(&broker.client(), PermissionKind::Deny, AclOperation::Write, "orders");
    acl(&broker.client(), PermissionKind::Deny, AclOperation::Write, "orders");
    broker.kill();
    broker.restart();
    assert_eq!(produces(&broker), [ErrorCode::TopicAuthorizationFailed; 3]);
    assert_eq!(delete_all(&broker.client()), 1, "the second said the same");
}

#[test]
fn without_an_authorizer_acls_are_refused_and_nothing_is_forbidden() {
    let broker = Broker::of(Setup { shards: 3, ..Setup::default() });
    broker.has_topic("orders");
    let request = m::CreateAclsRequest {
        creations: vec![m::create_acls_request::AclCreation {
            resource_type: 2,
            resource_pattern_type: 3,
            operation: 2,
            permission_type: 2,
            ..Default::default()
        }],
    };
    let told = broker.client().ask(AsIs::<_, 3>(request));
    assert_eq!(told.results[0].error_code, ErrorCode::SecurityDisabled.to_wire());
    assert_eq!(told.results[0].error_message.as_deref(), Some("No Authorizer is configured."));
    assert_eq!(produces(&broker), [ErrorCode::None; 3]);
}
