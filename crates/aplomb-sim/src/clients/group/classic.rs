//! A member of the classic protocol: joins, assigns if it leads, syncs, heartbeats, commits,
//! leaves, vanishes and comes back.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use aplomb_model::{ErrorCode, Instant};
use aplomb_protocol::ApiKey;
use aplomb_protocol::messages as m;
use aplomb_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use aplomb_protocol::messages::leave_group_request::MemberIdentity;
use aplomb_protocol::messages::sync_group_request::SyncGroupRequestAssignment;
use bytes::Bytes;

use super::common::{Came, Common};
use super::subscription::{assigned, assignment, deal, subscription, topics};
use super::{
    Client, Context, Expect, Name, OTHERS, Unanswered, absent, answer, by_name, draw_topics, error, joining,
    millis,
};
use crate::check::groups::Hold;
use crate::check::{Checked, PartitionId};
use crate::clients::Place;
use crate::groups::MemberPlan;
use crate::random::Dice;

/// The protocol that members agree on.
const PROTOCOL: &str = "range";
const TYPE: &str = "consumer";

#[derive(Debug)]
enum ClassicRequest {
    Common(Common),
    Join,
    Sync,
    Beat,
    Leave,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClassicStage {
    /// It is no member until then.
    Away(Instant),
    /// It is to join.
    Joins,
    /// It has joined, and is to learn what it gets.
    Syncs,
    /// It owns what it was assigned.
    Works,
}

#[derive(Debug)]
pub(super) struct ClassicScript {
    plan: MemberPlan,
    name: Name,
    /// In which version what it says of itself is written.
    metadata: i16,
    session: Duration,
    rebalance: Duration,
    topics: Vec<String>,
    doing: ClassicStage,
    is_found: bool,
    asked: Option<Unanswered<ClassicRequest>>,
    /// When it asked what was answered last.
    heard: Instant,
    owned: Vec<Place>,
    /// What it is to tell the others, if it leads.
    dealt: BTreeMap<String, Bytes>,
    /// The partitions that it dealt out, if it leads.
    counts: Option<BTreeMap<String, i32>>,
    /// It leads, and what was dealt out before it came back still holds.
    has_skipped: bool,
    next: Instant,
}

impl ClassicScript {
    pub(super) fn new(plan: MemberPlan, dice: &mut Dice) -> Self {
        let instance = plan.is_static.then(|| format!("i{}", plan.number));
        Self {
            plan,
            name: Name { group: plan.group_id(), instance, ..Name::default() },
            metadata: dice.within(0..4) as i16,
            session: dice.time(millis(300)..millis(1500)),
            rebalance: dice.time(millis(500)..millis(3000)),
            topics: Vec::new(),
            doing: ClassicStage::Away(Instant::START),
            is_found: false,
            asked: None,
            heard: Instant::START,
            owned: Vec::new(),
            dealt: BTreeMap::new(),
            counts: None,
            has_skipped: false,
            next: Instant::START,
        }
    }

    /// The first version of a request that has a place for its instance.
    fn least(&self, of_instance: i16, otherwise: i16) -> i16 {
        if self.plan.is_static { of_instance } else { otherwise }
    }

    fn go_on(&mut self, ctx: &mut Context<'_>) {
        if self.asked.is_some() {
            return;
        }
        let now = ctx.now;
        if self.doing == ClassicStage::Works && now >= self.heard + self.session {
            self.rejoin(ctx); // it takes itself for thrown out
        }
        self.next = now + ctx.dice.time(millis(10)..self.session / 5);
        match self.doing {
            ClassicStage::Away(until) if now < until => self.next = until,
            ClassicStage::Away(_) if ctx.oracle.groups.resting.is_some() => self.next = now + millis(5000),
            ClassicStage::Away(_) => {
                // An instance that comes back to what it had is not asked whether it wants that.
                if self.topics.is_empty() || !self.plan.is_static {
                    self.topics = draw_topics(ctx);
                }
                self.name.id.clear();
                ctx.oracle.groups.owners.joins(self.plan.number, joining(&self.plan, &self.topics), now);
                self.doing = ClassicStage::Joins;
                self.next = now;
            }
            _ if !self.is_found => {
                let found = Common::find(&self.name.group, ctx);
                self.asked_common(found, ctx);
            }
            ClassicStage::Joins => self.join(ctx),
            ClassicStage::Syncs => self.sync(ctx),
            ClassicStage::Works => self.work(ctx),
        }
    }

    fn asked_common(&mut self, (correlation, version, what): (i32, i16, Common), ctx: &Context<'_>) {
        self.asked(correlation, version, ClassicRequest::Common(what), ctx);
    }

    fn asked(&mut self, correlation: i32, version: i16, what: ClassicRequest, ctx: &Context<'_>) {
        self.asked = Some(Unanswered { correlation, version, what, at: ctx.now });
    }

    fn join(&mut self, ctx: &mut Context<'_>) {
        let version = {
            // Before this version an instance that comes back does not learn that it leads.
            let least = self.least(9, 0);
            ctx.version(ApiKey::JoinGroup, least)
        };
        let protocol = JoinGroupRequestProtocol {
            name: PROTOCOL.to_owned(),
            metadata: subscription(self.metadata, &self.topics),
        };
        let millis = |time: Duration| i32::try_from(time.as_millis()).unwrap_or(i32::MAX);
        let body = m::JoinGroupRequest {
            group_id: self.name.group.clone(),
            session_timeout_ms: millis(self.session),
            rebalance_timeout_ms: millis(self.rebalance),
            member_id: self.name.id.clone(),
            group_instance_id: self.name.instance.clone(),
            protocol_type: TYPE.to_owned(),
            protocols: vec![protocol],
            ..Default::default()
        };
        let correlation = ctx.send(version, &body, OTHERS);
        self.asked(correlation, version, ClassicRequest::Join, ctx);
    }

    fn sync(&mut self, ctx: &mut Context<'_>) {
        let version = {
            let least = self.least(3, 0);
            ctx.version(ApiKey::SyncGroup, least)
        };
        let of_member = |(member, assignment): (&String, &Bytes)| SyncGroupRequestAssignment {
            member_id: member.clone(),
            assignment: assignment.clone(),
        };
        let body = m::SyncGroupRequest {
            group_id: self.name.group.clone(),
            generation_id: self.name.epoch,
            member_id: self.name.id.clone(),
            group_instance_id: self.name.instance.clone(),
            protocol_type: Some(TYPE.to_owned()),
            protocol_name: Some(PROTOCOL.to_owned()),
            assignments: self.dealt.iter().map(of_member).collect(),
        };
        let correlation = ctx.send(version, &body, OTHERS);
        self.asked(correlation, version, ClassicRequest::Sync, ctx);
    }

    fn work(&mut self, ctx: &mut Context<'_>) {
        let has_changed =
            self.counts.as_ref().is_some_and(|counts| *counts != self.count(counts.keys(), ctx));
        // What it does not know about it has to find out in the end.
        let is_unsure = self.has_skipped && ctx.oracle.groups.resting.is_some();
        if has_changed || is_unsure {
            self.rejoin(ctx);
            return self.join(ctx);
        }
        let may_go = ctx.oracle.groups.resting.is_none();
        match ctx.dice.within(0..100) {
            0 | 1 if may_go => self.leave(ctx),
            2 | 3 if may_go => {
                self.go_away(ctx);
                ctx.disconnect();
            }
            4 if may_go => ctx.disconnect(),
            5 if may_go => {
                self.rejoin(ctx);
                self.join(ctx);
            }
            6..=40 if !self.owned.is_empty() && ctx.now < self.heard + self.session / 3 => {
                let mut places: Vec<Place> = self.owned.clone();
                places.retain(|_| ctx.dice.percent(60));
                if places.is_empty() {
                    return self.beat(ctx);
                }
                let least = self.least(7, 2);
                let committing = Common::commit(&self.name, &places, least, ctx);
                self.asked_common(committing, ctx);
            }
            41..=50 if !self.owned.is_empty() => {
                let fetching = Common::fetch(&self.name.group, self.owned.clone(), ctx);
                self.asked_common(fetching, ctx);
            }
            _ => self.beat(ctx),
        }
    }

    fn beat(&mut self, ctx: &mut Context<'_>) {
        let version = {
            let least = self.least(3, 0);
            ctx.version(ApiKey::Heartbeat, least)
        };
        let body = m::HeartbeatRequest {
            group_id: self.name.group.clone(),
            generation_id: self.name.epoch,
            member_id: self.name.id.clone(),
            group_instance_id: self.name.instance.clone(),
        };
        let correlation = ctx.send(version, &body, Expect::Group);
        self.asked(correlation, version, ClassicRequest::Beat, ctx);
    }

    fn leave(&mut self, ctx: &mut Context<'_>) {
        let version = {
            let least = self.least(3, 0);
            ctx.version(ApiKey::LeaveGroup, least)
        };
        let mut body = m::LeaveGroupRequest { group_id: self.name.group.clone(), ..Default::default() };
        if version < 3 {
            body.member_id = self.name.id.clone();
        } else {
            body.members = vec![MemberIdentity {
                member_id: self.name.id.clone(),
                group_instance_id: self.name.instance.clone(),
                ..Default::default()
            }];
        }
        self.go_away(ctx);
        let correlation = ctx.send(version, &body, Expect::Group);
        self.asked(correlation, version, ClassicRequest::Leave, ctx);
    }

    /// It is no member for a while, whether the coordinator knows it or not.
    fn go_away(&mut self, ctx: &mut Context<'_>) {
        self.give_up();
        ctx.oracle.groups.owners.goes(self.plan.number);
        self.doing = ClassicStage::Away(ctx.now + ctx.dice.time(millis(10)..millis(2500)));
    }

    fn give_up(&mut self) {
        self.owned.clear();
        self.dealt.clear();
        (self.counts, self.has_skipped) = (None, false);
    }

    /// It gives up what it owns and is to join again.
    fn rejoin(&mut self, ctx: &mut Context<'_>) {
        self.give_up();
        let now = ctx.now;
        ctx.oracle.groups.owners.gives_up(self.plan.number, now);
        self.doing = ClassicStage::Joins;
    }

    /// How many partitions topics have that exist.
    fn count<'a>(
        &self,
        topics: impl Iterator<Item = &'a String>,
        ctx: &Context<'_>,
    ) -> BTreeMap<String, i32> {
        let count = |topic: &String| ctx.oracle.cluster.facts(topic).map_or(0, |facts| facts.partitions);
        topics.map(|topic| (topic.clone(), count(topic))).collect()
    }

    fn on_joined(&mut self, response: m::JoinGroupResponse, ctx: &mut Context<'_>) -> Checked {
        match error(response.error_code)? {
            ErrorCode::None => {
                self.name.id = response.member_id;
                self.name.epoch = response.generation_id;
                self.doing = ClassicStage::Syncs;
                if response.leader == self.name.id && !response.members.is_empty() {
                    let members: Result<BTreeMap<String, Vec<String>>, String> = response
                        .members
                        .into_iter()
                        .map(|member| Ok((member.member_id, topics(member.metadata)?)))
                        .collect();
                    let members = members?;
                    let wanted: BTreeSet<&String> = members.values().flatten().collect();
                    let counts = self.count(wanted.into_iter(), ctx);
                    let dealt = deal(&members, &counts).into_iter();
                    let version = self.metadata;
                    self.dealt = dealt.map(|(member, part)| (member, assignment(version, &part))).collect();
                    self.counts = Some(counts);
                    self.has_skipped = response.skip_assignment;
                    if self.has_skipped {
                        self.dealt.clear();
                    }
                }
            }
            ErrorCode::MemberIdRequired if !self.plan.is_static => self.name.id = response.member_id,
            ErrorCode::UnknownMemberId | ErrorCode::FencedInstanceId => self.name.id.clear(),
            ErrorCode::RebalanceInProgress => {}
            _ => return absent(response.error_code, ctx).map(drop),
        }
        self.next = ctx.now;
        Ok(())
    }

    fn on_synced(&mut self, response: m::SyncGroupResponse, at: Instant, ctx: &mut Context<'_>) -> Checked {
        match error(response.error_code)? {
            ErrorCode::None => {
                let got = assigned(response.assignment)?;
                let ids = got.iter().flat_map(|(topic, partitions)| by_name(topic, partitions, ctx));
                let partitions: BTreeSet<PartitionId> = ids.collect();
                ctx.note(|| format!("{:?} gets {got:?}", self.name));
                let of_topic = |(topic, partitions): (String, Vec<i32>)| {
                    let ids = by_name(&topic, &partitions, ctx);
                    ids.into_iter().map(move |id| Place { topic: topic.clone(), id }).collect::<Vec<_>>()
                };
                self.owned = got.into_iter().flat_map(of_topic).filter(Place::stays).collect();
                self.doing = ClassicStage::Works;
                self.heard = at;
                return self.tell(partitions, ctx);
            }
            ErrorCode::UnknownMemberId | ErrorCode::FencedInstanceId => {
                self.name.id.clear();
                self.rejoin(ctx);
            }
            ErrorCode::RebalanceInProgress | ErrorCode::IllegalGeneration => self.rejoin(ctx),
            _ => {
                absent(response.error_code, ctx)?;
                self.rejoin(ctx);
                return Ok(());
            }
        }
        self.next = ctx.now;
        Ok(())
    }

    fn tell(&self, partitions: BTreeSet<PartitionId>, ctx: &mut Context<'_>) -> Checked {
        let hold = Hold { epoch: self.name.epoch, partitions, until: self.heard + self.session };
        let now = ctx.now;
        ctx.oracle.groups.owners.holds(self.plan.number, hold, None, now)
    }

    fn on_beat(&mut self, code: i16, at: Instant, ctx: &mut Context<'_>) -> Checked {
        match error(code)? {
            ErrorCode::None => {
                self.heard = at;
                ctx.oracle.groups.owners.hears(self.plan.number, at + self.session);
                return Ok(());
            }
            ErrorCode::UnknownMemberId | ErrorCode::FencedInstanceId => {
                self.name.id.clear();
                self.rejoin(ctx);
            }
            ErrorCode::RebalanceInProgress | ErrorCode::IllegalGeneration => self.rejoin(ctx),
            _ => return absent(code, ctx).map(drop),
        }
        self.next = ctx.now;
        Ok(())
    }

    fn on_left(&self, response: &m::LeaveGroupResponse, ctx: &Context<'_>) -> Checked {
        let of_member = response.members.first().map_or(0, |member| member.error_code);
        let code = if response.error_code != 0 { response.error_code } else { of_member };
        match error(code)? {
            ErrorCode::None | ErrorCode::UnknownMemberId | ErrorCode::FencedInstanceId => Ok(()),
            _ => absent(code, ctx).map(drop),
        }
    }
}

impl Client for ClassicScript {
    fn on_connected(&mut self, ctx: &mut Context<'_>) {
        self.is_found = false;
        self.go_on(ctx);
    }

    fn on_disconnected(&mut self, _: &mut Context<'_>) {
        self.asked = None;
        if self.doing == ClassicStage::Syncs {
            self.doing = ClassicStage::Joins;
        }
    }

    fn on_answer(&mut self, correlation: i32, frame: Bytes, ctx: &mut Context<'_>) {
        let Some(Unanswered { version, what, at, .. }) =
            self.asked.take().filter(|asked| asked.correlation == correlation)
        else {
            return ctx.oracle.violated("an answer to no question");
        };
        let checked = match what {
            ClassicRequest::Common(what) => what.on_answer((version, at), frame, ctx).map(|came| {
                if came == Came::Found(true) {
                    (self.is_found, self.next) = (true, ctx.now);
                }
            }),
            ClassicRequest::Join => {
                answer::<m::JoinGroupRequest>(version, frame).and_then(|r| self.on_joined(r, ctx))
            }
            ClassicRequest::Sync => {
                answer::<m::SyncGroupRequest>(version, frame).and_then(|r| self.on_synced(r, at, ctx))
            }
            ClassicRequest::Beat => answer::<m::HeartbeatRequest>(version, frame)
                .and_then(|r| self.on_beat(r.error_code, at, ctx)),
            ClassicRequest::Leave => {
                answer::<m::LeaveGroupRequest>(version, frame).and_then(|r| self.on_left(&r, ctx))
            }
        };
        ctx.oracle.expect(checked);
        if self.next <= ctx.now {
            self.go_on(ctx);
        }
    }

    fn on_wake(&mut self, ctx: &mut Context<'_>) {
        if self.asked.is_some() {
            // At times a client does not wait for its answer.
            self.next = ctx.now + millis(200);
            if ctx.oracle.groups.resting.is_none() && ctx.dice.within(0..50) == 0 {
                ctx.disconnect();
            }
            return;
        }
        self.go_on(ctx);
    }

    fn wake_at(&self) -> Option<Instant> {
        Some(self.next)
    }
}
