//! The administrator: creates, changes and deletes topics, and deletes records. Asks for one thing
//! at a time and remembers what was not answered.

use std::collections::{BTreeMap, BTreeSet};

use aplomb_model::{ErrorCode, Instant, Uuid};
use aplomb_protocol::ApiKey;
use aplomb_protocol::messages as m;
use aplomb_protocol::messages::create_partitions_request::CreatePartitionsTopic;
use aplomb_protocol::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};
use aplomb_protocol::messages::delete_records_request::{DeleteRecordsPartition, DeleteRecordsTopic};
use aplomb_protocol::messages::delete_topics_request::DeleteTopicState;
use aplomb_protocol::messages::describe_configs_request::DescribeConfigsResource;
use aplomb_protocol::messages::incremental_alter_configs_request::{AlterConfigsResource, AlterableConfig};
use bytes::Bytes;

use super::{Client, Context, Expect, Place, all_places, answer, millis};
use crate::bank::{ACCOUNTS, TRANSACTIONS_TOPIC};
use crate::check::cluster::{Change, Seen};
use crate::check::groups::OFFSETS_TOPIC;
use crate::check::journal::Before;
use crate::check::{Checked, Oracle};
use crate::scenario::TopicPlan;

/// How many topics come and go.
const PASSING_COUNT: u64 = 3;
/// `ConfigResource.Type.TOPIC`
const TOPIC: i8 = 2;
/// `timeout_ms` of its requests.
const TIMEOUT_MS: i32 = 10_000;

#[derive(Debug)]
enum Asked {
    Change { name: String, change: Change },
    Records { place: Place, before: Before, to: i64 },
    Topics,
    Configs,
}

#[derive(Debug, Default)]
pub(super) struct Admin {
    asked: Option<(i32, i16, Asked, Instant)>,
    next: Instant,
    /// Topics whose settings are to be looked at.
    look_at: BTreeSet<String>,
}

impl Admin {
    fn go_on(&mut self, ctx: &mut Context<'_>) {
        if self.asked.is_some() {
            return;
        }
        self.next = ctx.now + ctx.dice.time(millis(20)..millis(500));
        let missing = ctx.plan.topics.iter().find(|plan| {
            ctx.oracle.cluster.facts(&plan.name).is_none() && !ctx.oracle.cluster.is_in_doubt(&plan.name)
        });
        if let Some(plan) = missing.cloned() {
            self.next = ctx.now;
            return self.change(plan.name.clone(), Change::Create(plan), ctx);
        }
        match ctx.dice.within(0..10) {
            0 | 1 => self.come_or_go(ctx),
            2 => self.more_partitions(ctx),
            3 | 4 => self.alter(ctx),
            5 | 6 => self.delete_records(ctx),
            7 if !self.look_at.is_empty() => self.look_at_configs(ctx),
            7 | 8 => self.look(ctx),
            _ => {}
        }
    }

    fn change(&mut self, name: String, change: Change, ctx: &mut Context<'_>) {
        let (now, process) = (ctx.now, ctx.oracle.process);
        let id = ctx.oracle.cluster.facts(&name).map(|facts| facts.id);
        ctx.oracle.cluster.ask(&name, change.clone(), process, now);
        let (correlation, version) = match &change {
            Change::Create(plan) => create(plan, ctx),
            Change::Delete => delete(&name, id.unwrap_or_default(), ctx),
            Change::Partitions(count) => {
                let version = ctx.version(ApiKey::CreatePartitions, 0);
                let topic = CreatePartitionsTopic { name: name.clone(), count: *count, assignments: None };
                let body = m::CreatePartitionsRequest {
                    topics: vec![topic],
                    timeout_ms: TIMEOUT_MS,
                    validate_only: false,
                };
                (ctx.send(version, &body, Expect::Decision), version)
            }
            Change::Config(key, value) => {
                self.look_at.insert(name.clone());
                alter(&name, key, value.clone(), ctx)
            }
        };
        self.asked = Some((correlation, version, Asked::Change { name, change }, now));
    }

    fn come_or_go(&mut self, ctx: &mut Context<'_>) {
        let number = ctx.dice.within(0..PASSING_COUNT);
        let name = TopicPlan::passing_name(number);
        if ctx.oracle.cluster.is_in_doubt(&name) {
            return;
        }
        let change = match ctx.oracle.cluster.facts(&name) {
            Some(_) => Change::Delete,
            None => {
                let plan = TopicPlan::passing(&name, ctx.dice.bits());
                Change::Create(plan)
            }
        };
        // Often the next topic of that name comes at once.
        if change == Change::Delete && ctx.dice.percent(50) {
            self.next = ctx.now;
        }
        self.change(name, change, ctx);
    }

    fn some_topic(&self, ctx: &mut Context<'_>) -> Option<String> {
        let cluster = &ctx.oracle.cluster;
        let names: Vec<String> = cluster
            .living()
            .filter(|(name, _)| !cluster.is_in_doubt(name))
            .map(|(name, _)| name.to_owned())
            .collect();
        (!names.is_empty()).then(|| ctx.dice.pick(&names).clone())
    }

    fn more_partitions(&mut self, ctx: &mut Context<'_>) {
        let Some(name) = self.some_topic(ctx) else { return };
        let count = ctx.oracle.cluster.facts(&name).map_or(0, |facts| facts.partitions) + 1;
        if count <= 5 {
            self.change(name, Change::Partitions(count), ctx);
        }
    }

    fn alter(&mut self, ctx: &mut Context<'_>) {
        let Some(name) = self.some_topic(ctx) else { return };
        let (key, most) = *ctx.dice.pick(&[
            ("segment.ms", 3000),
            ("index.interval.bytes", 4000),
            ("file.delete.delay.ms", 1000),
            ("segment.index.bytes", 300),
        ]);
        let value = (!ctx.dice.percent(25)).then(|| ctx.dice.within(24..most).to_string());
        self.change(name, Change::Config(key.to_owned(), value), ctx);
    }

    fn delete_records(&mut self, ctx: &mut Context<'_>) {
        let mut places = all_places(ctx.oracle);
        if places.is_empty() {
            return;
        }
        let place = places.swap_remove(ctx.dice.place(places.len()));
        let before = ctx.oracle.journal.before(place.id);
        let to = before.start + ctx.dice.within(0..(before.end - before.start + 1) as u64) as i64;
        ctx.oracle.journal.ask_to_start(place.id, to);
        let version = ctx.version(ApiKey::DeleteRecords, 0);
        let partition = DeleteRecordsPartition { partition_index: place.id.index, offset: to };
        let topic = DeleteRecordsTopic { name: place.topic.clone(), partitions: vec![partition] };
        let body = m::DeleteRecordsRequest { topics: vec![topic], timeout_ms: TIMEOUT_MS };
        let correlation = ctx.send(version, &body, Expect::Memory);
        self.asked = Some((correlation, version, Asked::Records { place, before, to }, ctx.now));
    }

    fn look(&mut self, ctx: &mut Context<'_>) {
        let version = ctx.version(ApiKey::Metadata, 10);
        let body = m::MetadataRequest { topics: None, ..Default::default() };
        let correlation = ctx.send(version, &body, Expect::Memory);
        self.asked = Some((correlation, version, Asked::Topics, ctx.now));
    }

    fn look_at_configs(&mut self, ctx: &mut Context<'_>) {
        let names: Vec<String> = std::mem::take(&mut self.look_at).into_iter().collect();
        let (correlation, version) = describe(&names, ctx);
        self.asked = Some((correlation, version, Asked::Configs, ctx.now));
    }

    fn on_changed(&mut self, name: String, change: Change, said: Said, ctx: &mut Context<'_>) {
        let now = ctx.now;
        match said.error {
            ErrorCode::None => {
                if matches!(change, Change::Create(_)) && said.id.is_none_or(|id| id == Uuid::ZERO) {
                    // Old versions do not say the id: it is in doubt until it is seen.
                    return self.next = now;
                }
                ctx.oracle.cluster.done(&name, said.id, now);
            }
            // What was asked for may still come to be.
            ErrorCode::RequestTimedOut => {}
            ErrorCode::KafkaStorageError if ctx.oracle.disk_lost => {}
            error => {
                ctx.oracle.cluster.refused(&name, now);
                ctx.oracle
                    .violated(format!("topic {name}: {change:?} is answered by {error}: {:?}", said.message));
            }
        }
    }

    fn on_records(
        &self,
        response: &m::DeleteRecordsResponse,
        asked: (Place, Before, i64),
        ctx: &mut Context<'_>,
    ) {
        let (place, before, to) = asked;
        let part = response.topics.first().and_then(|topic| topic.partitions.first());
        let Some(part) = part else {
            return ctx
                .oracle
                .violated(format!("records of {place:?} are deleted, and the answer is {response:?}"));
        };
        match ErrorCode::from_wire(part.error_code) {
            Some(ErrorCode::None) if part.low_watermark < to => {
                ctx.oracle
                    .violated(format!("{place:?} starts at {}, and was to at {to}", part.low_watermark));
            }
            Some(ErrorCode::None) => {
                let bounds = (part.low_watermark, before.end.max(part.low_watermark));
                let checked = ctx.oracle.bounds(place.id, before, bounds, ctx.now);
                ctx.oracle.expect(checked);
            }
            Some(ErrorCode::UnknownTopicOrPartition) if ctx.oracle.cluster.may_be_gone(place.id.topic) => {}
            Some(ErrorCode::KafkaStorageError) if ctx.oracle.disk_lost => {}
            Some(ErrorCode::NotLeaderOrFollower) if ctx.oracle.may_be_loading(ctx.now) => {}
            other => ctx.oracle.violated(format!("deleting records of {place:?} up to {to}: {other:?}")),
        }
    }
}

/// What an answer says of the topic that it is about.
#[derive(Debug)]
struct Said {
    error: ErrorCode,
    id: Option<Uuid>,
    message: Option<String>,
}

impl Said {
    fn read(change: &Change, version: i16, frame: Bytes) -> Result<Self, String> {
        let first = |found: Option<(i16, Option<Uuid>, Option<String>)>| {
            let (code, id, message) = found.ok_or("the answer is about no topic")?;
            let error = ErrorCode::from_wire(code).ok_or_else(|| format!("{code} is no error code"))?;
            Ok(Self { error, id, message })
        };
        match change {
            Change::Create(_) => {
                let response = answer::<m::CreateTopicsRequest>(version, frame)?;
                first(
                    response
                        .topics
                        .into_iter()
                        .next()
                        .map(|t| (t.error_code, Some(t.topic_id), t.error_message)),
                )
            }
            Change::Delete => {
                let response = answer::<m::DeleteTopicsRequest>(version, frame)?;
                first(response.responses.into_iter().next().map(|t| (t.error_code, None, t.error_message)))
            }
            Change::Partitions(_) => {
                let response = answer::<m::CreatePartitionsRequest>(version, frame)?;
                first(response.results.into_iter().next().map(|t| (t.error_code, None, t.error_message)))
            }
            Change::Config(..) => {
                let response = answer::<m::IncrementalAlterConfigsRequest>(version, frame)?;
                first(response.responses.into_iter().next().map(|t| (t.error_code, None, t.error_message)))
            }
        }
    }
}

fn create(plan: &TopicPlan, ctx: &mut Context<'_>) -> (i32, i16) {
    let version = ctx.version(ApiKey::CreateTopics, 2);
    let config = |(name, value): &(&str, String)| CreatableTopicConfig {
        name: (*name).to_owned(),
        value: Some(value.clone()),
    };
    let topic = CreatableTopic {
        name: plan.name.clone(),
        num_partitions: plan.partitions,
        replication_factor: 1,
        assignments: Vec::new(),
        configs: plan.configs.iter().map(config).collect(),
    };
    let body = m::CreateTopicsRequest { topics: vec![topic], timeout_ms: TIMEOUT_MS, validate_only: false };
    (ctx.send(version, &body, Expect::Decision), version)
}

fn delete(name: &str, id: Uuid, ctx: &mut Context<'_>) -> (i32, i16) {
    let version = ctx.version(ApiKey::DeleteTopics, 1);
    let mut body = m::DeleteTopicsRequest { timeout_ms: TIMEOUT_MS, ..Default::default() };
    if version < 6 {
        body.topic_names = vec![name.to_owned()];
    } else if ctx.dice.percent(50) {
        body.topics = vec![DeleteTopicState { name: None, topic_id: id }];
    } else {
        body.topics = vec![DeleteTopicState { name: Some(name.to_owned()), topic_id: Uuid::ZERO }];
    }
    (ctx.send(version, &body, Expect::Decision), version)
}

fn alter(name: &str, key: &str, value: Option<String>, ctx: &mut Context<'_>) -> (i32, i16) {
    let version = ctx.version(ApiKey::IncrementalAlterConfigs, 0);
    let config_operation = i8::from(value.is_none());
    let resource = AlterConfigsResource {
        resource_type: TOPIC,
        resource_name: name.to_owned(),
        configs: vec![AlterableConfig { name: key.to_owned(), config_operation, value }],
    };
    let body = m::IncrementalAlterConfigsRequest { resources: vec![resource], validate_only: false };
    (ctx.send(version, &body, Expect::Decision), version)
}

/// Asks for the settings of topics.
pub(super) fn describe(names: &[String], ctx: &mut Context<'_>) -> (i32, i16) {
    let version = ctx.version(ApiKey::DescribeConfigs, 1);
    let resource = |name: &String| DescribeConfigsResource {
        resource_type: TOPIC,
        resource_name: name.clone(),
        configuration_keys: None,
    };
    let body =
        m::DescribeConfigsRequest { resources: names.iter().map(resource).collect(), ..Default::default() };
    (ctx.send(version, &body, Expect::Memory), version)
}

/// Holds the topics that were shown against those that should be there.
pub(super) fn observe_topics(
    response: &m::MetadataResponse,
    asked: Instant,
    oracle: &mut Oracle,
    now: Instant,
) -> Checked {
    let mut shown = BTreeMap::new();
    for topic in &response.topics {
        let name = topic.name.clone().unwrap_or_default();
        if name == OFFSETS_TOPIC {
            oracle.groups.offsets_topic = Some((topic.topic_id, topic.partitions.len() as i32));
            continue;
        }
        if name == ACCOUNTS {
            oracle.bank.topic = Some((topic.topic_id, topic.partitions.len() as i32));
            continue;
        }
        if name == TRANSACTIONS_TOPIC {
            continue;
        }
        shown.insert(name, Seen { id: topic.topic_id, partitions: topic.partitions.len() as i32 });
    }
    let process = oracle.process;
    oracle.cluster.observe(&shown, process, asked, now)
}

/// Holds settings that were shown against those that should be.
pub(super) fn observe_configs(
    response: &m::DescribeConfigsResponse,
    asked: Instant,
    oracle: &mut Oracle,
) -> Checked {
    /// `ConfigSource.DYNAMIC_TOPIC_CONFIG`
    const OWN: i8 = 1;
    let process = oracle.process;
    for result in response.results.iter().filter(|result| result.error_code == 0) {
        let own = result.configs.iter().filter(|config| config.config_source == OWN);
        let shown =
            own.map(|config| (config.name.clone(), config.value.clone().unwrap_or_default())).collect();
        oracle.cluster.observe_configs(&result.resource_name, &shown, process, asked)?;
    }
    Ok(())
}

impl Client for Admin {
    fn on_connected(&mut self, ctx: &mut Context<'_>) {
        self.look(ctx);
    }

    fn on_disconnected(&mut self, _: &mut Context<'_>) {
        self.asked = None;
    }

    fn on_answer(&mut self, correlation: i32, frame: Bytes, ctx: &mut Context<'_>) {
        let Some((asked, version, what, at)) = self.asked.take() else {
            return ctx.oracle.violated("an answer to no question");
        };
        assert_eq!(asked, correlation, "an administrator asks for one thing at a time");
        let checked = match what {
            Asked::Change { name, change } => {
                Said::read(&change, version, frame).map(|said| self.on_changed(name, change, said, ctx))
            }
            Asked::Records { place, before, to } => answer::<m::DeleteRecordsRequest>(version, frame)
                .map(|response| self.on_records(&response, (place, before, to), ctx)),
            Asked::Topics => answer::<m::MetadataRequest>(version, frame)
                .and_then(|response| observe_topics(&response, at, ctx.oracle, ctx.now)),
            Asked::Configs => answer::<m::DescribeConfigsRequest>(version, frame)
                .and_then(|response| observe_configs(&response, at, ctx.oracle)),
        };
        ctx.oracle.expect(checked);
        if self.next <= ctx.now {
            self.go_on(ctx);
        }
    }

    fn on_wake(&mut self, ctx: &mut Context<'_>) {
        if self.asked.is_some() {
            self.next = ctx.now + millis(200);
            return;
        }
        self.go_on(ctx);
    }

    fn wake_at(&self) -> Option<Instant> {
        Some(self.next)
    }
}
