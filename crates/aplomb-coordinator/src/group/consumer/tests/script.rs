//! A script of requests with what Apache Kafka 4.4.0 answered to each (as
//! `tests/oracle-groups/heartbeats.py` writes it down): the same is answered here.
//!
//! `topic`, `grow`, `delete`: topics with their partitions; `group`: of which the next lines are;
//! `beat`: a heartbeat of a member with an epoch; `join`: one with epoch 0, a timeout and nothing
//! owned; `commit`: offsets of a member in an epoch. What a heartbeat does not name it leaves out.
//! `-` is no member id, or none at all in an answer.
//! `$` begins the name of an id that is given.
//! An answer to a heartbeat is an error, a member id, an epoch, an interval, an assignment and a
//! message.

use std::collections::HashMap;
use std::time::Duration;

use aplomb_protocol::{Message as _, Reader, messages as m};
use bytes::Bytes;
use m::consumer_group_describe_response::{Assignment, DescribedGroup};
use m::consumer_group_heartbeat_request::TopicPartitions;
use m::offset_commit_request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};

use super::lab::{Lab, Request, Response, caller, embedded};
use crate::group::{GroupAsk, GroupReply, World as _};

const SCRIPT: &str = include_str!("kafka.txt");

#[test]
fn heartbeats_are_answered_as_apache_kafka_answers_them() {
    let mut script = Script { lab: Lab::new(), group: String::new(), ids: Vec::new(), shown: HashMap::new() };
    script.lab.world.settings.classic.initial_rebalance_delay = Duration::from_secs(3);
    let mut lines = SCRIPT.lines().enumerate().peekable();
    while let Some((at, line)) = lines.next() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mut expected: Vec<String> = Vec::new();
        while let Some((_, answer)) = lines.next_if(|(_, line)| line.starts_with("  = ")) {
            expected.push(answer.trim_start_matches("  = ").trim_end().to_owned());
        }
        let answered: Vec<String> = script.run(line).iter().map(|line| script.named(line)).collect();
        assert_eq!(answered, expected, "line {}, group {}: {line}", at + 1, script.group);
    }
}

struct Script {
    lab: Lab,
    group: String,
    /// What ids that were given are called.
    ids: Vec<(String, String)>,
    /// How much of the log each group has shown.
    shown: HashMap<String, usize>,
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
            "cjoin" => vec![self.join_classic(plain[0], &named)],
            "csync" => vec![self.sync_classic(plain[0], plain[1].parse().unwrap(), &named)],
            "cbeat" => vec![self.beat_classic(plain[0], plain[1].parse().unwrap())],
            "cleave" => vec![self.leave_classic(&plain)],
            "records" => self.records(),
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
            subscribed_topic_names: named
                .get("names")
                .map(|names| names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()),
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

    fn show(&mut self, member: &str, response: &Response) -> String {
        let id = response.member_id.clone().unwrap_or("-".to_owned());
        if member == "-" && id != "-" {
            self.ids.push((id.clone(), "generated".to_owned()));
        }
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
        let Ok(GroupReply::Commit(response)) = self.lab.ask(GroupAsk::Commit(caller(version), request))
        else {
            panic!("an answer");
        };
        let codes = response.topics.iter().flat_map(|topic| &topic.partitions);
        codes.map(|partition| partition.error_code.to_string()).collect::<Vec<_>>().join(" ")
    }

    /// A line with ids that were given by their names.
    fn named(&self, line: &str) -> String {
        self.ids.iter().fold(line.to_owned(), |line, (id, name)| line.replace(id, name))
    }

    /// The id of a member that a line names.
    fn id(&self, member: &str) -> String {
        let known = self.ids.iter().find(|(_, name)| name == member && name.starts_with('$'));
        match known {
            Some((id, _)) => id.clone(),
            None if member == "-" || member.starts_with('$') => String::new(),
            None => member.to_owned(),
        }
    }

    fn join_classic(&mut self, member: &str, named: &Named<'_>) -> String {
        let topics =
            |name: &str| named.get(name).copied().unwrap_or_default().split(',').filter(|t| !t.is_empty());
        let owned = topics("own").map(|topic| {
            let (topic, partitions) = topic.split_once(':').unwrap();
            m::consumer_protocol_subscription::TopicPartition {
                topic: topic.to_owned(),
                partitions: partitions.split('.').map(|partition| partition.parse().unwrap()).collect(),
            }
        });
        let subscription = m::ConsumerProtocolSubscription {
            topics: topics("names").map(str::to_owned).collect(),
            owned_partitions: owned.collect(),
            ..Default::default()
        };
        let metadata = match named.get("metadata") {
            Some(_) => Bytes::from_static(&[0]),
            None => embedded(&subscription, 1),
        };
        let request = m::JoinGroupRequest {
            group_id: self.group.clone(),
            session_timeout_ms: 30_000,
            rebalance_timeout_ms: 60_000,
            member_id: self.id(member),
            group_instance_id: named.get("instance").map(|instance| (*instance).to_owned()),
            protocol_type: named.get("type").copied().unwrap_or("consumer").to_owned(),
            protocols: vec![m::join_group_request::JoinGroupRequestProtocol {
                name: named.get("protocol").copied().unwrap_or("range").to_owned(),
                metadata,
            }],
            ..Default::default()
        };
        let ticket = self.lab.begin(GroupAsk::Join(caller(9), request));
        let joined = self.lab.joined(ticket).or_else(|| {
            self.lab.advance(Duration::from_secs(4));
            self.lab.joined(ticket)
        });
        let joined = joined.expect("an answer");
        if joined.error_code == 79 && member.starts_with('$') && self.id(member).is_empty() {
            self.ids.push((joined.member_id, member.to_owned()));
            return self.join_classic(member, named);
        }
        if member == "-" && !joined.member_id.is_empty() {
            self.ids.push((joined.member_id.clone(), "generated".to_owned()));
        }
        format!(
            "{} {} {} {} {}",
            joined.error_code,
            dash(&joined.member_id),
            joined.generation_id,
            dash(joined.protocol_type.as_deref().unwrap_or_default()),
            dash(joined.protocol_name.as_deref().unwrap_or_default())
        )
    }

    fn sync_classic(&mut self, member: &str, generation: i32, named: &Named<'_>) -> String {
        let assign = named.get("assign").map(|topic| {
            let (topic, partitions) = topic.split_once(':').unwrap();
            let assignment = m::ConsumerProtocolAssignment {
                assigned_partitions: vec![m::consumer_protocol_assignment::TopicPartition {
                    topic: topic.to_owned(),
                    partitions: partitions.split('.').map(|partition| partition.parse().unwrap()).collect(),
                }],
                user_data: None,
            };
            m::sync_group_request::SyncGroupRequestAssignment {
                member_id: self.id(member),
                assignment: embedded(&assignment, 1),
            }
        });
        let request = m::SyncGroupRequest {
            group_id: self.group.clone(),
            generation_id: generation,
            member_id: self.id(member),
            protocol_type: Some("consumer".to_owned()),
            protocol_name: Some(named.get("protocol").copied().unwrap_or("range").to_owned()),
            assignments: assign.into_iter().collect(),
            ..Default::default()
        };
        let Ok(GroupReply::Sync(synced)) = self.lab.ask(GroupAsk::Sync(caller(5), request)) else {
            panic!("an answer");
        };
        if synced.assignment.is_empty() {
            return format!("{} -", synced.error_code);
        }
        let mut r = Reader::new(synced.assignment);
        let version = r.i16().unwrap();
        let assignment = m::ConsumerProtocolAssignment::decode(&mut r, version).unwrap();
        let mut topics: Vec<_> =
            assignment.assigned_partitions.into_iter().map(|topic| (topic.topic, topic.partitions)).collect();
        topics.sort();
        format!("{} v{version} {}", synced.error_code, show_topics(&topics))
    }

    fn beat_classic(&mut self, member: &str, generation: i32) -> String {
        let request = m::HeartbeatRequest {
            group_id: self.group.clone(),
            generation_id: generation,
            member_id: self.id(member),
            ..Default::default()
        };
        let Ok(GroupReply::Heartbeat(response)) = self.lab.ask(GroupAsk::Heartbeat(request)) else {
            panic!("an answer");
        };
        response.error_code.to_string()
    }

    fn leave_classic(&mut self, members: &[&str]) -> String {
        let named = |who: &&str| {
            let (member, instance) =
                who.split_once('/').map_or((*who, None), |(m, i)| (m, Some(i.to_owned())));
            m::leave_group_request::MemberIdentity {
                member_id: self.id(member),
                group_instance_id: instance,
                reason: None,
            }
        };
        let request = m::LeaveGroupRequest {
            group_id: self.group.clone(),
            members: members.iter().map(named).collect(),
            ..Default::default()
        };
        let Ok(GroupReply::Leave(left)) = self.lab.ask(GroupAsk::Leave(caller(5), request)) else {
            panic!("an answer");
        };
        let results = left.members.iter().map(|member| member.error_code.to_string());
        [left.error_code.to_string()].into_iter().chain(results).collect::<Vec<_>>().join(" ")
    }

    /// What the group has written since this was last asked. The order among members is that of a
    /// hash table: records of a type that follow each other are shown in theirs.
    fn records(&mut self) -> Vec<String> {
        let from = self.shown.insert(self.group.clone(), self.lab.log.len()).unwrap_or(0);
        let mut all: Vec<String> = self.lab.written_of(&self.group, from);
        all = all.iter().map(|line| self.named(line)).collect();
        let kind = |line: &String| line.split(' ').next().unwrap_or_default().to_owned();
        let runs = all.chunk_by_mut(|a, b| kind(a) == kind(b));
        runs.for_each(<[String]>::sort);
        all
    }
}

fn dash(text: &str) -> String {
    if text.is_empty() { "-".to_owned() } else { text.to_owned() }
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
