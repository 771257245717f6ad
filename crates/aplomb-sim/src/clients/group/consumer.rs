//! A member of the consumer protocol: heartbeats, takes over and gives up what it is told to, at
//! once or a little later, commits, leaves, vanishes and comes back.

use std::collections::BTreeSet;
use std::time::Duration;

use aplomb_model::{ErrorCode, Instant};
use aplomb_protocol::ApiKey;
use aplomb_protocol::messages as m;
use aplomb_protocol::messages::consumer_group_heartbeat_request::TopicPartitions;
use bytes::Bytes;

use super::common::{Came, Common};
use super::{Client, Context, Expect, Name, Unanswered, absent, answer, draw_topics, error, joining, millis};
use crate::check::groups::Hold;
use crate::check::{Checked, PartitionId};
use crate::clients::{Place, of};
use crate::groups::MemberPlan;
use crate::random::Dice;
use crate::scenario::TopicPlan;

/// A member may take this long to give something up. None here takes so long.
const REBALANCE_MS: i32 = 300_000;
/// It leaves for good.
const LEAVES: i32 = -1;
/// It leaves, and its instance comes back.
const LEAVES_FOR_A_WHILE: i32 = -2;

#[derive(Debug)]
enum ConsumerRequest {
    Common(Common),
    Beat,
    Leave,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConsumerStage {
    /// It is no member until then.
    Away(Instant),
    /// It is to join.
    Joins,
    /// It is a member, as far as it knows.
    Works,
}

#[derive(Debug)]
pub(super) struct ConsumerScript {
    plan: MemberPlan,
    name: Name,
    topics: Vec<String>,
    /// It is subscribed to all topics that stay, by an expression.
    by_expression: bool,
    assignor: Option<&'static str>,
    doing: ConsumerStage,
    is_found: bool,
    asked: Option<Unanswered<ConsumerRequest>>,
    /// When it asked what was answered last.
    heard: Instant,
    session: Duration,
    owned: BTreeSet<PartitionId>,
    /// What it was told to own, and does not yet.
    told: Option<BTreeSet<PartitionId>>,
    /// The coordinator is to be told everything, not only what is new.
    is_full: bool,
    next: Instant,
}

impl ConsumerScript {
    pub(super) fn new(plan: MemberPlan, dice: &mut Dice) -> Self {
        let instance = plan.is_static.then(|| format!("i{}", plan.number));
        Self {
            plan,
            name: Name { group: plan.group_id(), instance, ..Name::default() },
            topics: Vec::new(),
            by_expression: false,
            assignor: *dice.pick(&[None, Some("uniform"), Some("range")]),
            doing: ConsumerStage::Away(Instant::START),
            is_found: false,
            asked: None,
            heard: Instant::START,
            session: Duration::ZERO,
            owned: BTreeSet::new(),
            told: None,
            is_full: true,
            next: Instant::START,
        }
    }

    fn go_on(&mut self, ctx: &mut Context<'_>) {
        if self.asked.is_some() {
            return;
        }
        let now = ctx.now;
        if self.doing == ConsumerStage::Works && now >= self.heard + self.session {
            self.rejoin(ctx); // it takes itself for fenced
        }
        self.next = now + ctx.dice.time(millis(10)..self.session.max(millis(400)) / 6);
        match self.doing {
            ConsumerStage::Away(until) if now < until => self.next = until,
            ConsumerStage::Away(_) if ctx.oracle.groups.resting.is_some() => self.next = now + millis(5000),
            ConsumerStage::Away(_) => {
                self.come(ctx);
                self.next = now;
            }
            _ if !self.is_found => {
                let found = Common::find(&self.name.group, ctx);
                self.asked_common(found, ctx);
            }
            ConsumerStage::Joins => self.beat(ctx),
            ConsumerStage::Works => self.work(ctx),
        }
    }

    fn come(&mut self, ctx: &mut Context<'_>) {
        let now = ctx.now;
        self.session = ctx.plan.groups.as_ref().map_or(Duration::ZERO, |groups| groups.session);
        // An instance that comes back has what it was subscribed to before, and what it says now.
        if self.topics.is_empty() || !self.plan.is_static {
            self.by_expression = ctx.dice.percent(20);
            self.topics = if self.by_expression {
                ctx.plan.topics.iter().map(|topic| topic.name.clone()).collect()
            } else {
                draw_topics(ctx)
            };
        }
        self.name.id = format!("{:032x}", u128::from_be_bytes(ctx.dice.bytes()));
        self.name.epoch = 0;
        ctx.oracle.groups.owners.joins(self.plan.number, joining(&self.plan, &self.topics), now);
        self.is_full = true;
        self.doing = ConsumerStage::Joins;
    }

    fn asked_common(&mut self, (correlation, version, what): (i32, i16, Common), ctx: &Context<'_>) {
        self.asked(correlation, version, ConsumerRequest::Common(what), ctx);
    }

    fn asked(&mut self, correlation: i32, version: i16, what: ConsumerRequest, ctx: &Context<'_>) {
        self.asked = Some(Unanswered { correlation, version, what, at: ctx.now });
    }

    fn work(&mut self, ctx: &mut Context<'_>) {
        let may_go = ctx.oracle.groups.resting.is_none();
        // It may take a while to give up what it has to.
        if self.told.is_some() && (!may_go || ctx.dice.percent(60)) {
            let checked = self.reconcile(ctx);
            ctx.oracle.expect(checked);
            return self.beat(ctx);
        }
        match ctx.dice.within(0..100) {
            0 | 1 if may_go => self.leave(ctx),
            2 | 3 if may_go => {
                self.go_away(ctx);
                ctx.disconnect();
            }
            4 if may_go => ctx.disconnect(),
            5 if may_go && !self.by_expression => {
                self.topics = draw_topics(ctx);
                let now = ctx.now;
                let joining = joining(&self.plan, &self.topics);
                ctx.oracle.groups.owners.wants(self.plan.number, joining, now);
                self.is_full = true;
                self.beat(ctx);
            }
            6..=35 if ctx.now < self.heard + self.session / 3 => {
                let mut places = self.places(ctx);
                places.retain(|_| ctx.dice.percent(60));
                if places.is_empty() {
                    return self.beat(ctx);
                }
                let committing = Common::commit(&self.name, &places, 9, ctx);
                self.asked_common(committing, ctx);
            }
            36..=45 => {
                let places = self.places(ctx);
                if places.is_empty() {
                    return self.beat(ctx);
                }
                let fetching = Common::fetch(&self.name.group, places, ctx);
                self.asked_common(fetching, ctx);
            }
            _ => self.beat(ctx),
        }
    }

    /// What it owns of topics that stay.
    fn places(&self, ctx: &Context<'_>) -> Vec<Place> {
        let place = |id: &PartitionId| {
            let topic = ctx.oracle.cluster.name_of(id.topic)?.to_owned();
            Some(Place { topic, id: *id })
        };
        self.owned.iter().filter_map(place).filter(Place::stays).collect()
    }

    fn beat(&mut self, ctx: &mut Context<'_>) {
        let version = ctx.version(ApiKey::ConsumerGroupHeartbeat, i16::from(self.by_expression));
        let is_full = self.is_full || self.name.epoch == 0 || ctx.dice.percent(20);
        let mut body = self.request();
        if is_full {
            body.rebalance_timeout_ms = REBALANCE_MS;
            body.server_assignor = self.assignor.map(str::to_owned);
            if self.by_expression {
                let prefix = TopicPlan::STAYING;
                body.subscribed_topic_regex = Some(format!("{prefix}[0-9]+"));
            } else {
                body.subscribed_topic_names = Some(self.topics.clone());
            }
        }
        // What it owns may be left out where it is as it was; what was said last may be lost.
        if is_full || self.told.is_none() {
            body.topic_partitions = Some(list(&self.owned));
        }
        let correlation = ctx.send(version, &body, Expect::Group);
        self.asked(correlation, version, ConsumerRequest::Beat, ctx);
    }

    fn request(&self) -> m::ConsumerGroupHeartbeatRequest {
        m::ConsumerGroupHeartbeatRequest {
            group_id: self.name.group.clone(),
            member_id: self.name.id.clone(),
            member_epoch: self.name.epoch,
            instance_id: self.name.instance.clone(),
            ..Default::default()
        }
    }

    fn leave(&mut self, ctx: &mut Context<'_>) {
        let version = ctx.version(ApiKey::ConsumerGroupHeartbeat, 0);
        let comes_back = self.plan.is_static && ctx.dice.percent(60);
        let mut body = self.request();
        body.member_epoch = if comes_back { LEAVES_FOR_A_WHILE } else { LEAVES };
        self.go_away(ctx);
        let correlation = ctx.send(version, &body, Expect::Group);
        self.asked(correlation, version, ConsumerRequest::Leave, ctx);
    }

    /// It is no member for a while, whether the coordinator knows it or not.
    fn go_away(&mut self, ctx: &mut Context<'_>) {
        self.give_up();
        ctx.oracle.groups.owners.goes(self.plan.number);
        self.doing = ConsumerStage::Away(ctx.now + ctx.dice.time(millis(10)..millis(2500)));
    }

    fn give_up(&mut self) {
        self.owned.clear();
        (self.told, self.is_full) = (None, true);
    }

    /// It gives up what it owns and is to join again.
    fn rejoin(&mut self, ctx: &mut Context<'_>) {
        self.give_up();
        self.name.epoch = 0;
        let now = ctx.now;
        ctx.oracle.groups.owners.gives_up(self.plan.number, now);
        self.doing = ConsumerStage::Joins;
    }

    /// It gives up what it has to, and takes over the rest.
    fn reconcile(&mut self, ctx: &mut Context<'_>) -> Checked {
        if let Some(told) = self.told.take() {
            ctx.note(|| format!("{:?} owns {told:?}", self.name));
            self.owned = told;
        }
        let now = ctx.now;
        ctx.oracle.groups.owners.takes(self.plan.number, self.owned.clone(), now)
    }

    fn tell(&self, ctx: &mut Context<'_>) -> Checked {
        let partitions = self.owned.clone();
        let hold = Hold { epoch: self.name.epoch, partitions, until: self.heard + self.session };
        let now = ctx.now;
        ctx.oracle.groups.owners.holds(self.plan.number, hold, self.told.as_ref(), now)
    }

    fn on_beat(
        &mut self,
        response: m::ConsumerGroupHeartbeatResponse,
        at: Instant,
        ctx: &mut Context<'_>,
    ) -> Checked {
        match error(response.error_code)? {
            ErrorCode::None => {
                if let Some(id) = response.member_id.filter(|id| !id.is_empty()) {
                    self.name.id = id;
                }
                self.name.epoch = response.member_epoch;
                self.doing = ConsumerStage::Works;
                (self.heard, self.is_full) = (at, false);
                if let Some(assignment) = response.assignment {
                    let topics = assignment.topic_partitions.into_iter();
                    let told = topics
                        .flat_map(|topic| topic.partitions.into_iter().map(move |n| of(topic.topic_id, n)));
                    self.told = Some(told.collect());
                    self.next = ctx.now + millis(1);
                }
                self.tell(ctx)
            }
            ErrorCode::UnknownMemberId | ErrorCode::FencedMemberEpoch | ErrorCode::GroupIdNotFound => {
                self.rejoin(ctx);
                self.next = ctx.now + millis(1);
                Ok(())
            }
            // Its predecessor, which has vanished, is to be forgotten first.
            ErrorCode::UnreleasedInstanceId if self.plan.is_static && self.name.epoch == 0 => Ok(()),
            ErrorCode::FencedInstanceId if self.plan.is_static => {
                self.rejoin(ctx);
                Ok(())
            }
            _ => {
                // What it said may not have come to be known.
                self.is_full = true;
                absent(response.error_code, ctx).map(drop)
            }
        }
    }

    fn on_left(&self, response: &m::ConsumerGroupHeartbeatResponse, ctx: &Context<'_>) -> Checked {
        match error(response.error_code)? {
            ErrorCode::None
            | ErrorCode::UnknownMemberId
            | ErrorCode::FencedInstanceId
            | ErrorCode::GroupIdNotFound => Ok(()),
            _ => absent(response.error_code, ctx).map(drop),
        }
    }
}

/// Partitions as a heartbeat names them.
fn list(partitions: &BTreeSet<PartitionId>) -> Vec<TopicPartitions> {
    let mut topics: Vec<TopicPartitions> = Vec::new();
    for id in partitions {
        match topics.last_mut().filter(|topic| topic.topic_id == id.topic) {
            Some(topic) => topic.partitions.push(id.index),
            None => topics.push(TopicPartitions { topic_id: id.topic, partitions: vec![id.index] }),
        }
    }
    topics
}

impl Client for ConsumerScript {
    fn on_connected(&mut self, ctx: &mut Context<'_>) {
        self.is_found = false;
        self.go_on(ctx);
    }

    fn on_disconnected(&mut self, _: &mut Context<'_>) {
        self.asked = None;
        self.is_full = true;
    }

    fn on_answer(&mut self, correlation: i32, frame: Bytes, ctx: &mut Context<'_>) {
        let Some(Unanswered { version, what, at, .. }) =
            self.asked.take().filter(|asked| asked.correlation == correlation)
        else {
            return ctx.oracle.violated("an answer to no question");
        };
        let checked = match what {
            ConsumerRequest::Common(what) => what.on_answer((version, at), frame, ctx).map(|came| {
                if came == Came::Found(true) {
                    (self.is_found, self.next) = (true, ctx.now);
                }
            }),
            ConsumerRequest::Beat => answer::<m::ConsumerGroupHeartbeatRequest>(version, frame)
                .and_then(|r| self.on_beat(r, at, ctx)),
            ConsumerRequest::Leave => {
                answer::<m::ConsumerGroupHeartbeatRequest>(version, frame).and_then(|r| self.on_left(&r, ctx))
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
