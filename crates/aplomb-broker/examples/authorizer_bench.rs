//! How long a decision takes with 100,000 ACLs of many kinds: `cargo run --release -p aplomb-broker
//! --example authorizer_bench`. With words as arguments: only the cases with one of them.

#![expect(clippy::disallowed_macros, reason = "a program for the command line, not a part of the broker")]

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use aplomb_broker::security::{AclOperation, Acls, Authorizer, ResourceKind, Who};
use aplomb_model::Uuid;
use aplomb_protocol::messages::AccessControlEntryRecord;

const ACLS: u32 = 100_000;
/// Decisions of a round; most rounds are left alone by what else the machine does.
const A_ROUND: usize = 64;
const ROUNDS: usize = 2000;
const CHANGES: u32 = 20;

/// The n-th ACL of a set: its principal, its name, and whether that is a prefix.
type Set = fn(u32) -> (String, String, bool);
/// What is asked of the n-th ACL: principal and name.
type Question = fn(u32, Set) -> (String, String);

/// What is measured, with which ACLs, and what is asked.
const CASES: [(&str, Set, Question); 13] = [
    ("literal hit, a thousand principals", mixed, literal),
    ("prefix hit, a thousand principals", mixed, behind_prefix),
    ("miss, a thousand principals", mixed, miss),
    ("literal hit, one principal", of_one, literal),
    ("prefix hit, one principal", of_one, behind_prefix),
    ("miss, one principal", of_one, miss),
    ("hit, 100,000 principals of one topic", one_topic, itself),
    ("hit, 100,000 principals of all topics", everything, any_topic),
    ("literal hit, names of 249 letters", long_names, literal),
    ("prefix hit, names of 249 letters", long_names, behind_prefix),
    ("miss, prefixes of all lengths, a name of 249 letters", all_lengths, long_miss),
    ("prefix hit, prefixes of all lengths", all_lengths, behind_prefix),
    ("all 249 beginnings of a name are prefixes, of 400 principals", nested, longest),
];

/// Two in three are for one topic, the others for prefixes of many lengths, of a thousand users.
fn mixed(n: u32) -> (String, String, bool) {
    let (_, name, is_prefix) = of_one(n);
    (format!("User:user-{}", n % 1000), name, is_prefix)
}

fn of_one(n: u32) -> (String, String, bool) {
    let (is_prefix, team) = (n.is_multiple_of(3), n % 977);
    let name = match is_prefix {
        true => format!("team-{team}.{}", "x".repeat(n as usize % 24)) + &n.to_string(),
        false => format!("team-{team}.service-{}.topic-{n}", n % 31),
    };
    ("User:one".to_owned(), name, is_prefix)
}

fn one_topic(n: u32) -> (String, String, bool) {
    (format!("User:user-{n}"), "the-topic".to_owned(), false)
}

fn everything(n: u32) -> (String, String, bool) {
    (format!("User:user-{n}"), "*".to_owned(), false)
}

fn long_names(n: u32) -> (String, String, bool) {
    let is_prefix = n.is_multiple_of(3);
    let length = if is_prefix { 240 } else { 249 };
    (format!("User:user-{}", n % 1000), format!("{:x<1$}", n, length), is_prefix)
}

fn all_lengths(n: u32) -> (String, String, bool) {
    (format!("User:user-{}", n % 1000), format!("{:x<1$}", n, 6 + n as usize % 240), true)
}

fn nested(n: u32) -> (String, String, bool) {
    (format!("User:user-{}", n / 249), "x".repeat(n as usize % 249 + 1), true)
}

fn itself(n: u32, set: Set) -> (String, String) {
    let (principal, name, _) = set(n);
    (principal, name)
}

fn literal(n: u32, set: Set) -> (String, String) {
    itself(if n.is_multiple_of(3) { n + 1 } else { n }, set)
}

fn behind_prefix(n: u32, set: Set) -> (String, String) {
    let (principal, name) = itself(n / 3 * 3, set);
    (principal, name + "-more")
}

fn miss(n: u32, set: Set) -> (String, String) {
    let (principal, name) = literal(n, set);
    (principal, name.replacen(|letter: char| letter.is_ascii_digit(), "none", 1))
}

fn long_miss(n: u32, set: Set) -> (String, String) {
    (set(n).0, format!("{:y<249}", n))
}

fn any_topic(n: u32, set: Set) -> (String, String) {
    (set(n).0, format!("topic-{n}"))
}

fn longest(n: u32, set: Set) -> (String, String) {
    (set(n).0, "x".repeat(249))
}

/// Mostly for one operation, some denied, some from one host alone.
fn acl(n: u32, set: Set) -> AccessControlEntryRecord {
    let (principal, resource_name, is_prefix) = set(n);
    AccessControlEntryRecord {
        id: Uuid::from_u128(u128::from(n) + 1),
        resource_type: 2,
        resource_name,
        pattern_type: if is_prefix { 4 } else { 3 },
        principal,
        host: if n.is_multiple_of(5) { "10.0.0.1" } else { "*" }.to_owned(),
        operation: 2 + (n % 7) as i8,
        permission_type: if n.is_multiple_of(11) { 2 } else { 3 },
    }
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    for (name, set, question) in CASES {
        if wanted.is_empty() || wanted.iter().any(|wanted| name.contains(wanted.as_str())) {
            measure(name, set, question);
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]
fn measure(case: &str, set: Set, question: Question) {
    let mut acls = Acls::default();
    (0..ACLS).for_each(|n| acls.insert(&acl(n, set)));
    let questions: Vec<_> = (0..ACLS - 1).step_by(7).map(|n| question(n, set)).collect();
    let authorizer = Authorizer::default();
    let peer = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
    let mut allowed = 0;
    let mut times: Vec<Duration> = Vec::new();
    for round in 0..ROUNDS {
        // Strides that no cache expects. What is asked is in the cache, as what was read from
        // a socket just now is.
        let some: Vec<_> =
            (0..A_ROUND).map(|n| questions[(round * A_ROUND + n) * 7919 % questions.len()].clone()).collect();
        let begun = std::time::Instant::now();
        for (principal, name) in &some {
            let who = Who { principal, host: "10.0.0.1", peer };
            let is = authorizer.allows(&acls, who, AclOperation::Write, ResourceKind::Topic, black_box(name));
            allowed += usize::from(is);
        }
        times.push(begun.elapsed() / A_ROUND as u32);
    }
    times.sort_unstable();
    let begun = std::time::Instant::now();
    for n in 0..CHANGES {
        let mut next = acls.clone();
        next.insert(&acl(ACLS + n, set));
        acls = black_box(next);
    }
    println!(
        "{case}: {} ns at best, {} in the middle, {} in 99 of 100 rounds; {}% are allowed; a change takes {} µs",
        times[0].as_nanos(),
        times[ROUNDS / 2].as_nanos(),
        times[ROUNDS * 99 / 100].as_nanos(),
        allowed * 100 / (ROUNDS * A_ROUND),
        (begun.elapsed() / CHANGES).as_micros(),
    );
}
