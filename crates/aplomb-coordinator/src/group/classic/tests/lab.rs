//! A coordinator with its log, its clock and its clients.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use aplomb_model::batch::{BatchBuilder, Batches, Compression};
use aplomb_model::{ErrorCode, Instant, LeaderEpoch, Offset, SplitMix64, Timestamp, TopicId};
use aplomb_protocol::messages as m;
use aplomb_protocol::messages::leave_group_request::MemberIdentity;
use bytes::Bytes;

pub(super) use super::requests::{GROUP, JoinSpec, REBALANCE, SESSION, SyncSpec, caller, code, subscription};
use crate::group::state::classic::ClassicGroup;
use crate::group::state::follower::Follower;
use crate::group::{
    ClassicSettings, GroupAsk, GroupRecord, GroupReply, GroupSettings, Groups, OffsetSettings, Overrides,
    Topic, World,
};
use crate::runtime::{Effect, Now, Runtime, Ticket, WriteSettings};

pub(super) const DELAY: Duration = Duration::from_secs(3);
pub(super) const MILLI: Duration = Duration::from_millis(1);

#[derive(Debug)]
struct Settings(GroupSettings, bool);

impl World for Settings {
    fn settings(&self) -> &GroupSettings {
        &self.0
    }
    fn has_room(&self) -> bool {
        self.1
    }
    fn overrides(&self, _: &str) -> Overrides {
        Overrides::default()
    }
    fn topic(&self, _: &str) -> Option<Topic> {
        None
    }
    fn topic_by_id(&self, _: TopicId) -> Option<Topic> {
        None
    }
    fn racks(&self, _: TopicId, _: i32) -> Vec<String> {
        Vec::new()
    }
    fn names_after(&self, _: Option<&str>, _: usize) -> Vec<Arc<str>> {
        Vec::new()
    }
    fn version(&self) -> i64 {
        0
    }
}

/// What becomes of what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Log {
    /// It is kept at once.
    Keeps,
    /// It is kept or refused when the test says so.
    Holds,
    Refuses(ErrorCode),
}

#[derive(Debug)]
pub(super) struct Lab {
    runtime: Runtime<Groups>,
    world: Settings,
    now: Instant,
    random: SplitMix64,
    tickets: u64,
    waiting: HashSet<Ticket>,
    answers: HashMap<Ticket, Result<GroupReply, ErrorCode>>,
    pub(super) log: Log,
    /// Whether all that a group counts is counted again after each step.
    pub(super) checks: bool,
    held: VecDeque<(u64, Bytes)>,
    kept: Vec<Bytes>,
    end: Offset,
    /// `None`: its log is being loaded.
    follower: Option<Follower>,
}

fn settings() -> GroupSettings {
    GroupSettings {
        classic: ClassicSettings {
            session_timeouts: Duration::from_secs(6)..=Duration::from_secs(1_800),
            initial_rebalance_delay: DELAY,
            max_size: usize::MAX,
        },
        consumer: None,
        offsets: OffsetSettings {
            retention: Duration::from_secs(7 * 24 * 3_600),
            check_interval: Duration::from_secs(600),
            metadata_max: 4_096,
        },
    }
}

fn empty_runtime() -> Runtime<Groups> {
    let writes = WriteSettings {
        linger: None,
        patience: Duration::from_secs(5),
        batch_bytes: 16 << 20,
        pending_bytes: 64 << 20,
        compression: Compression::default(),
    };
    Runtime::new(Groups::observed(), LeaderEpoch::new(1), writes)
}

impl Lab {
    pub(super) fn new() -> Self {
        Self::seeded(1)
    }

    pub(super) fn seeded(seed: u64) -> Self {
        let mut lab = Self {
            runtime: empty_runtime(),
            world: Settings(settings(), true),
            now: Instant::START,
            random: SplitMix64::new(seed),
            tickets: 0,
            waiting: HashSet::new(),
            answers: HashMap::new(),
            log: Log::Keeps,
            checks: true,
            held: VecDeque::new(),
            kept: Vec::new(),
            end: Offset::ZERO,
            follower: None,
        };
        lab.load();
        lab
    }

    /// The group holds no more members than this.
    pub(super) fn with_max_size(mut self, most: usize) -> Self {
        self.world.0.classic.max_size = most;
        self
    }

    /// Memory is used up.
    pub(super) fn fill_memory(&mut self) {
        self.world.1 = false;
    }

    pub(super) fn settings(&mut self) -> &mut GroupSettings {
        &mut self.world.0
    }

    fn wall(&self) -> Timestamp {
        Timestamp(1_000_000 + i64::try_from(self.now.as_nanos() / 1_000_000).expect("not so long"))
    }

    /// Tells the runtime something, and does what it wants done.
    fn tell<R>(
        &mut self,
        what: impl FnOnce(&mut Runtime<Groups>, Now, &Settings, &mut dyn FnMut() -> [u8; 16]) -> R,
    ) -> R {
        let now = Now { instant: self.now, wall: self.wall() };
        let random = &mut self.random;
        let mut draw = || {
            let mut raw = [0; 16];
            raw[..8].copy_from_slice(&random.bits().to_be_bytes());
            raw[8..].copy_from_slice(&random.bits().to_be_bytes());
            raw
        };
        let told = what(&mut self.runtime, now, &self.world, &mut draw);
        self.runtime.end_turn();
        self.pump();
        told
    }

    fn pump(&mut self) {
        for effect in self.runtime.take_effects() {
            match effect {
                Effect::Append { number, batch } => {
                    self.held.push_back((number, batch));
                }
                Effect::Answer(ticket, answer) => {
                    assert!(self.waiting.remove(&ticket), "{ticket:?} waits, and is answered once");
                    self.answers.insert(ticket, answer);
                }
                Effect::Marked(ticket, _) => panic!("{ticket:?} marks nothing"),
                Effect::Event(_) => {}
            }
        }
        match self.log {
            Log::Keeps if !self.held.is_empty() => self.keep(),
            Log::Refuses(error) if !self.held.is_empty() => self.refuse(error),
            Log::Keeps | Log::Refuses(_) | Log::Holds => {}
        }
        let news = self.runtime.take_news();
        if let Some(follower) = &mut self.follower {
            follower.follow(news, self.runtime.machine());
        }
        if self.checks {
            self.check();
        }
    }

    /// The log keeps the oldest batch that it holds.
    pub(super) fn keep(&mut self) {
        let (number, batch) = self.held.pop_front().expect("something is written");
        let header = Batches::new(&batch).next().expect("a batch").header;
        assert_eq!(header.base_offset(), self.end);
        self.end = header.last_offset().next();
        self.kept.push(batch);
        let base = header.base_offset();
        self.tell(|runtime, now, world, random| runtime.on_answer(number, Ok(base), now, world, random));
    }

    /// The log refuses all that it holds.
    pub(super) fn refuse(&mut self, error: ErrorCode) {
        let (number, _) = self.held.pop_front().expect("something is written");
        self.held.clear();
        self.tell(|runtime, now, world, random| runtime.on_answer(number, Err(error), now, world, random));
    }

    pub(super) fn holds(&self) -> usize {
        self.held.len()
    }

    fn check(&self) {
        let table = &self.runtime.machine().table;
        let mut bytes = 0;
        for (id, _) in table.after(None) {
            if let Some(group) = table.classic(id) {
                group.check();
            }
            bytes += table.classic(id).map_or(0, ClassicGroup::bytes);
            bytes += table.consumer(id).map_or(0, |group| group.bytes());
        }
        assert_eq!(table.bytes(), bytes);
        if let Some(follower) = &self.follower {
            follower.check(self.runtime.machine());
        }
    }

    fn load(&mut self) {
        let slices: Vec<&[u8]> = self.kept.iter().map(|batch| &batch[..]).collect();
        self.runtime.load(&slices).expect("what was written can be read");
        let end = self.end;
        self.tell(|runtime, now, world, random| runtime.on_loaded(end, now, world, random));
        self.follower = Some(Follower::of(self.runtime.machine()));
    }

    /// The coordinator, to look at.
    pub(super) fn groups(&self) -> &Groups {
        self.runtime.machine()
    }

    /// This broker gives the coordinator up, and another one loads it.
    pub(super) fn reload(&mut self) {
        self.held.clear();
        self.runtime.resign();
        self.pump();
        assert!(self.waiting.is_empty(), "whoever waited was told");
        self.runtime = empty_runtime();
        self.follower = None;
        self.load();
    }

    /// The log has lost some of its newest batches, as `is_lost` says, and another coordinator
    /// loads it.
    pub(super) fn lose(&mut self, newest: usize, mut is_lost: impl FnMut() -> bool) {
        let safe = self.kept.len().saturating_sub(newest);
        let kept: Vec<_> = self.kept.drain(safe..).filter(|_| !is_lost()).collect();
        self.kept.extend(kept);
        self.reload();
    }

    /// Time passes, and what it brings happens.
    pub(super) fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(at) = self.runtime.wake_at().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.tell(|runtime, now, world, random| runtime.on_wake(now, world, random));
        }
        self.now = end;
    }

    /// It is woken when it is to be.
    pub(super) fn wake(&mut self) {
        self.now = self.now.max(self.runtime.wake_at().expect("it waits for something"));
        self.tell(|runtime, now, world, random| runtime.on_wake(now, world, random));
    }

    /// How many offsets are committed.
    pub(super) fn offsets(&self) -> usize {
        self.runtime.machine().offsets()
    }

    pub(super) fn ask(&mut self, ask: GroupAsk) -> Ticket {
        let ticket = Ticket(self.tickets);
        self.tickets += 1;
        self.waiting.insert(ticket);
        self.tell(|runtime, now, world, random| runtime.on_ask(ticket, ask, now, world, random));
        ticket
    }

    /// The client that asked has hung up.
    pub(super) fn cancel(&mut self, ticket: Ticket) {
        self.runtime.cancel(ticket);
        self.waiting.remove(&ticket);
    }

    /// How many wait for an answer.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn take(&mut self, ticket: Ticket) -> Option<Result<GroupReply, ErrorCode>> {
        self.answers.remove(&ticket)
    }

    pub(super) fn is_waiting(&self, ticket: Ticket) -> bool {
        self.waiting.contains(&ticket)
    }

    pub(super) fn group(&self) -> &ClassicGroup {
        self.runtime.machine().table.classic(GROUP).expect("the group is there")
    }

    pub(super) fn has_group(&self) -> bool {
        self.runtime.machine().table.get(GROUP).is_some()
    }

    pub(super) fn has_consumer_group(&self) -> bool {
        self.runtime.machine().table.consumer(GROUP).is_some()
    }

    pub(super) fn is_consumer_group_empty(&self) -> bool {
        self.runtime.machine().table.consumer(GROUP).is_some_and(|group| group.is_empty())
    }

    pub(super) fn state(&self) -> &'static str {
        self.group().listed().1
    }

    /// The records that the log has kept.
    pub(super) fn records(&self) -> Vec<GroupRecord> {
        let mut records = Vec::new();
        for batch in &self.kept {
            for batch in Batches::new(batch) {
                let raw = batch.uncompressed(1 << 30).expect("readable");
                for record in batch.records(&raw) {
                    let record = record.expect("readable");
                    let key = Bytes::copy_from_slice(record.key.expect("a key"));
                    let value = record.value.map(Bytes::copy_from_slice);
                    records.extend(GroupRecord::decode(key, value).expect("readable"));
                }
            }
        }
        records
    }

    /// Writes a record into the log that another broker has written.
    pub(super) fn put(&mut self, record: &GroupRecord) {
        let (key, value) = record.encode().expect("a record");
        self.append(&key, value.as_deref());
    }

    /// Writes a record of a type that is read and not written.
    pub(super) fn put_raw(&mut self, key: &[u8], value: &[u8]) {
        self.append(key, Some(value));
    }

    fn append(&mut self, key: &[u8], value: Option<&[u8]>) {
        let mut builder = BatchBuilder::new(self.end);
        builder.append(self.wall(), Some(key), value, &[]);
        self.kept.push(builder.build());
        self.end = self.end.next();
    }

    pub(super) fn join(&mut self, join: &JoinSpec) -> Ticket {
        self.ask(GroupAsk::Join(caller(join.version), join.request()))
    }

    /// What a JoinGroup was answered.
    pub(super) fn joined(&mut self, ticket: Ticket) -> m::JoinGroupResponse {
        match self.take(ticket) {
            Some(Ok(GroupReply::Join(response))) => response,
            other => panic!("no JoinGroup response: {other:?}"),
        }
    }

    /// A JoinGroup that is answered at once.
    pub(super) fn join_now(&mut self, join: &JoinSpec) -> m::JoinGroupResponse {
        let ticket = self.join(join);
        self.joined(ticket)
    }

    pub(super) fn sync(&mut self, spec: &SyncSpec) -> Ticket {
        self.ask(GroupAsk::Sync(caller(spec.version), spec.request()))
    }

    pub(super) fn synced(&mut self, ticket: Ticket) -> m::SyncGroupResponse {
        match self.take(ticket) {
            Some(Ok(GroupReply::Sync(response))) => response,
            other => panic!("no SyncGroup response: {other:?}"),
        }
    }

    pub(super) fn sync_now(&mut self, spec: &SyncSpec) -> m::SyncGroupResponse {
        let ticket = self.sync(spec);
        self.synced(ticket)
    }

    pub(super) fn heartbeat(&mut self, member: &str, instance: Option<&str>, generation: i32) -> ErrorCode {
        let ticket = self.ask(GroupAsk::Heartbeat(m::HeartbeatRequest {
            group_id: GROUP.to_owned(),
            generation_id: generation,
            member_id: member.to_owned(),
            group_instance_id: instance.map(str::to_owned),
        }));
        match self.take(ticket) {
            Some(Ok(GroupReply::Heartbeat(response))) => code(response.error_code),
            other => panic!("no Heartbeat response: {other:?}"),
        }
    }

    pub(super) fn leave(&mut self, version: i16, who: &[(&str, Option<&str>)]) -> m::LeaveGroupResponse {
        let members = who.iter().map(|(member, instance)| MemberIdentity {
            member_id: (*member).to_owned(),
            group_instance_id: instance.map(str::to_owned),
            reason: None,
        });
        let request = m::LeaveGroupRequest {
            group_id: GROUP.to_owned(),
            member_id: who.first().map_or_else(String::new, |(member, _)| (*member).to_owned()),
            members: members.collect(),
        };
        let ticket = self.ask(GroupAsk::Leave(caller(version), request));
        match self.take(ticket) {
            Some(Ok(GroupReply::Leave(response))) => {
                use aplomb_protocol::Message as _;
                response.to_bytes(version).expect("the response can be written in its version");
                response
            }
            other => panic!("no LeaveGroup response: {other:?}"),
        }
    }

    /// A member that joins without an id and learns it: of version 4 and later.
    pub(super) fn pending_id(&mut self, join: &JoinSpec) -> String {
        let response = self.join_now(join);
        assert_eq!(code(response.error_code), ErrorCode::MemberIdRequired);
        response.member_id
    }

    /// A stable group of so many members, in the order in which they came; the first one leads.
    /// Each has its number as its assignment.
    pub(super) fn stable(&mut self, members: &[JoinSpec]) -> Vec<String> {
        let mut tickets = Vec::new();
        for member in members {
            let mut member = member.clone();
            if member.instance.is_none() && member.version >= 4 {
                member.member = self.pending_id(&member);
            }
            tickets.push(self.join(&member));
        }
        self.pass(DELAY);
        let joined: Vec<_> = tickets.into_iter().map(|ticket| self.joined(ticket)).collect();
        let ids: Vec<String> = joined.iter().map(|joined| joined.member_id.clone()).collect();
        assert!(joined.iter().all(|joined| joined.leader == ids[0]));
        self.complete(&ids);
        ids
    }

    /// The members of a generation sync; the group's leader assigns each its number.
    pub(super) fn complete(&mut self, ids: &[String]) {
        let generation = self.group().generation();
        let leader = self.group().leader().expect("a leader").to_string();
        let mut tickets = Vec::new();
        for id in ids {
            let mut sync = SyncSpec::of(id, generation);
            if *id == leader {
                let assigned = |(n, id): (usize, &String)| (id.clone(), n.to_string());
                sync.assignments = ids.iter().enumerate().map(assigned).collect();
            }
            tickets.push(self.sync(&sync));
        }
        for (n, ticket) in tickets.into_iter().enumerate() {
            let synced = self.synced(ticket);
            assert_eq!(code(synced.error_code), ErrorCode::None);
            assert_eq!(synced.assignment, n.to_string().as_bytes());
        }
        assert_eq!(self.state(), "Stable");
    }
}
