//! Apache Kafka's own `StandardAuthorizer` and ours decide the same, by the same ACL.
//!
//! The cases are `golden/authorizer`, and with `APLOMB_AUTHORIZER_ORACLE` those of
//! `tests/oracle-authorizer/run.sh`.

use std::fs;
use std::net::IpAddr;
use std::path::PathBuf;

use aplomb_broker::ports::java_address;
use aplomb_broker::security::{AclOperation, Acls, Authorizer, ResourceKind, Rule, Who};
use aplomb_model::Uuid;
use aplomb_protocol::messages::AccessControlEntryRecord;

#[test]
fn decisions_are_apache_kafkas() {
    let folder = std::env::var_os("APLOMB_AUTHORIZER_ORACLE")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden")), PathBuf::from);
    #[expect(clippy::disallowed_methods, reason = "a test reads what is to be expected")]
    let text = fs::read_to_string(folder.join("authorizer")).expect("the cases");
    let (mut authorizer, mut acls, mut added, mut asked) = (Authorizer::default(), Acls::default(), 0, 0);
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        match fields[..] {
            ["set", users, everyone] => {
                let super_users = users.split(';').map(str::to_owned).collect();
                authorizer = Authorizer { super_users, allows_without_acl: everyone == "true" };
                (acls, added) = (Acls::default(), 0);
            }
            ["acl", kind, pattern, name, principal, host, operation, permission] => {
                acls.insert(&AccessControlEntryRecord {
                    id: id(added),
                    resource_type: number(kind),
                    resource_name: name.to_owned(),
                    pattern_type: number(pattern),
                    principal: principal.to_owned(),
                    host: host.to_owned(),
                    operation: number(operation),
                    permission_type: number(permission),
                });
                added += 1;
            }
            ["drop", index] => acls.remove(id(index.parse().expect("an index"))),
            ["ask", kind, name, principal, peer, operation, result, rule] => {
                asked += 1;
                let (kind, operation) = (word(kind), verb(operation));
                let (peer, host) = peer_of(peer);
                let who = Who { principal, host: &host, peer };
                let decided = authorizer.allows(&acls, who, operation, kind, name);
                assert_eq!(decided, result == "ALLOWED", "{line}");
                let ours = authorizer.rule(&acls, who, operation, kind, name);
                assert_eq!(ours.to_string(), rule, "{line}");
                let is_allowed = match &ours {
                    Rule::SuperUser | Rule::DefaultAllow => true,
                    Rule::Acl(acl) => acl.record().permission_type == 3,
                    Rule::DefaultDeny => false,
                };
                assert_eq!(is_allowed, decided, "{line}");
            }
            ["any", kind, principal, peer, operation, result] => {
                asked += 1;
                let (peer, host) = peer_of(peer);
                let who = Who { principal, host: &host, peer };
                let decided = authorizer.allows_any(&acls, who, verb(operation), word(kind));
                assert_eq!(decided, result == "ALLOWED", "{line}");
            }
            _ => panic!("{line}"),
        }
    }
    let wanted = if std::env::var_os("APLOMB_AUTHORIZER_ORACLE").is_some() { 100_000 } else { 1_000 };
    assert!(asked >= wanted, "only {asked} decisions were compared");
}

fn id(index: u128) -> Uuid {
    Uuid::from_u128(index + 100)
}

fn number(text: &str) -> i8 {
    text.parse().expect("a number")
}

fn word(code: &str) -> ResourceKind {
    ResourceKind::from_wire(number(code)).expect("a kind")
}

fn verb(code: &str) -> AclOperation {
    AclOperation::from_wire(number(code)).expect("an operation")
}

fn peer_of(text: &str) -> (IpAddr, String) {
    let peer: IpAddr = text.parse().expect("an address");
    (peer, java_address(peer))
}
