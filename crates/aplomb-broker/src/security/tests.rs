use std::net::IpAddr;

use aplomb_model::Uuid;
use aplomb_protocol::messages::AccessControlEntryRecord;
use proptest::prelude::*;

use super::patterns::{Form, Key, Patterns};
use super::*;

/// An ACL as a text: `+` or `-`, operation, kind, pattern and name, principal, host.
fn acl(id: u128, text: &str) -> AccessControlEntryRecord {
    let words: Vec<&str> = text.split(' ').collect();
    let [sign, operation, kind, pattern, name, principal, host] = words[..] else { panic!("{text}") };
    let find = |all: &[&'static str], name: &str| {
        all.iter().position(|known| *known == name).unwrap_or_else(|| panic!("{name}")) as i8 + 1
    };
    let names = |all: Vec<&'static str>| all;
    AccessControlEntryRecord {
        id: Uuid::from_u128(id),
        resource_type: find(&names(ResourceKind::ALL.iter().map(|w| w.name()).collect()), kind),
        resource_name: name.to_owned(),
        pattern_type: find(&names(PatternKind::ALL.iter().map(|w| w.name()).collect()), pattern),
        principal: principal.to_owned(),
        host: host.to_owned(),
        operation: find(&names(AclOperation::ALL.iter().map(|w| w.name()).collect()), operation),
        permission_type: if sign == "+" { 3 } else { 2 },
    }
}

fn acls(texts: &[&str]) -> Acls {
    let mut acls = Acls::default();
    (1..).zip(texts).for_each(|(id, text)| acls.insert(&acl(id, text)));
    acls
}

const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));

fn who(principal: &str) -> Who<'_> {
    Who { principal, host: "10.0.0.1", peer: PEER }
}

fn reads(acls: &Acls, principal: &str, topic: &str) -> bool {
    Authorizer::default().allows(acls, who(principal), AclOperation::Read, ResourceKind::Topic, topic)
}

#[test]
fn an_acl_is_for_a_name_for_names_that_begin_so_or_for_all() {
    let acls = acls(&[
        "+ READ TOPIC LITERAL t User:a *",
        "+ READ TOPIC PREFIXED pre User:b *",
        "+ READ TOPIC LITERAL * User:c *",
        "+ READ TOPIC PREFIXED * User:d *",
    ]);
    assert!(reads(&acls, "User:a", "t") && !reads(&acls, "User:a", "tt") && !reads(&acls, "User:b", "t"));
    assert!(
        reads(&acls, "User:b", "pre") && reads(&acls, "User:b", "prefix") && !reads(&acls, "User:b", "pr")
    );
    assert!(reads(&acls, "User:c", "anything"));
    assert!(!reads(&acls, "User:d", "anything") && reads(&acls, "User:d", "*thing"), "a prefix is a prefix");
}

#[test]
fn what_is_denied_is_denied_whatever_else_allows_it() {
    let acls = acls(&["+ ALL TOPIC LITERAL t User:a *", "- READ TOPIC PREFIXED t User:* *"]);
    assert!(!reads(&acls, "User:a", "t"));
    let writes =
        |who| Authorizer::default().allows(&acls, who, AclOperation::Write, ResourceKind::Topic, "t");
    assert!(writes(who("User:a")) && !writes(who("User:b")));
}

#[test]
fn an_operation_implies_another_where_it_is_allowed_and_not_where_it_is_denied() {
    let acls = acls(&[
        "+ WRITE TOPIC LITERAL t User:a *",
        "- WRITE TOPIC LITERAL t User:b *",
        "+ DESCRIBE TOPIC LITERAL t User:b *",
        "+ ALTER_CONFIGS TOPIC LITERAL t User:a *",
    ]);
    let may =
        |user, operation| Authorizer::default().allows(&acls, who(user), operation, ResourceKind::Topic, "t");
    assert!(may("User:a", AclOperation::Describe) && may("User:b", AclOperation::Describe));
    assert!(may("User:a", AclOperation::DescribeConfigs) && !may("User:a", AclOperation::Read));
    assert!(!may("User:b", AclOperation::Write));
}

#[test]
fn hosts_are_compared_as_texts_and_as_networks() {
    let acls = acls(&[
        "+ READ TOPIC LITERAL here User:a 10.0.0.1",
        "+ READ TOPIC LITERAL there User:a 10.0.0.2",
        "+ READ TOPIC LITERAL near User:a 10.0.0.0/8",
        "+ READ TOPIC LITERAL far User:a 11.0.0.0/8",
    ]);
    assert!(reads(&acls, "User:a", "here") && reads(&acls, "User:a", "near"));
    assert!(!reads(&acls, "User:a", "there") && !reads(&acls, "User:a", "far"));
}

#[test]
fn a_resource_without_acls_is_as_the_settings_say_and_super_users_may_everything() {
    let some = acls(&["+ READ TOPIC LITERAL t User:z *", "- READ TOPIC LITERAL u User:root *"]);
    let open = Authorizer { allows_without_acl: true, super_users: ["User:root".to_owned()].into() };
    let may = |user, topic| open.allows(&some, who(user), AclOperation::Read, ResourceKind::Topic, topic);
    assert!(may("User:a", "other") && !may("User:a", "t") && may("User:root", "u"));
}

#[test]
fn the_rule_is_the_acl_that_kafka_names() {
    let some = acls(&[
        "+ READ TOPIC PREFIXED t User:a *",
        "+ ALL TOPIC LITERAL topic User:a *",
        "+ READ TOPIC LITERAL * User:b *",
    ]);
    let rule = |user| {
        let rule =
            Authorizer::default().rule(&some, who(user), AclOperation::Read, ResourceKind::Topic, "topic");
        rule.to_string()
    };
    assert_eq!(
        rule("User:a"),
        "MatchingAcl(acl=StandardAcl[resourceType=TOPIC, resourceName=t, patternType=PREFIXED, \
         principal=User:a, host=*, operation=READ, permissionType=ALLOW])"
    );
    assert!(rule("User:b").contains("resourceName=*"));
    assert_eq!(rule("User:c"), "DefaultDeny");
}

#[test]
fn any_topic_is_one_whose_permission_no_denial_covers() {
    let may = |texts: &[&str]| {
        let some = acls(texts);
        Authorizer::default().allows_any(&some, who("User:a"), AclOperation::Write, ResourceKind::Topic)
    };
    assert!(!may(&[]));
    assert!(may(&["+ WRITE TOPIC LITERAL t User:a *"]));
    assert!(may(&["+ ALL TOPIC PREFIXED t User:* *"]));
    assert!(!may(&["+ WRITE TOPIC LITERAL t User:a *", "- WRITE TOPIC LITERAL t User:a *"]));
    assert!(!may(&["+ WRITE TOPIC PREFIXED tt User:a *", "- WRITE TOPIC PREFIXED t User:a *"]));
    assert!(may(&["+ WRITE TOPIC PREFIXED t User:a *", "- WRITE TOPIC PREFIXED tt User:a *"]));
    assert!(may(&["+ WRITE TOPIC LITERAL * User:a *", "- WRITE TOPIC PREFIXED t User:a *"]));
    assert!(!may(&["+ WRITE TOPIC LITERAL t User:a *", "- WRITE TOPIC LITERAL * User:a *"]));
    assert!(!may(&["+ WRITE GROUP LITERAL t User:a *"]));
}

#[test]
fn clones_do_not_see_what_the_other_changes() {
    let before = acls(&["+ READ TOPIC PREFIXED t User:a *"]);
    let mut after = before.clone();
    after.remove(Uuid::from_u128(1));
    after.insert(&acl(2, "+ READ TOPIC LITERAL t User:b *"));
    assert!(reads(&before, "User:a", "t") && !reads(&before, "User:b", "t"));
    assert!(!reads(&after, "User:a", "t") && reads(&after, "User:b", "t"));
    assert_ne!(before, after);
}

#[test]
fn a_name_that_is_gone_leaves_nothing_behind() {
    let mut patterns = Patterns::default();
    let texts = ["a", "ab", "abc", "abd", "x", "", "abcdefgh", "abcdefghi", "abcdefgh\0"];
    let key = |owner, form, text| Key { owner, form, text };
    for text in texts {
        for owner in ["one", "other"] {
            *patterns.entry(key(owner, Form::Prefixed, text), String::new) = format!("{owner} {text}*");
            *patterns.entry(key(owner, Form::Literal, text), String::new) = format!("{owner} {text}");
        }
    }
    *patterns.entry(key("one", Form::All, ""), String::new) = "one all".to_owned();
    let said = |patterns: &Patterns<String>, owners, name, all| {
        let mut seen = Vec::new();
        patterns.walk::<2>(owners, name, all, |said| {
            seen.push(said.clone());
            false
        });
        seen.join(",")
    };
    assert_eq!(patterns.len(), 4 * texts.len() + 1);
    assert_eq!(said(&patterns, ["one", "none"], "abcd", true), "one all,one *,one a*,one ab*,one abc*");
    assert_eq!(said(&patterns, ["other", "one"], "x", false), "other *,one *,other x*,one x*,other x,one x");
    let long = "one *,one a*,one ab*,one abc*,one abcdefgh*,one abcdefghi*,one abcdefghi";
    assert_eq!(said(&patterns, ["one", "none"], "abcdefghi", false), long);
    for text in texts {
        patterns.change(key("one", Form::Prefixed, text), |_| true);
        patterns.change(key("one", Form::Literal, text), |_| false);
    }
    patterns.change(key("one", Form::Literal, "never there"), |_| unreachable!("it was never there"));
    patterns.change(key("o", Form::Literal, "nea"), |_| unreachable!("owners end where they end"));
    assert_eq!(patterns.len(), 3 * texts.len() + 1);
    assert_eq!(said(&patterns, ["one", "none"], "abcd", true), "one all");
    assert_eq!(said(&patterns, ["one", "other"], "a", false), "other *,other a*,one a,other a");
}

fn any_acl() -> impl Strategy<Value = String> {
    let sign = prop::sample::select(vec!["+", "+", "-"]);
    let operation = prop::sample::select(vec!["ALL", "READ", "WRITE", "DESCRIBE", "ALTER_CONFIGS"]);
    let pattern = prop::sample::select(vec!["LITERAL", "PREFIXED"]);
    let name = prop::sample::select(vec!["a", "ab", "abc", "abd", "b", "*", "*a"]);
    let user = prop::sample::select(vec!["User:a", "User:b", "User:*", "Other:a"]);
    let host = prop::sample::select(vec!["*", "*", "10.0.0.1", "10.0.0.2", "10.0.0.0/24", "host"]);
    (sign, operation, pattern, name, user, host)
        .prop_map(|(s, o, p, n, u, h)| format!("{s} {o} TOPIC {p} {n} {u} {h}"))
}

/// A look at every ACL.
fn by_hand(all: &[AccessControlEntryRecord], principal: &str, operation: AclOperation, name: &str) -> bool {
    let is_about = |r: &&AccessControlEntryRecord| {
        let is_named = match r.pattern_type {
            3 => r.resource_name == name || (r.resource_name == "*" && !name.starts_with('*')),
            _ => name.starts_with(&r.resource_name),
        };
        let is_them = r.principal == principal || r.principal == "User:*";
        is_named && is_them && ["*", "10.0.0.1", "10.0.0.0/24"].contains(&r.host.as_str())
    };
    let of = |r: &AccessControlEntryRecord| AclOperation::from_wire(r.operation).expect("a word");
    let theirs: Vec<_> = all.iter().filter(is_about).collect();
    let is_denied =
        theirs.iter().any(|r| r.permission_type == 2 && [operation, AclOperation::All].contains(&of(r)));
    let allows = |r: &AccessControlEntryRecord| match (of(r), operation) {
        (one, other) if one == other || one == AclOperation::All => true,
        (AclOperation::Read | AclOperation::Write, AclOperation::Describe) => true,
        (one, other) => one == AclOperation::AlterConfigs && other == AclOperation::DescribeConfigs,
    };
    !is_denied && theirs.iter().any(|r| r.permission_type == 3 && allows(r))
}

proptest! {
    #[test]
    fn the_index_decides_as_a_look_at_every_acl_does(
        texts in prop::collection::vec(any_acl(), 0..30),
        gone in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let mut records: Vec<_> = (1..).zip(&texts).map(|(id, text)| acl(id, text)).collect();
        let mut acls = Acls::default();
        records.iter().for_each(|record| acls.insert(record));
        for index in gone {
            if !records.is_empty() {
                acls.remove(records.swap_remove(index.index(records.len())).id);
            }
        }
        prop_assert_eq!(acls.len(), records.len());
        for record in &records {
            prop_assert!(acls.contains(&Acl::new(record.clone())));
        }
        for name in ["a", "ab", "abc", "abd", "abx", "b", "c", "*", "*a", "*ab", ""] {
            for principal in ["User:a", "User:b", "User:c", "Other:a"] {
                for operation in [AclOperation::Read, AclOperation::Describe, AclOperation::DescribeConfigs] {
                    let decided = Authorizer::default()
                        .allows(&acls, who(principal), operation, ResourceKind::Topic, name);
                    let expected = by_hand(&records, principal, operation, name);
                    prop_assert_eq!(decided, expected, "{} {} {}", principal, operation, name);
                    let rule = Authorizer::default()
                        .rule(&acls, who(principal), operation, ResourceKind::Topic, name);
                    let is_allowed = matches!(&rule, Rule::Acl(acl) if acl.record().permission_type == 3);
                    prop_assert_eq!(is_allowed, expected, "{}", rule);
                }
            }
        }
    }
}
