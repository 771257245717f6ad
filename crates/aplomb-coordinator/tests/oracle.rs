//! Assignments, hashes and expressions are those of Apache Kafka's group coordinator.
//!
//! `tests/oracle-groups` has its classes write down what they make of random input. A small part is
//! kept in `golden`; with `APLOMB_GROUPS_ORACLE` the files of that folder are compared instead.

#![expect(clippy::disallowed_methods, reason = "golden files are read from the source tree")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use aplomb_coordinator::group::assignor::{
    Assignments, Assignor, Partitions, Subscriber, Subscribers, assign,
};
use aplomb_coordinator::group::expression::Expression;
use aplomb_coordinator::group::hash::TopicHashes;
use aplomb_coordinator::group::{GroupSettings, Overrides, Topic, World};
use aplomb_model::TopicId;

fn oracle(name: &str) -> String {
    let golden = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let folder = std::env::var_os("APLOMB_GROUPS_ORACLE").map_or_else(golden, PathBuf::from);
    fs::read_to_string(folder.join(name)).expect("the oracle has written it")
}

fn id(hex: &str) -> TopicId {
    TopicId::from_u128(u128::from_str_radix(hex, 16).expect("an id"))
}

fn number<N: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> N {
    text.parse().expect("a number")
}

/// Pieces of a list, which may be empty.
fn pieces(list: &str, between: char) -> impl Iterator<Item = &str> {
    list.split(between).filter(|piece| !piece.is_empty())
}

/// A text in which `%` stands before bytes that would be in the way.
fn unescaped(text: &str) -> String {
    let mut pieces = text.split('%');
    let mut bytes = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        bytes.push(u8::from_str_radix(&piece[..2], 16).expect("a byte"));
        bytes.extend(&piece.as_bytes()[2..]);
    }
    String::from_utf8(bytes).expect("text")
}

#[test]
fn members_are_assigned_what_kafka_assigns() {
    let lines = oracle("assignments.tsv");
    let mut shared: BTreeSet<Arc<BTreeSet<TopicId>>> = BTreeSet::new();
    for (n, line) in (1..).zip(lines.lines()) {
        let mut fields = line.split('\t');
        let assignor = fields.next().and_then(Assignor::from_name).expect("an assignor");
        let topics: Vec<(TopicId, i32)> = pieces(fields.next().expect("topics"), ',')
            .map(|topic| topic.split_once('*').expect("a topic has partitions"))
            .map(|(topic, partitions)| (id(topic), number(partitions)))
            .collect();
        let partitions = |list: &str| -> Partitions {
            let of_topic = |piece: &str| {
                let (topic, its) = piece.split_once(':').expect("partitions of a topic");
                let topic = if topic.len() == 32 { id(topic) } else { topics[number::<usize>(topic)].0 };
                (topic, pieces(its, '+').map(number).collect())
            };
            pieces(list, ',').map(of_topic).collect()
        };
        let (mut members, mut expected) = (Subscribers::new(), Assignments::new());
        for member in fields {
            let Ok([name, instance, expression, subscription, had, gets]) =
                <[&str; 6]>::try_from(member.split('/').collect::<Vec<_>>())
            else {
                panic!("line {n}: {member}");
            };
            let subscription: BTreeSet<TopicId> =
                pieces(subscription, ',').map(|place| topics[number::<usize>(place)].0).collect();
            if !shared.contains(&subscription) {
                shared.insert(Arc::new(subscription.clone()));
            }
            let subscriber = Subscriber {
                instance: (!instance.is_empty()).then(|| instance.into()),
                topics: shared.get(&subscription).expect("it was just put in").clone(),
                by_expression: expression == "e",
                target: partitions(had),
            };
            members.insert(name.into(), subscriber);
            expected.insert(name.into(), partitions(gets));
        }
        let topics: BTreeMap<TopicId, i32> = topics.into_iter().collect();
        let assigned = assign(assignor, &members, &|topic| topics.get(&topic).copied().unwrap_or(-1));
        assert_eq!(assigned, expected, "line {n}");
    }
}

#[test]
fn names_match_what_they_match_in_kafka() {
    let lines = oracle("expressions.tsv");
    let mut lines = lines.lines();
    let names: Vec<&str> = lines.next().expect("names").split(' ').collect();
    for line in lines {
        let (pattern, expected) = line.split_once('\t').expect("a pattern and what comes of it");
        let pattern = unescaped(pattern);
        let result = match Expression::compile(&pattern) {
            Ok(expression) => {
                let bit = |(n, name): (usize, &&str)| u128::from(expression.matches(name)) << n;
                format!("{:x}", names.iter().enumerate().map(bit).sum::<u128>())
            }
            Err(error) => {
                let before = format!("SubscribedTopicRegex `{pattern}` is not a valid regular expression: ");
                let what = error.strip_prefix(&before).and_then(|error| error.strip_suffix('.'));
                format!("!{}", what.unwrap_or(&error))
            }
        };
        assert_eq!(result, expected, "{pattern:?}");
    }
}

/// Topics of one group.
#[derive(Debug, Default)]
struct Topics(BTreeMap<String, (TopicId, Vec<Vec<String>>)>);

impl World for Topics {
    fn topic(&self, name: &str) -> Option<Topic> {
        let (id, racks) = self.0.get(name)?;
        Some(Topic { id: *id, name: name.into(), partitions: i32::try_from(racks.len()).ok()? })
    }

    fn racks(&self, id: TopicId, partition: i32) -> Vec<String> {
        let (_, racks) = self.0.values().find(|(its, _)| *its == id).expect("a topic of the group");
        racks[usize::try_from(partition).expect("a partition")].clone()
    }

    fn version(&self) -> i64 {
        0
    }

    fn settings(&self) -> &GroupSettings {
        unreachable!("no hash depends on settings")
    }

    fn has_room(&self) -> bool {
        unreachable!("no hash depends on memory")
    }

    fn overrides(&self, _: &str) -> Overrides {
        unreachable!("no hash depends on settings")
    }

    fn topic_by_id(&self, _: TopicId) -> Option<Topic> {
        unreachable!("topics are hashed by name")
    }

    fn names_after(&self, _: Option<&str>, _: usize) -> Vec<Arc<str>> {
        unreachable!("topics are hashed by name")
    }
}

#[test]
fn groups_have_the_hash_that_kafka_gives_them() {
    for line in oracle("hashes.tsv").lines() {
        let mut fields = line.split('\t');
        let expected: i64 = number(fields.next().expect("a hash"));
        let mut topics = Topics::default();
        for topic in fields {
            let mut parts = topic.split('/');
            let (name, of) = (parts.next().expect("a name"), id(parts.next().expect("an id")));
            let racks = |list: &str| {
                let mut racks: Vec<String> = list.split(',').map(unescaped).collect();
                racks.pop(); // behind the last comma
                racks
            };
            topics.0.insert(name.into(), (of, parts.map(racks).collect()));
        }
        let names = topics.0.keys().rev().map(String::as_str);
        assert_eq!(TopicHashes::new().of_group(names.chain(["of no topic"]), &topics), expected, "{line}");
    }
}
