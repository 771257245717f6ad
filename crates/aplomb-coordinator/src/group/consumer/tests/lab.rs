//! A coordinator with a log, topics and a clock of its own.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use aplomb_model::batch::{BatchBuilder, Batches, Codec};
use aplomb_model::{ErrorCode, Instant, LeaderEpoch, Offset, SplitMix64, Timestamp, TopicId, Uuid};
use aplomb_protocol::{Message, Writer, messages as m};
use bytes::Bytes;
use m::consumer_group_heartbeat_request::TopicPartitions;

use crate::group::state::consumer::ConsumerGroup;
use crate::group::{
    Bounded, Caller, ClassicSettings, ConsumerSettings, GroupAsk, GroupRecord, GroupReply, GroupSettings,
    Groups, MigrationPolicy, OffsetSettings, Overrides, Topic, World,
};
use crate::runtime::{Effect, Machine as _, Now, Runtime, Ticket, WriteSettings};

pub(super) type Response = m::ConsumerGroupHeartbeatResponse;
pub(super) type Request = m::ConsumerGroupHeartbeatRequest;

/// Topics and settings of a test.
#[derive(Debug)]
pub(super) struct TestWorld {
    pub(super) settings: GroupSettings,
    pub(super) overrides: Overrides,
    pub(super) has_room: bool,
    topics: BTreeMap<Arc<str>, Topic>,
    version: i64,
}

impl TestWorld {
    fn new() -> Self {
        let bounded = |default, min, max| Bounded {
            default: Duration::from_millis(default),
            min: Duration::from_millis(min),
            max: Duration::from_millis(max),
        };
        let consumer = ConsumerSettings {
            session_timeout: bounded(45_000, 45_000, 60_000),
            heartbeat_interval: bounded(5000, 5000, 15_000),
            hurried_interval: None,
            assignment_interval: bounded(0, 0, 15_000),
            max_size: usize::MAX,
            assignors: vec!["uniform".into(), "range".into()],
            migration: MigrationPolicy { upgrade: true, downgrade: true },
        };
        let settings = GroupSettings {
            classic: ClassicSettings {
                session_timeouts: Duration::from_secs(6)..=Duration::from_secs(1800),
                initial_rebalance_delay: Duration::ZERO,
                max_size: usize::MAX,
            },
            consumer: Some(consumer),
            offsets: OffsetSettings {
                retention: Duration::from_secs(7 * 86_400),
                check_interval: Duration::from_secs(600),
                metadata_max: 4096,
            },
        };
        let topics = BTreeMap::new();
        Self { settings, overrides: Overrides::default(), has_room: true, topics, version: 1 }
    }

    pub(super) fn consumer(&mut self) -> &mut ConsumerSettings {
        self.settings.consumer.as_mut().expect("the protocol is on")
    }

    /// Creates a topic, or gives it more partitions.
    pub(super) fn set_topic(&mut self, name: &str, partitions: i32) -> TopicId {
        self.version += 1;
        let id = match self.topics.get(name) {
            Some(topic) => topic.id,
            None => Uuid::from_u128(1000 + u128::from(self.version.unsigned_abs())),
        };
        self.topics.insert(name.into(), Topic { id, name: name.into(), partitions });
        id
    }

    pub(super) fn delete_topic(&mut self, name: &str) {
        self.version += 1;
        self.topics.remove(name);
    }

    pub(super) fn id(&self, name: &str) -> TopicId {
        self.topics[name].id
    }

    pub(super) fn topics(&self) -> impl Iterator<Item = &Topic> {
        self.topics.values()
    }
}

impl World for TestWorld {
    fn settings(&self) -> &GroupSettings {
        &self.settings
    }

    fn has_room(&self) -> bool {
        self.has_room
    }

    fn overrides(&self, _: &str) -> Overrides {
        self.overrides
    }

    fn topic(&self, name: &str) -> Option<Topic> {
        self.topics.get(name).cloned()
    }

    fn topic_by_id(&self, id: TopicId) -> Option<Topic> {
        self.topics.values().find(|topic| topic.id == id).cloned()
    }

    fn racks(&self, _: TopicId, _: i32) -> Vec<String> {
        Vec::new()
    }

    fn names_after(&self, after: Option<&str>, most: usize) -> Vec<Arc<str>> {
        let names = self.topics.keys().filter(|name| after.is_none_or(|after| &***name > after));
        names.take(most).cloned().collect()
    }

    fn version(&self) -> i64 {
        self.version
    }
}

/// A coordinator and what is around it.
#[derive(Debug)]
pub(super) struct Lab {
    pub(super) world: TestWorld,
    pub(super) runtime: Runtime<Groups>,
    now: Duration,
    pub(super) log: Vec<(Bytes, Option<Bytes>)>,
    /// How much of the log [`Self::written`] has shown.
    shown: usize,
    /// Whether the log takes nothing.
    pub(super) refuses: bool,
    tickets: u64,
    random: SplitMix64,
    answers: HashMap<Ticket, Result<GroupReply, ErrorCode>>,
}

pub(super) const GROUP: &str = "group";
const WALL: i64 = 1_700_000_000_000;

impl Lab {
    pub(super) fn new() -> Self {
        let mut lab = Self {
            world: TestWorld::new(),
            runtime: start(),
            now: Duration::ZERO,
            log: Vec::new(),
            shown: 0,
            refuses: false,
            tickets: 0,
            random: SplitMix64::new(1),
            answers: HashMap::new(),
        };
        lab.loaded();
        lab
    }

    fn now(&self) -> Now {
        let millis = i64::try_from(self.now.as_millis()).expect("a short test");
        Now { instant: Instant::START + self.now, wall: Timestamp(WALL + millis) }
    }

    fn with<T>(
        &mut self,
        does: impl FnOnce(&mut Runtime<Groups>, Now, &TestWorld, &mut dyn FnMut() -> [u8; 16]) -> T,
    ) -> T {
        let now = self.now();
        let random = &mut self.random;
        let mut draw = || {
            let mut id = [0; 16];
            id[..8].copy_from_slice(&random.bits().to_be_bytes());
            id[8..].copy_from_slice(&random.bits().to_be_bytes());
            id
        };
        does(&mut self.runtime, now, &self.world, &mut draw)
    }

    fn loaded(&mut self) {
        let end = Offset::new(self.log.len() as u64);
        self.with(|runtime, now, world, random| runtime.on_loaded(end, now, world, random));
        self.settle();
    }

    /// Carries out what the coordinator wants done.
    fn settle(&mut self) {
        loop {
            self.with(|runtime, _, _, _| runtime.end_turn());
            let effects: Vec<_> = self.runtime.take_effects().collect();
            if effects.is_empty() {
                return;
            }
            for effect in effects {
                match effect {
                    Effect::Append { number, batch } => {
                        let kept = self.append(&batch);
                        self.with(|runtime, now, world, random| {
                            runtime.on_answer(number, kept, now, world, random);
                        });
                    }
                    Effect::Answer(ticket, answer) => {
                        assert!(self.answers.insert(ticket, answer).is_none(), "answered once");
                    }
                    _ => {}
                }
            }
        }
    }

    fn append(&mut self, bytes: &[u8]) -> Result<Offset, ErrorCode> {
        if self.refuses {
            return Err(ErrorCode::NotEnoughReplicas);
        }
        let base = Offset::new(self.log.len() as u64);
        for batch in Batches::new(bytes) {
            let raw = batch.uncompressed(1 << 24).expect("a good batch");
            for record in batch.records(&raw) {
                let record = record.expect("a good record");
                let copy = Bytes::copy_from_slice;
                self.log.push((copy(record.key.expect("a key")), record.value.map(copy)));
            }
        }
        Ok(base)
    }

    /// Time passes.
    pub(super) fn advance(&mut self, by: Duration) {
        let until = self.now + by;
        while let Some(at) = self.runtime.wake_at()
            && at <= Instant::START + until
        {
            self.now = self.now.max(Duration::from_nanos(at.as_nanos()));
            self.with(|runtime, now, world, random| runtime.on_wake(now, world, random));
            self.settle();
        }
        self.now = until;
    }

    /// The coordinator moves: another reads this log.
    pub(super) fn reload(&mut self, log: Vec<(Bytes, Option<Bytes>)>) {
        self.runtime = start();
        self.shown = log.len();
        let mut builder = BatchBuilder::new(Offset::ZERO);
        for (key, value) in &log {
            builder.append(Timestamp(WALL), Some(key), value.as_deref(), &[]);
        }
        if !log.is_empty() {
            self.runtime.load(&[&builder.build()]).expect("what was written can be read");
        }
        self.log = log;
        self.loaded();
    }

    pub(super) fn ask(&mut self, ask: GroupAsk) -> Result<GroupReply, ErrorCode> {
        let ticket = self.begin(ask);
        self.answers.remove(&ticket).expect("an answer")
    }

    /// Asks what may be answered later.
    pub(super) fn begin(&mut self, ask: GroupAsk) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.with(|runtime, now, world, random| runtime.on_ask(ticket, ask, now, world, random));
        self.settle();
        ticket
    }

    /// The answer; `None`: it waits.
    pub(super) fn answer(&mut self, ticket: Ticket) -> Option<Result<GroupReply, ErrorCode>> {
        self.answers.remove(&ticket)
    }

    /// The answer to a JoinGroup; `None`: it waits.
    pub(super) fn joined(&mut self, ticket: Ticket) -> Option<m::JoinGroupResponse> {
        match self.answers.remove(&ticket)? {
            Ok(GroupReply::Join(response)) => Some(response),
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn heartbeat(&mut self, request: Request) -> Result<Response, ErrorCode> {
        match self.ask(GroupAsk::ConsumerHeartbeat(caller(1), request))? {
            GroupReply::ConsumerHeartbeat(response) => Ok(response),
            other => panic!("{other:?}"),
        }
    }

    /// A heartbeat that is answered.
    pub(super) fn send(&mut self, request: Request) -> Response {
        self.heartbeat(request).expect("an answer to the heartbeat")
    }

    /// A member joins, subscribed to these topics.
    pub(super) fn join(&mut self, member: &str, topics: &[&str]) -> Response {
        self.send(join(member, topics))
    }

    /// A heartbeat with nothing but the epoch.
    pub(super) fn beat(&mut self, member: &str, epoch: i32) -> Response {
        self.send(beat(member, epoch))
    }

    /// A heartbeat with what the member has.
    pub(super) fn own(&mut self, member: &str, epoch: i32, owned: &[(&str, &[i32])]) -> Response {
        let owned = owned.iter().map(|(topic, partitions)| TopicPartitions {
            topic_id: self.world.id(topic),
            partitions: partitions.to_vec(),
        });
        let owned = Some(owned.collect());
        self.send(Request { topic_partitions: owned, ..beat(member, epoch) })
    }

    /// A JoinGroup of a classic consumer; `None`: it waits.
    pub(super) fn join_classic(&mut self, member: &str, topics: &[&str], owned: &[(&str, &[i32])]) -> Ticket {
        let owned_partitions =
            owned.iter().map(|(topic, partitions)| m::consumer_protocol_subscription::TopicPartition {
                topic: (*topic).to_owned(),
                partitions: partitions.to_vec(),
            });
        let subscription = m::ConsumerProtocolSubscription {
            topics: topics.iter().map(|topic| (*topic).to_owned()).collect(),
            owned_partitions: owned_partitions.collect(),
            ..Default::default()
        };
        let request = m::JoinGroupRequest {
            group_id: GROUP.to_owned(),
            session_timeout_ms: 30_000,
            rebalance_timeout_ms: 60_000,
            member_id: member.to_owned(),
            protocol_type: "consumer".to_owned(),
            protocols: vec![m::join_group_request::JoinGroupRequestProtocol {
                name: "range".to_owned(),
                metadata: embedded(&subscription, 1),
            }],
            ..Default::default()
        };
        self.begin(GroupAsk::Join(caller(9), request))
    }

    /// A SyncGroup of a classic consumer, which as the leader assigns this.
    pub(super) fn sync_classic(
        &mut self,
        member: &str,
        generation: i32,
        assigned: &[(&str, &str, &[i32])],
    ) -> m::SyncGroupResponse {
        let assign = |(member, topic, partitions): &(&str, &str, &[i32])| {
            let assignment = m::ConsumerProtocolAssignment {
                assigned_partitions: vec![m::consumer_protocol_assignment::TopicPartition {
                    topic: (*topic).to_owned(),
                    partitions: partitions.to_vec(),
                }],
                user_data: None,
            };
            m::sync_group_request::SyncGroupRequestAssignment {
                member_id: (*member).to_owned(),
                assignment: embedded(&assignment, 1),
            }
        };
        let request = m::SyncGroupRequest {
            group_id: GROUP.to_owned(),
            generation_id: generation,
            member_id: member.to_owned(),
            protocol_type: Some("consumer".to_owned()),
            protocol_name: Some("range".to_owned()),
            assignments: assigned.iter().map(assign).collect(),
            ..Default::default()
        };
        match self.ask(GroupAsk::Sync(caller(5), request)) {
            Ok(GroupReply::Sync(response)) => response,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn beat_classic(&mut self, member: &str, generation: i32) -> ErrorCode {
        let request = m::HeartbeatRequest {
            group_id: GROUP.to_owned(),
            generation_id: generation,
            member_id: member.to_owned(),
            ..Default::default()
        };
        match self.ask(GroupAsk::Heartbeat(request)) {
            Ok(GroupReply::Heartbeat(response)) => ErrorCode::from_wire(response.error_code).expect("a code"),
            other => panic!("{other:?}"),
        }
    }

    /// What a response assigns, by topic.
    pub(super) fn assigned(&self, response: &Response) -> Option<Vec<(String, Vec<i32>)>> {
        let name = |id| self.world.topic_by_id(id).map_or("?".to_owned(), |topic| topic.name.to_string());
        let assignment = response.assignment.as_ref()?;
        let mut all: Vec<_> = assignment
            .topic_partitions
            .iter()
            .map(|topic| (name(topic.topic_id), topic.partitions.clone()))
            .collect();
        all.sort();
        Some(all)
    }

    pub(super) fn group(&self) -> &ConsumerGroup {
        self.runtime.machine().table.consumer(GROUP).expect("the group is there")
    }

    /// The records that were written since this was last asked: type, member or expression, and
    /// what tells them apart.
    pub(super) fn written(&mut self) -> Vec<String> {
        let written = self.written_of(GROUP, self.shown);
        self.shown = self.log.len();
        written
    }

    /// The records of a group's members, from here on. Offsets are left out.
    pub(super) fn written_of(&self, group: &str, from: usize) -> Vec<String> {
        let log = self.log[from..].iter();
        let records = log.map(|(key, value)| {
            Groups::decode(key.clone(), value.clone()).expect("a record").expect("known")
        });
        records
            .filter(|record| record.group() == group && !matches!(record, GroupRecord::Offset(..)))
            .map(|record| show(&record))
            .collect()
    }
}

fn show(record: &GroupRecord) -> String {
    match record {
        GroupRecord::Classic(_, None) => "-2".to_owned(),
        GroupRecord::Classic(_, Some(value)) => format!("2 generation {}", value.generation),
        GroupRecord::Epoch(_, None) => "-3".to_owned(),
        GroupRecord::Epoch(_, Some(value)) => format!("3 epoch {}", value.epoch),
        GroupRecord::Topics(_, value) => format!("{}4", if value.is_some() { "" } else { "-" }),
        GroupRecord::Member(key, None) => format!("-5 {}", key.member_id),
        GroupRecord::Member(key, Some(_)) => format!("5 {}", key.member_id),
        GroupRecord::TargetEpoch(_, None) => "-6".to_owned(),
        GroupRecord::TargetEpoch(_, Some(value)) if value.assignment_timestamp == 0 => {
            format!("6 epoch {} at 0", value.assignment_epoch)
        }
        GroupRecord::TargetEpoch(_, Some(value)) => format!("6 epoch {}", value.assignment_epoch),
        GroupRecord::Target(key, None) => format!("-7 {}", key.member_id),
        GroupRecord::Target(key, Some(_)) => format!("7 {}", key.member_id),
        GroupRecord::Current(key, None) => format!("-8 {}", key.member_id),
        GroupRecord::Current(key, Some(value)) => {
            format!("8 {} epoch {} state {}", key.member_id, value.member_epoch, value.state)
        }
        GroupRecord::Expression(key, None) => format!("-16 {}", key.regular_expression),
        GroupRecord::Expression(key, Some(value)) => {
            format!("16 {} = {}", key.regular_expression, value.topics.join(" "))
        }
        other => format!("{other:?}"),
    }
}

fn start() -> Runtime<Groups> {
    let settings = WriteSettings {
        linger: None,
        patience: Duration::from_secs(5),
        batch_bytes: 1 << 20,
        pending_bytes: 1 << 30,
        compression: Codec::None.into(),
    };
    Runtime::new(Groups::observed(), LeaderEpoch::new(0), settings)
}

pub(super) fn caller(version: i16) -> Caller {
    Caller::new(version, "client", "/192.0.2.1")
}

pub(super) fn beat(member: &str, epoch: i32) -> Request {
    Request {
        group_id: GROUP.to_owned(),
        member_id: member.to_owned(),
        member_epoch: epoch,
        ..Request::default()
    }
}

pub(super) fn join(member: &str, topics: &[&str]) -> Request {
    Request {
        rebalance_timeout_ms: 30_000,
        subscribed_topic_names: Some(topics.iter().map(|topic| (*topic).to_owned()).collect()),
        topic_partitions: Some(Vec::new()),
        ..beat(member, 0)
    }
}

/// What classic consumers say among each other.
pub(super) fn embedded<M: Message>(message: &M, version: i16) -> Bytes {
    let mut w = Writer::new();
    w.i16(version);
    message.encode(&mut w, version).expect("a message");
    w.freeze()
}
