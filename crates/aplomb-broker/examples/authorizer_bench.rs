//! How long a decision takes with 100,000 ACLs: `cargo run --release -p aplomb-broker --example
//! authorizer_bench`.

#![expect(clippy::disallowed_macros, reason = "a program for the command line, not a part of the broker")]

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};

use aplomb_broker::security::{AclOperation, Acls, Authorizer, ResourceKind, Who};
use aplomb_model::Uuid;
use aplomb_protocol::messages::AccessControlEntryRecord;

const ACLS: u32 = 100_000;
/// Decisions of a round; the fastest round is the one that the machine left alone.
const DECISIONS: u32 = 20_000;
const ROUNDS: u32 = 100;

/// Two in three are for one topic, the others for prefixes of many lengths, of a thousand users.
fn acl(n: u32) -> AccessControlEntryRecord {
    let is_prefix = n.is_multiple_of(3);
    let team = n % 977;
    let resource_name = match is_prefix {
        true => format!("team-{team}.{}", "x".repeat(n as usize % 24)) + &n.to_string(),
        false => format!("team-{team}.service-{}.topic-{n}", n % 31),
    };
    AccessControlEntryRecord {
        id: Uuid::from_u128(u128::from(n) + 1),
        resource_type: 2,
        resource_name,
        pattern_type: if is_prefix { 4 } else { 3 },
        principal: format!("User:user-{}", n % 1000),
        host: if n.is_multiple_of(5) { "10.0.0.1" } else { "*" }.to_owned(),
        operation: 2 + (n % 7) as i8,
        permission_type: if n.is_multiple_of(11) { 2 } else { 3 },
    }
}

#[expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]
fn main() {
    let mut acls = Acls::default();
    let begun = std::time::Instant::now();
    (0..ACLS).for_each(|n| acls.insert(&acl(n)));
    println!("{} ACLs are indexed in {:?}", acls.len(), begun.elapsed());

    let authorizer = Authorizer::default();
    let cases: Vec<(String, String)> = (0..ACLS)
        .step_by(7)
        .map(|n| (acl(n).principal, acl(n).resource_name + if n % 2 == 0 { "" } else { "-more" }))
        .collect();
    let peer = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
    let (mut allowed, mut n) = (0_u32, 0);
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let begun = std::time::Instant::now();
        for _ in 0..DECISIONS {
            // Strides that no cache expects.
            let (principal, name) = &cases[(n * 7919) % cases.len()];
            n += 1;
            let who = Who { principal, host: "10.0.0.1", peer };
            let is = authorizer.allows(&acls, who, AclOperation::Write, ResourceKind::Topic, black_box(name));
            allowed += u32::from(is);
        }
        rounds.push(begun.elapsed() / DECISIONS);
    }
    rounds.sort_unstable();
    println!("a decision takes {:?} at best, {:?} in the middle", rounds[0], rounds[rounds.len() / 2]);
    println!("{allowed} of {n} were allowed");

    let begun = std::time::Instant::now();
    let rounds = 1000;
    for n in 0..rounds {
        let mut next = acls.clone();
        next.insert(&acl(ACLS + n));
        acls = black_box(next);
    }
    println!("a change of one ACL takes {:?}, its copy of the index included", begun.elapsed() / rounds);
}
