//! A script of requests with what Apache Kafka 4.4.0 answered to each: the same is answered here.
//!
//! `topic`, `grow`, `delete`: topics with their partitions; `group`: of which the next lines are;
//! `beat`: a heartbeat of a member with an epoch; `join`: one with epoch 0, a timeout and nothing
//! owned; `commit`: offsets of a member in an epoch. What a heartbeat does not name it leaves out.
//! `-` is no member id, or none at all in an answer.
//! An answer is an error, a member id, an epoch, an interval, an assignment and a message.

use std::collections::HashMap;
use std::time::Duration;

use aplomb_protocol::messages as m;
use m::consumer_group_describe_response::{Assignment, DescribedGroup};
use m::consumer_group_heartbeat_request::TopicPartitions;
use m::offset_commit_request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};

use super::lab::{Lab, Request, Response, caller};
use crate::group::{GroupAsk, GroupReply, World as _};

const SCRIPT: &str = include_str!("kafka.txt");

#[test]
fn heartbeats_are_answered_as_apache_kafka_answers_them() {
    let mut script = Script { lab: Lab::new(), group: String::new() };
    let mut lines = SCRIPT.lines().enumerate().peekable();
    while let Some((at, line)) = lines.next() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mut expected = Vec::new();
        while let Some((_, answer)) = lines.next_if(|(_, line)| line.starts_with("  = ")) {
            expected.push(answer.trim_start_matches("  = ").trim_end().to_owned());
        }
        assert_eq!(script.run(line), expected, "line {}, group {}: {line}", at + 1, script.group);
    }
}

struct Script {
    lab: Lab,
    group: String,
}

/// The words of a line that have a name.
type Named<'a> = HashMap<&'a str, &'a str>;

impl Script {
    fn run(&mut self, line: &str) -> Vec<String> {
        let mut words = line.split(' ');
        let command = words.next().unwrap();
        let (named, plain): (Vec<&str>, Vec<&str>) = words.partition(|word| word.contains('='));
        let named: Named<'_> = named.into_iter().filter_map(|word| word.split_once('=')).collect();
        match command {
            "topic" | "grow" => {
                self.lab.world.set_topic(plain[0], plain[1].parse().unwrap());
                Vec::new()
            }
            "delete" => {
                self.lab.world.delete_topic(plain[0]);
                Vec::new()
            }
            "group" => {
                self.group = plain[0].to_owned();
                Vec::new()
            }
            "sleep" => {
                self.lab.advance(Duration::from_millis(plain[0].parse().unwrap()));
                Vec::new()
            }
            "join" => {
                let mut all = Named::from([("timeout", "30000"), ("own", "")]);
                all.extend(named);
                vec![self.beat(plain[0], 0, &all)]
            }
            "beat" => vec![self.beat(plain[0], plain[1].parse().unwrap(), &named)],
            "describe" => self.describe(),
            "commit" => vec![self.commit(plain[0], plain[1].parse().unwrap(), &named)],
            other => panic!("{other}"),
        }
    }

    fn beat(&mut self, member: &str, epoch: i32, named: &Named<'_>) -> String {
        let text = |name: &str| named.get(name).map(|text| (*text).to_owned());
        let owned = named.get("own").map(|owned| {
            let topics = owned.split(',').filter(|topic| !topic.is_empty());
            topics.map(|topic| self.partitions(topic)).collect()
        });
        let request = Request {
            group_id: self.group.clone(),
            member_id: if member == "-" { String::new() } else { member.to_owned() },
            member_epoch: epoch,
            instance_id: text("instance"),
            rack_id: text("rack"),
            rebalance_timeout_ms: named.get("timeout").map_or(-1, |timeout| timeout.parse().unwrap()),
            subscribed_topic_names: named.get("names").map(|names| {
                names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
            }),
            subscribed_topic_regex: text("regex"),
            server_assignor: text("assignor"),
            topic_partitions: owned,
        };
        let version = named.get("v").map_or(1, |version| version.parse().unwrap());
        let Ok(GroupReply::ConsumerHeartbeat(response)) =
            self.lab.ask(GroupAsk::ConsumerHeartbeat(caller(version), request))
        else {
            panic!("an answer");
        };
        self.show(member, &response)
    }

    fn partitions(&self, topic: &str) -> TopicPartitions {
        let (topic, partitions) = topic.split_once(':').unwrap();
        TopicPartitions {
            topic_id: self.lab.world.id(topic),
            partitions: partitions.split('.').map(|partition| partition.parse().unwrap()).collect(),
        }
    }

    fn show(&self, member: &str, response: &Response) -> String {
        let id = match &response.member_id {
            None => "-",
            Some(_) if member == "-" => "generated",
            Some(id) => id,
        };
        let assigned = self.lab.assigned(response).map_or("null".to_owned(), |topics| show_topics(&topics));
        let Response { error_code, member_epoch, heartbeat_interval_ms, .. } = response;
        let message = response.error_message.as_deref().unwrap_or_default();
        format!("{error_code} {id} {member_epoch} {heartbeat_interval_ms} {assigned} {message}")
            .trim_end()
            .to_owned()
    }

    fn describe(&mut self) -> Vec<String> {
        let Ok(GroupReply::ConsumerDescribe(group)) =
            self.lab.ask(GroupAsk::ConsumerDescribe(self.group.clone()))
        else {
            panic!("an answer");
        };
        let dash = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
        let DescribedGroup { error_code, group_epoch, assignment_epoch, .. } = group;
        let (state, assignor) = (dash(&group.group_state), dash(&group.assignor_name));
        let message = group.error_message.unwrap_or_default();
        let first = format!("{error_code} {state} {group_epoch} {assignment_epoch} {assignor} {message}");
        let mut all = vec![first.trim_end().to_owned()];
        for member in group.members {
            all.push(format!(
                "{} {} {} {} {} {} {} {} {}",
                member.member_id,
                dash(member.instance_id.as_deref().unwrap_or_default()),
                dash(member.rack_id.as_deref().unwrap_or_default()),
                member.member_epoch,
                member.subscribed_topic_names.join(","),
                member.subscribed_topic_regex.map_or("null".to_owned(), |regex| dash(&regex)),
                show_assignment(&member.assignment),
                show_assignment(&member.target_assignment),
                member.member_type
            ));
        }
        all
    }

    fn commit(&mut self, member: &str, epoch: i32, named: &Named<'_>) -> String {
        let of = self.partitions(named["of"]);
        let version: i16 = named.get("v").map_or(9, |version| version.parse().unwrap());
        let name = self.lab.world.topic_by_id(of.topic_id).unwrap().name.to_string();
        let partitions = of.partitions.iter().map(|partition| OffsetCommitRequestPartition {
            partition_index: *partition,
            committed_offset: 1,
            ..Default::default()
        });
        let request = m::OffsetCommitRequest {
            group_id: self.group.clone(),
            generation_id_or_member_epoch: epoch,
            member_id: if member == "-" { String::new() } else { member.to_owned() },
            topics: vec![OffsetCommitRequestTopic {
                name,
                topic_id: of.topic_id,
                partitions: partitions.collect(),
            }],
            ..Default::default()
        };
        let Ok(GroupReply::Commit(response)) = self.lab.ask(GroupAsk::Commit(caller(version), request)) else {
            panic!("an answer");
        };
        let codes = response.topics.iter().flat_map(|topic| &topic.partitions);
        codes.map(|partition| partition.error_code.to_string()).collect::<Vec<_>>().join(" ")
    }
}

fn show_assignment(assignment: &Assignment) -> String {
    let topics = assignment.topic_partitions.iter();
    let mut topics: Vec<_> =
        topics.map(|topic| (topic.topic_name.clone(), topic.partitions.clone())).collect();
    topics.sort();
    show_topics(&topics)
}

fn show_topics(topics: &[(String, Vec<i32>)]) -> String {
    let topic = |(name, partitions): &(String, Vec<i32>)| {
        let partitions: Vec<String> = partitions.iter().map(i32::to_string).collect();
        format!("{name}:{}", partitions.join("."))
    };
    format!("[{}]", topics.iter().map(topic).collect::<Vec<_>>().join(" "))
}
