//! One member of a group, of either protocol: what it asks next, and what it makes of the answers.
//! It is told the time and does nothing by itself.
//!
//! What always holds: one request is under way; a member owns partitions in the generation that it
//! has; what falls due while a request is under way is asked after it, and counts from when it was
//! due.

use std::time::Duration;

use aplomb_model::{ErrorCode, Instant, Uuid};
use aplomb_protocol::messages as m;
use aplomb_protocol::messages::consumer_group_heartbeat_request::TopicPartitions;
use aplomb_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use aplomb_protocol::messages::join_group_response::JoinGroupResponseMember;
use aplomb_protocol::messages::leave_group_request::MemberIdentity;
use aplomb_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use aplomb_protocol::messages::sync_group_request::SyncGroupRequestAssignment;

use super::wire::{assigned, assignment, is_passing, subscription};
use super::{GroupProtocol, GroupSpec, phase};

/// How long a member waits before it tries again what was refused for the time being.
const AGAIN: Duration = Duration::from_millis(100);
/// The shortest interval of heartbeats.
const SHORTEST: Duration = Duration::from_millis(1);
/// The assignor of classic groups: it is the leader's, and only its name is told.
const ASSIGNOR: &str = "range";
const CONSUMER: &str = "consumer";
/// What leaves a consumer group (KIP-848).
const LEAVES: i32 = -1;

/// What a member asks.
#[derive(Debug)]
pub(super) enum Question {
    Join(m::JoinGroupRequest),
    Sync(m::SyncGroupRequest),
    Heartbeat(m::HeartbeatRequest),
    ConsumerHeartbeat(m::ConsumerGroupHeartbeatRequest),
    Commit(m::OffsetCommitRequest),
    Leave(m::LeaveGroupRequest),
}

/// What it is answered.
#[derive(Debug)]
pub(super) enum Answer {
    Join(m::JoinGroupResponse),
    Sync(m::SyncGroupResponse),
    Heartbeat(m::HeartbeatResponse),
    ConsumerHeartbeat(m::ConsumerGroupHeartbeatResponse),
    Commit(m::OffsetCommitResponse),
    Leave,
}

/// What came of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It was answered as wanted.
    Well,
    /// It was refused, as members must expect: a rebalance, a coordinator that is not there yet.
    Expected,
    /// It was refused with a code that says that something is wrong.
    Refused(ErrorCode),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// It asks to be let in, once this time has come.
    Outside(Instant),
    /// It was let in, and waits for its partitions.
    Assigning,
    /// It heartbeats, and commits what it owns.
    Holding,
    /// The coordinator has heard that it goes, or need not.
    Left,
}

/// A member of a group, and what it was told last.
#[derive(Debug)]
pub(super) struct GroupMember {
    protocol: GroupProtocol,
    group: String,
    topic: String,
    topic_id: Uuid,
    partitions: i32,
    session: Duration,
    rebalance: Duration,
    heartbeats: Duration,
    /// The share of that interval at which it heartbeats.
    beat: f64,
    commits: Option<Duration>,
    phase: Phase,
    id: String,
    generation: i32,
    owned: Vec<i32>,
    /// The leader's: what every member gets.
    given: Vec<SyncGroupRequestAssignment>,
    /// Of the consumer protocol: what it owns is to be told.
    has_news: bool,
    heartbeat_due: Instant,
    commit_due: Instant,
    next_offset: i64,
    is_asking: bool,
    is_leaving: bool,
}

impl GroupMember {
    /// Has not joined yet. `seat` is its number among all members, by which they are apart in time.
    pub(super) fn new(spec: &GroupSpec, group: String, ground: (Uuid, i32), id: String, seat: usize) -> Self {
        let commits = spec.commit_interval.unwrap_or_default();
        let commit_due = Instant::START + commits.mul_f64(phase::of_commits(seat));
        Self {
            protocol: spec.protocol,
            group,
            topic: spec.topic.clone(),
            topic_id: ground.0,
            partitions: ground.1,
            session: spec.session_timeout,
            rebalance: spec.rebalance_timeout,
            heartbeats: spec.heartbeat_interval.max(SHORTEST),
            beat: phase::of_heartbeats(seat),
            commits: spec.commit_interval,
            phase: Phase::Outside(Instant::START),
            id: if spec.protocol == GroupProtocol::Consumer { id } else { String::new() },
            generation: 0,
            owned: Vec::new(),
            given: Vec::new(),
            has_news: false,
            heartbeat_due: Instant::START,
            commit_due,
            next_offset: 0,
            is_asking: false,
            is_leaving: false,
        }
    }

    pub(super) fn generation(&self) -> i32 {
        self.generation
    }

    pub(super) fn owned(&self) -> usize {
        self.owned.len()
    }

    /// Whether nothing is to be done for it any more.
    pub(super) fn has_left(&self) -> bool {
        self.phase == Phase::Left
    }

    /// Leaves at the next opportunity.
    pub(super) fn leave(&mut self) {
        self.is_leaving = true;
        if matches!(self.phase, Phase::Outside(_)) && !self.is_asking {
            self.phase = Phase::Left;
        }
    }

    /// When [`Self::next`] has something to ask; `None` while it waits for an answer, or has left.
    pub(super) fn wake_at(&self) -> Option<Instant> {
        if self.is_asking {
            return None;
        }
        match self.phase {
            Phase::Outside(at) => Some(at),
            Phase::Assigning => Some(Instant::START),
            Phase::Holding if self.is_leaving || self.has_news => Some(Instant::START),
            Phase::Holding => {
                Some(self.commits.map_or(self.heartbeat_due, |_| self.heartbeat_due.min(self.commit_due)))
            }
            Phase::Left => None,
        }
    }

    /// What is to be asked now, and since when it is due.
    pub(super) fn next(&mut self, now: Instant) -> Option<(Question, Instant)> {
        if self.wake_at().is_none_or(|at| now < at) {
            return None;
        }
        let (ask, due) = match (self.phase, self.protocol) {
            (Phase::Outside(_), GroupProtocol::Classic) => (self.join(), now),
            (Phase::Outside(_), GroupProtocol::Consumer) => (self.beat(0, true), now),
            (Phase::Assigning, _) => (self.sync(), now),
            (Phase::Holding, _) if self.is_leaving => (self.go(), now),
            (Phase::Holding, _) if self.has_news => {
                self.has_news = false;
                (self.beat(self.generation, true), now)
            }
            (Phase::Holding, _) if self.commits.is_some() && self.commit_due <= self.heartbeat_due => {
                let due = self.commit_due;
                self.commit_due = due + self.commits.expect("looked at above");
                if self.owned.is_empty() {
                    return None;
                }
                (self.commit(), due)
            }
            (Phase::Holding, protocol) => {
                let due = self.heartbeat_due;
                self.heartbeat_due = phase::next(self.beat, self.heartbeats, due);
                let ask = match protocol {
                    GroupProtocol::Classic => Question::Heartbeat(m::HeartbeatRequest {
                        group_id: self.group.clone(),
                        generation_id: self.generation,
                        member_id: self.id.clone(),
                        ..Default::default()
                    }),
                    GroupProtocol::Consumer => self.beat(self.generation, false),
                };
                (ask, due)
            }
            (Phase::Left, _) => unreachable!("who has left asks nothing"),
        };
        self.is_asking = true;
        Some((ask, due))
    }

    fn join(&self) -> Question {
        Question::Join(m::JoinGroupRequest {
            group_id: self.group.clone(),
            session_timeout_ms: millis(self.session),
            rebalance_timeout_ms: millis(self.rebalance),
            member_id: self.id.clone(),
            protocol_type: CONSUMER.to_owned(),
            protocols: vec![JoinGroupRequestProtocol {
                name: ASSIGNOR.to_owned(),
                metadata: subscription(&self.topic),
            }],
            ..Default::default()
        })
    }

    fn sync(&mut self) -> Question {
        Question::Sync(m::SyncGroupRequest {
            group_id: self.group.clone(),
            generation_id: self.generation,
            member_id: self.id.clone(),
            protocol_type: Some(CONSUMER.to_owned()),
            protocol_name: Some(ASSIGNOR.to_owned()),
            assignments: std::mem::take(&mut self.given),
            ..Default::default()
        })
    }

    /// A heartbeat of the consumer protocol; in full, or saying only that the member is there.
    fn beat(&self, epoch: i32, is_full: bool) -> Question {
        let owned = || vec![TopicPartitions { topic_id: self.topic_id, partitions: self.owned.clone() }];
        let owned = || if self.owned.is_empty() { Vec::new() } else { owned() };
        Question::ConsumerHeartbeat(m::ConsumerGroupHeartbeatRequest {
            group_id: self.group.clone(),
            member_id: self.id.clone(),
            member_epoch: epoch,
            rebalance_timeout_ms: if is_full { millis(self.rebalance) } else { -1 },
            subscribed_topic_names: (epoch == 0).then(|| vec![self.topic.clone()]),
            topic_partitions: is_full.then(owned),
            ..Default::default()
        })
    }

    fn commit(&mut self) -> Question {
        let offset = self.next_offset;
        self.next_offset += 1;
        let partitions = self.owned.iter().map(|partition| OffsetCommitRequestPartition {
            partition_index: *partition,
            committed_offset: offset,
            committed_metadata: Some(String::new()),
            ..Default::default()
        });
        Question::Commit(m::OffsetCommitRequest {
            group_id: self.group.clone(),
            generation_id_or_member_epoch: self.generation,
            member_id: self.id.clone(),
            topics: vec![OffsetCommitRequestTopic {
                name: self.topic.clone(),
                topic_id: self.topic_id,
                partitions: partitions.collect(),
            }],
            ..Default::default()
        })
    }

    fn go(&mut self) -> Question {
        match self.protocol {
            GroupProtocol::Consumer => self.beat(LEAVES, false),
            GroupProtocol::Classic => Question::Leave(m::LeaveGroupRequest {
                group_id: self.group.clone(),
                member_id: self.id.clone(),
                members: vec![MemberIdentity { member_id: self.id.clone(), ..Default::default() }],
            }),
        }
    }

    /// The connection is gone; who it was is known to the coordinator.
    pub(super) fn on_lost(&mut self, now: Instant) {
        self.is_asking = false;
        match self.phase {
            _ if self.is_leaving => self.phase = Phase::Left,
            Phase::Outside(_) | Phase::Assigning => self.phase = Phase::Outside(now + AGAIN),
            Phase::Holding => self.heartbeat_due = self.heartbeat_due.max(now + AGAIN),
            Phase::Left => {}
        }
    }

    /// What it asked is answered.
    pub(super) fn on_answer(&mut self, answer: Answer, now: Instant) -> Outcome {
        assert!(self.is_asking, "an answer comes to a question");
        self.is_asking = false;
        match answer {
            Answer::Join(response) => self.on_join(response, now),
            Answer::Sync(response) => self.on_sync(response, now),
            Answer::Heartbeat(response) => self.on_code(response.error_code, now),
            Answer::ConsumerHeartbeat(response) => self.on_beat(response, now),
            Answer::Commit(response) => {
                let partitions = response.topics.iter().flat_map(|topic| &topic.partitions);
                let wrong = partitions.map(|partition| partition.error_code).find(|code| *code != 0);
                self.on_code(wrong.unwrap_or_default(), now)
            }
            Answer::Leave => {
                self.part();
                Outcome::Well
            }
        }
    }

    fn on_join(&mut self, response: m::JoinGroupResponse, now: Instant) -> Outcome {
        match code(response.error_code) {
            ErrorCode::None => {
                self.id = response.member_id;
                self.generation = response.generation_id;
                self.given =
                    if response.leader == self.id { self.deal(&response.members) } else { Vec::new() };
                self.phase = Phase::Assigning;
                Outcome::Well
            }
            ErrorCode::MemberIdRequired => {
                self.id = response.member_id;
                self.phase = Phase::Outside(now);
                Outcome::Well
            }
            other => self.refuse(other, now),
        }
    }

    /// A share of the partitions for each member, the shares as equal as can be.
    fn deal(&self, members: &[JoinGroupResponseMember]) -> Vec<SyncGroupRequestAssignment> {
        let shares = members.iter().enumerate().map(|(place, member)| SyncGroupRequestAssignment {
            member_id: member.member_id.clone(),
            assignment: assignment(
                &self.topic,
                (0..self.partitions).skip(place).step_by(members.len()).collect(),
            ),
        });
        shares.collect()
    }

    fn on_sync(&mut self, response: m::SyncGroupResponse, now: Instant) -> Outcome {
        match code(response.error_code) {
            ErrorCode::None => {
                self.owned = assigned(response.assignment);
                self.hold(now);
                Outcome::Well
            }
            other => self.refuse(other, now),
        }
    }

    fn hold(&mut self, now: Instant) {
        self.phase = Phase::Holding;
        self.heartbeat_due = phase::next(self.beat, self.heartbeats, now);
        if let Some(commits) = self.commits {
            // Missed ones are not made up for: it owned nothing then.
            while self.commit_due < now {
                self.commit_due = self.commit_due + commits;
            }
        }
    }

    fn on_beat(&mut self, response: m::ConsumerGroupHeartbeatResponse, now: Instant) -> Outcome {
        if self.is_leaving && self.phase == Phase::Holding && response.member_epoch == LEAVES {
            self.part();
            return Outcome::Well;
        }
        match code(response.error_code) {
            ErrorCode::None => {
                self.generation = response.member_epoch;
                if let Ok(interval) = u64::try_from(response.heartbeat_interval_ms) {
                    self.heartbeats = Duration::from_millis(interval).max(SHORTEST);
                }
                if matches!(self.phase, Phase::Outside(_)) {
                    self.hold(now);
                }
                if let Some(assignment) = response.assignment {
                    let topics = assignment.topic_partitions.into_iter();
                    let wanted: Vec<i32> = topics.flat_map(|topic| topic.partitions).collect();
                    self.has_news = wanted != self.owned;
                    self.owned = wanted;
                }
                Outcome::Well
            }
            other => self.refuse(other, now),
        }
    }

    fn on_code(&mut self, raw: i16, now: Instant) -> Outcome {
        match code(raw) {
            ErrorCode::None => Outcome::Well,
            other => self.refuse(other, now),
        }
    }

    fn refuse(&mut self, error: ErrorCode, now: Instant) -> Outcome {
        if is_passing(error) {
            match self.phase {
                Phase::Outside(_) | Phase::Assigning => self.phase = Phase::Outside(now + AGAIN),
                Phase::Holding => self.heartbeat_due = now + AGAIN,
                Phase::Left => {}
            }
            return Outcome::Expected;
        }
        match error {
            ErrorCode::RebalanceInProgress => {
                self.owned.clear();
                self.phase = Phase::Outside(now);
                Outcome::Expected
            }
            // Of the consumer protocol: the next heartbeat says to which epoch it has moved on.
            ErrorCode::StaleMemberEpoch => {
                self.heartbeat_due = self.heartbeat_due.min(now);
                Outcome::Expected
            }
            ErrorCode::IllegalGeneration | ErrorCode::UnknownMemberId | ErrorCode::FencedMemberEpoch => {
                self.owned.clear();
                if self.protocol == GroupProtocol::Classic && error == ErrorCode::UnknownMemberId {
                    self.id.clear();
                }
                self.phase = Phase::Outside(now);
                Outcome::Refused(error)
            }
            other => {
                self.owned.clear();
                self.phase = Phase::Outside(now + AGAIN);
                Outcome::Refused(other)
            }
        }
    }

    fn part(&mut self) {
        self.owned.clear();
        self.phase = Phase::Left;
    }
}

fn code(raw: i16) -> ErrorCode {
    ErrorCode::from_wire(raw).unwrap_or(ErrorCode::UnknownServerError)
}

fn millis(time: Duration) -> i32 {
    i32::try_from(time.as_millis()).unwrap_or(i32::MAX)
}
