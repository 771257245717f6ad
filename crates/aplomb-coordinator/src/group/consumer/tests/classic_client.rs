//! A consumer of the classic protocol, which gives up all that it has before it joins again.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use aplomb_model::ErrorCode;
use aplomb_protocol::{Message as _, Reader, messages as m};
use m::join_group_response::JoinGroupResponseMember;

use super::lab::{GROUP, Lab, caller, embedded};
use super::simulation::Owned;
use crate::group::{GroupAsk, GroupReply, World as _};
use crate::runtime::Ticket;

#[derive(Debug)]
pub(super) struct ClassicClient {
    id: String,
    generation: i32,
    pub(super) topics: Vec<String>,
    pub(super) owned: Owned,
    state: State,
    heard: Duration,
    /// As the leader: how many partitions there were of each topic when it assigned them.
    dealt: Option<BTreeMap<String, i32>>,
}

#[derive(Debug)]
enum State {
    /// It is to join.
    Out,
    Joining(Ticket),
    /// It is to sync; as the leader it assigns to these.
    Joined(Vec<JoinGroupResponseMember>),
    Syncing(Ticket),
    In,
}

/// A little less than its session.
const PATIENCE: Duration = Duration::from_secs(27);

impl ClassicClient {
    pub(super) fn new(topics: Vec<String>, now: Duration) -> Self {
        let (id, owned) = (String::new(), Owned::new());
        Self { id, generation: -1, topics, owned, state: State::Out, heard: now, dealt: None }
    }

    pub(super) fn is_in(&self) -> bool {
        matches!(self.state, State::In)
    }

    /// Reads the answer to its JoinGroup or SyncGroup, which has come since `since`.
    pub(super) fn poll(&mut self, lab: &mut Lab, since: Duration) {
        if matches!(self.state, State::Joining(_) | State::Syncing(_)) {
            self.act(lab, since);
        }
    }

    /// Who has not been answered for so long takes itself for taken out.
    pub(super) fn pass(&mut self, now: Duration) {
        if self.is_in() && now - self.heard >= PATIENCE {
            self.again();
        }
    }

    /// The coordinator has moved: what it was asked is answered no more.
    pub(super) fn on_move(&mut self) {
        if matches!(self.state, State::Joining(_) | State::Syncing(_)) {
            self.again();
        }
    }

    fn again(&mut self) {
        self.dealt = None;
        self.owned.clear();
        self.state = State::Out;
    }

    fn anew(&mut self) {
        self.id.clear();
        self.again();
    }

    pub(super) fn leave(&self, lab: &mut Lab) {
        let member =
            m::leave_group_request::MemberIdentity { member_id: self.id.clone(), ..Default::default() };
        let request =
            m::LeaveGroupRequest { group_id: GROUP.to_owned(), members: vec![member], ..Default::default() };
        lab.begin(GroupAsk::Leave(caller(5), request));
    }

    /// The next step.
    pub(super) fn act(&mut self, lab: &mut Lab, now: Duration) {
        match std::mem::replace(&mut self.state, State::Out) {
            State::Out => {
                let topics: Vec<&str> = self.topics.iter().map(String::as_str).collect();
                self.state = State::Joining(lab.join_classic(&self.id, &topics, &[]));
            }
            State::Joining(ticket) => match lab.answer(ticket) {
                None => self.state = State::Joining(ticket),
                Some(Ok(GroupReply::Join(joined))) => self.on_joined(joined, now),
                Some(_) => self.again(),
            },
            State::Joined(members) => self.state = State::Syncing(self.sync(&members, lab)),
            State::Syncing(ticket) => match lab.answer(ticket) {
                None => self.state = State::Syncing(ticket),
                Some(Ok(GroupReply::Sync(synced))) => self.on_synced(&synced, lab),
                Some(_) => self.again(),
            },
            // As clients that lead do, it calls for a rebalance when topics are not what they were.
            State::In if self.dealt.as_ref().is_some_and(|dealt| *dealt != counts(dealt.keys(), lab)) => {
                self.again();
            }
            State::In => match lab.beat_classic(&self.id, self.generation) {
                ErrorCode::None => (self.heard, self.state) = (now, State::In),
                ErrorCode::UnknownMemberId => self.anew(),
                _ => self.again(),
            },
        }
    }

    fn on_joined(&mut self, joined: m::JoinGroupResponse, now: Duration) {
        match ErrorCode::from_wire(joined.error_code).expect("a code") {
            ErrorCode::None => {
                self.id = joined.member_id;
                self.generation = joined.generation_id;
                self.heard = now;
                self.state = State::Joined(joined.members);
            }
            ErrorCode::MemberIdRequired => {
                self.id = joined.member_id;
                self.again();
            }
            ErrorCode::RebalanceInProgress | ErrorCode::CoordinatorNotAvailable => self.again(),
            ErrorCode::UnknownMemberId => self.anew(),
            other => panic!("{other}"),
        }
    }

    /// As the leader it deals out the partitions in turn to those who are subscribed.
    fn sync(&mut self, members: &[JoinGroupResponseMember], lab: &mut Lab) -> Ticket {
        let mut assignments: BTreeMap<&str, BTreeMap<String, Vec<i32>>> = BTreeMap::new();
        let mut topics: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for member in members {
            let mut r = Reader::new(member.metadata.clone());
            let version = r.i16().unwrap();
            let said = m::ConsumerProtocolSubscription::decode(&mut r, version).unwrap();
            for topic in said.topics {
                topics.entry(topic).or_default().push(&member.member_id);
            }
        }
        self.dealt = (!members.is_empty()).then(|| counts(topics.keys(), lab));
        for (topic, subscribers) in topics {
            let partitions = lab.world.topic(&topic).map_or(0, |topic| topic.partitions);
            for (partition, member) in (0..partitions).zip(subscribers.iter().cycle()) {
                assignments.entry(member).or_default().entry(topic.clone()).or_default().push(partition);
            }
        }
        let assign = |(member, topics): (&&str, &BTreeMap<String, Vec<i32>>)| {
            let of_topic =
                |(topic, partitions): (&String, &Vec<i32>)| m::consumer_protocol_assignment::TopicPartition {
                    topic: topic.clone(),
                    partitions: partitions.clone(),
                };
            let assignment = m::ConsumerProtocolAssignment {
                assigned_partitions: topics.iter().map(of_topic).collect(),
                user_data: None,
            };
            m::sync_group_request::SyncGroupRequestAssignment {
                member_id: (*member).to_owned(),
                assignment: embedded(&assignment, 1),
            }
        };
        let request = m::SyncGroupRequest {
            group_id: GROUP.to_owned(),
            generation_id: self.generation,
            member_id: self.id.clone(),
            protocol_type: Some("consumer".to_owned()),
            protocol_name: Some("range".to_owned()),
            assignments: assignments.iter().map(assign).collect(),
            ..Default::default()
        };
        lab.begin(GroupAsk::Sync(caller(5), request))
    }

    fn on_synced(&mut self, synced: &m::SyncGroupResponse, lab: &Lab) {
        match ErrorCode::from_wire(synced.error_code).expect("a code") {
            ErrorCode::None => {}
            ErrorCode::UnknownMemberId => return self.anew(),
            _ => return self.again(),
        }
        self.state = State::In; // its session goes on: not every SyncGroup begins it anew
        if synced.assignment.is_empty() {
            return;
        }
        let mut r = Reader::new(synced.assignment.clone());
        let version = r.i16().unwrap();
        let assignment = m::ConsumerProtocolAssignment::decode(&mut r, version).unwrap();
        for topic in assignment.assigned_partitions {
            let Some(known) = lab.world.topic(&topic.topic) else { continue };
            self.owned.extend(topic.partitions.into_iter().map(|partition| (known.id, partition)));
        }
    }

    /// What it is subscribed to, of what is there.
    pub(super) fn subscribed(&self, lab: &Lab) -> BTreeSet<(aplomb_model::TopicId, i32)> {
        let topics = self.topics.iter().filter_map(|topic| lab.world.topic(topic));
        topics.flat_map(|topic| (0..topic.partitions).map(move |partition| (topic.id, partition))).collect()
    }
}

fn counts<'a>(topics: impl Iterator<Item = &'a String>, lab: &Lab) -> BTreeMap<String, i32> {
    topics.map(|topic| (topic.clone(), lab.world.topic(topic).map_or(0, |topic| topic.partitions))).collect()
}
