//! A classic group: who is in it, and how far it has come.
//!
//! What always holds:
//! - an `Empty` group has no members, and a group with members has a leader among them;
//! - a protocol that one member offers and all others do, there is;
//! - who waits to join, and who owes a sync, is counted;
//! - an instance id leads to the member that has it; an id that is pending is no member's.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use aplomb_model::{ErrorCode, Timestamp};
use bytes::Bytes;

use super::member::{ClassicMember, Protocols, Waiting, millis};
use super::progress::{FirstRebalance, State};
use super::protocols::Offered;
use super::subscription::Subscription;

/// What a pending id takes in memory beside its text: a table entry, a deadline.
const PENDING_OVERHEAD: usize = 192;
/// What a group takes in memory beside its members.
const OVERHEAD: usize = 512;

#[derive(Debug)]
pub(crate) struct ClassicGroup {
    id: Arc<str>,
    state: State,
    /// Since when it is in its state, if that is known.
    since: Option<Timestamp>,
    protocol_type: Option<Arc<str>>,
    protocol: Option<Arc<str>>,
    generation: i32,
    leader: Option<Arc<str>>,
    /// Whether its members are to join before all partitions are given away: its record names no
    /// leader until then, so that any coordinator which loads it has them join.
    is_unsettled: bool,
    members: BTreeMap<Arc<str>, ClassicMember>,
    /// Static members by instance id.
    instances: HashMap<Arc<str>, Arc<str>>,
    /// Ids that were given out and not used yet.
    pending: HashSet<Arc<str>>,
    offered: Offered,
    joining: usize,
    owing: usize,
    subscription: Subscription,
    /// Of members and pending ids.
    bytes: usize,
}

/// What a group is made of when it does not begin empty.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) generation: i32,
    pub(crate) since: Option<Timestamp>,
    pub(crate) protocol_type: Option<Arc<str>>,
    /// `None`: what the members vote for.
    pub(crate) protocol: Option<Arc<str>>,
    pub(crate) leader: Option<Arc<str>>,
    pub(crate) members: Vec<(Arc<str>, ClassicMember)>,
}

impl ClassicGroup {
    /// A group without members: of a client that only commits, or that no member has joined yet.
    pub(crate) fn simple(id: Arc<str>) -> Self {
        Self {
            id,
            state: State::Empty,
            since: None,
            protocol_type: None,
            protocol: None,
            generation: 0,
            leader: None,
            is_unsettled: false,
            members: BTreeMap::new(),
            instances: HashMap::new(),
            pending: HashSet::new(),
            offered: Offered::default(),
            joining: 0,
            owing: 0,
            subscription: Subscription::Unknown,
            bytes: 0,
        }
    }

    /// A group with these members, stable, and unsettled if no leader is named; empty without any.
    /// A member whose id or instance is taken already, or that shares no protocol with those before
    /// it, is left out.
    pub(crate) fn of_parts(id: Arc<str>, parts: Parts) -> Self {
        let mut group = Self::simple(id);
        group.generation = parts.generation;
        group.since = parts.since;
        group.protocol_type = parts.protocol_type.clone();
        let is_unled = parts.leader.is_none();
        for (id, member) in parts.members {
            let is_taken = member.instance.as_ref().is_some_and(|own| group.instances.contains_key(own));
            let is_apart = !group.offered.has_common(&member.protocols, group.members.len());
            if !is_taken && !is_apart && !group.members.contains_key(&id) {
                let protocol_type = parts.protocol_type.clone().unwrap_or_default();
                group.add(id, member, &protocol_type);
            }
        }
        if let Some(leader) = parts.leader.filter(|leader| group.members.contains_key(leader)) {
            group.leader = Some(leader);
        }
        group.protocol = parts.protocol;
        if !group.members.is_empty() {
            group.state = State::Stable;
            group.is_unsettled = is_unled;
            let offers = |protocol: &Arc<str>| {
                group.members.values().all(|m| m.protocols.metadata(protocol).is_some())
            };
            if !group.protocol.as_ref().is_some_and(offers) {
                group.protocol = Some(group.select_protocol().into());
            }
        }
        group.subscribe();
        group
    }

    pub(crate) fn id(&self) -> &Arc<str> {
        &self.id
    }

    pub(crate) fn state(&self) -> State {
        self.state
    }

    pub(crate) fn is_unsettled(&self) -> bool {
        self.is_unsettled
    }

    /// What its members have is all there is to have.
    pub(crate) fn keep_as_it_is(&mut self) {
        self.is_unsettled = false;
    }

    pub(crate) fn since(&self) -> Option<Timestamp> {
        self.since
    }

    pub(crate) fn generation(&self) -> i32 {
        self.generation
    }

    pub(crate) fn protocol_type(&self) -> Option<&str> {
        self.protocol_type.as_deref()
    }

    pub(crate) fn protocol(&self) -> Option<&str> {
        self.protocol.as_deref()
    }

    pub(crate) fn leader(&self) -> Option<&Arc<str>> {
        self.leader.as_ref()
    }

    pub(crate) fn is_leader(&self, id: &str) -> bool {
        self.leader.as_deref() == Some(id)
    }

    pub(super) fn subscription(&self) -> &Subscription {
        &self.subscription
    }

    /// Members in the order of their ids.
    pub(crate) fn members(&self) -> impl ExactSizeIterator<Item = (&Arc<str>, &ClassicMember)> + Clone {
        self.members.iter()
    }

    pub(crate) fn member(&self, id: &str) -> Option<&ClassicMember> {
        self.members.get(id)
    }

    /// The id as it is kept, to be shared.
    pub(crate) fn member_id(&self, id: &str) -> Option<Arc<str>> {
        self.members.get_key_value(id).map(|(id, _)| id.clone())
    }

    pub(crate) fn size(&self) -> usize {
        self.members.len()
    }

    /// How many members wait to join.
    pub(crate) fn joining(&self) -> usize {
        self.joining
    }

    /// Whether all members wait to join, and no others are expected.
    pub(crate) fn has_all_joined(&self) -> bool {
        self.joining == self.members.len() && self.pending.is_empty()
    }

    pub(crate) fn is_sync_owed(&self) -> bool {
        self.owing > 0
    }

    pub(crate) fn is_pending(&self, id: &str) -> bool {
        self.pending.contains(id)
    }

    /// The member that has this instance id.
    pub(crate) fn instance(&self, instance: &str) -> Option<&Arc<str>> {
        self.instances.get(instance)
    }

    /// Whether it is the same group, with the same members, as that one.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        (self.generation, self.since) == (other.generation, other.since)
            && self.members.keys().eq(other.members.keys())
    }

    /// The largest rebalance timeout of its members.
    pub(crate) fn rebalance_timeout(&self) -> Duration {
        self.members.values().map(|member| millis(member.rebalance_timeout_ms)).max().unwrap_or_default()
    }

    /// About what it takes in memory.
    pub(crate) fn bytes(&self) -> usize {
        OVERHEAD + self.id.len() + self.bytes + self.subscription.bytes()
    }

    /// The member of this id, as it is kept, if it may act for this instance (`validateMember`).
    pub(crate) fn check_member(
        &self,
        id: &str,
        instance: Option<&str>,
    ) -> Result<(&Arc<str>, &ClassicMember), ErrorCode> {
        if let Some(instance) = instance {
            let known = self.instance(instance).ok_or(ErrorCode::UnknownMemberId)?;
            if **known != *id {
                return Err(ErrorCode::FencedInstanceId);
            }
        }
        self.members.get_key_value(id).ok_or(ErrorCode::UnknownMemberId)
    }

    /// Whether a member with these protocols can be in the group.
    pub(crate) fn supports(&self, protocol_type: &str, protocols: &Protocols) -> bool {
        match self.state {
            State::Empty => !protocol_type.is_empty() && !protocols.is_empty(),
            _ => {
                self.protocol_type() == Some(protocol_type)
                    && self.offered.has_common(protocols, self.members.len())
            }
        }
    }

    /// The protocol that its members would choose now.
    pub(crate) fn select_protocol(&self) -> Box<str> {
        self.offered.select(self.members.values())
    }

    /// Takes a member in. The first one leads.
    pub(crate) fn add(&mut self, id: Arc<str>, member: ClassicMember, protocol_type: &str) {
        assert!(!self.members.contains_key(&id), "a member is added once");
        if self.members.is_empty() {
            self.protocol_type = Some(protocol_type.into());
        }
        assert_eq!(self.protocol_type(), Some(protocol_type), "all members have the group's type");
        assert!(self.offered.has_common(&member.protocols, self.members.len()), "all share a protocol");
        if let Some(instance) = &member.instance {
            let before = self.instances.insert(instance.clone(), id.clone());
            assert!(before.is_none(), "an instance is one member");
        }
        self.forget_pending(&id);
        self.leader.get_or_insert_with(|| id.clone());
        self.offered.add(&member.protocols);
        self.joining += usize::from(member.join.is_some());
        self.owing += usize::from(member.owes_sync);
        self.bytes += member.bytes(&id);
        self.members.insert(id, member);
    }

    /// Takes a member out. If it led, another one does now.
    pub(crate) fn remove(&mut self, id: &str) -> Option<ClassicMember> {
        let member = self.members.remove(id)?;
        self.offered.remove(&member.protocols);
        self.joining -= usize::from(member.join.is_some());
        self.owing -= usize::from(member.owes_sync);
        self.bytes -= member.bytes(id);
        if let Some(instance) = &member.instance {
            self.instances.remove(instance);
        }
        if self.is_leader(id) {
            self.leader = self.members.first_key_value().map(|(id, _)| id.clone());
        }
        Some(member)
    }

    /// Gives a static member another id. Gives what the old one waits for: join and sync.
    pub(crate) fn rename(&mut self, old: &str, new: Arc<str>) -> (Option<Waiting>, Option<Waiting>) {
        let mut member = self.members.remove(old).expect("a member that is there is replaced");
        assert!(!self.members.contains_key(&new), "the new id is new");
        self.joining -= usize::from(member.join.is_some());
        self.bytes -= member.bytes(old);
        let waiting = (member.join.take(), member.sync.take());
        member.is_new = false;
        let instance = member.instance.clone().expect("a static member is replaced");
        self.instances.insert(instance, new.clone());
        if self.is_leader(old) {
            self.leader = Some(new.clone());
        }
        self.bytes += member.bytes(&new);
        self.members.insert(new, member);
        waiting
    }

    /// What a member has asked for in JoinGroup.
    pub(crate) fn update(&mut self, id: &str, protocols: Protocols, rebalance_ms: i32, session_ms: i32) {
        let member = self.members.get_mut(id).expect("a member that is there is updated");
        self.bytes -= member.bytes(id);
        self.offered.remove(&member.protocols);
        member.protocols = protocols;
        self.offered.add(&member.protocols);
        member.rebalance_timeout_ms = rebalance_ms;
        member.session_timeout_ms = session_ms;
        self.bytes += member.bytes(id);
    }

    /// A member's JoinGroup waits. Gives the one that waited before.
    pub(crate) fn park_join(&mut self, id: &str, waiting: Waiting) -> Option<Waiting> {
        let member = self.members.get_mut(id).expect("a member joins");
        let before = member.join.replace(waiting);
        self.joining += usize::from(before.is_none());
        before
    }

    /// A member's JoinGroup is to be answered.
    pub(crate) fn take_join(&mut self, id: &str) -> Option<Waiting> {
        let waiting = self.members.get_mut(id)?.join.take();
        self.joining -= usize::from(waiting.is_some());
        waiting
    }

    /// All JoinGroups that wait are to be answered, by which their members learn their ids.
    pub(crate) fn take_joins(&mut self) -> Vec<(Arc<str>, Waiting)> {
        self.joining = 0;
        let joins = self.members.iter_mut().filter_map(|(id, member)| {
            member.is_new = false;
            Some((id.clone(), member.join.take()?))
        });
        joins.collect()
    }

    /// A member's SyncGroup waits. Gives the one that waited before.
    pub(crate) fn park_sync(&mut self, id: &str, waiting: Waiting) -> Option<Waiting> {
        self.members.get_mut(id).expect("a member syncs").sync.replace(waiting)
    }

    /// All SyncGroups that wait are to be answered.
    pub(crate) fn take_syncs(&mut self) -> Vec<Waiting> {
        self.members.values_mut().filter_map(|member| member.sync.take()).collect()
    }

    /// A member has asked for its assignment.
    pub(crate) fn settle_sync(&mut self, id: &str) {
        if let Some(member) = self.members.get_mut(id) {
            self.owing -= usize::from(std::mem::take(&mut member.owes_sync));
        }
    }

    /// No member owes a sync any more.
    pub(crate) fn forgive_syncs(&mut self) {
        self.members.values_mut().for_each(|member| member.owes_sync = false);
        self.owing = 0;
    }

    /// Gives each member what it is assigned, and all of their SyncGroups that wait.
    pub(crate) fn assign(&mut self, mut assignment: impl FnMut(&str) -> Bytes) -> Vec<(Arc<str>, Waiting)> {
        let mut waiting = Vec::new();
        for (id, member) in &mut self.members {
            self.bytes -= member.assignment.len();
            member.assignment = assignment(id);
            self.bytes += member.assignment.len();
            waiting.extend(member.sync.take().map(|sync| (id.clone(), sync)));
        }
        waiting
    }

    /// All members have been told of the generation: each is to sync, and none is new. Gives their
    /// JoinGroups that wait.
    pub(crate) fn expect_syncs(&mut self) -> Vec<(Arc<str>, Option<Waiting>)> {
        self.joining = 0;
        self.owing = self.members.len();
        let told = self.members.iter_mut().map(|(id, member)| {
            member.is_new = false;
            member.owes_sync = true;
            (id.clone(), member.join.take())
        });
        told.collect()
    }

    /// An id is given out that its client is to join with.
    pub(crate) fn expect(&mut self, id: Arc<str>) {
        assert!(!self.members.contains_key(&id), "a member's id is not pending");
        self.bytes += PENDING_OVERHEAD + id.len();
        assert!(self.pending.insert(id), "an id is given out once");
    }

    /// An id that was given out is expected no more. Whether it was.
    pub(crate) fn forget_pending(&mut self, id: &str) -> bool {
        let was_pending = self.pending.remove(id);
        self.bytes -= if was_pending { PENDING_OVERHEAD + id.len() } else { 0 };
        was_pending
    }

    pub(crate) fn pending(&self) -> impl Iterator<Item = &Arc<str>> {
        self.pending.iter()
    }

    /// The leader is one that has joined, or becomes one. `false`: no member has joined.
    pub(crate) fn elect_joined(&mut self) -> bool {
        let has_joined = |member: &ClassicMember| member.join.is_some();
        if self.leader.as_ref().is_some_and(|leader| has_joined(&self.members[leader])) {
            return true;
        }
        let joined = self.members.iter().find(|(_, member)| has_joined(member)).map(|(id, _)| id.clone());
        if let Some(joined) = joined {
            self.leader = Some(joined);
            return true;
        }
        false
    }

    /// It is in another state from now on.
    pub(crate) fn enter(&mut self, state: State, now: Timestamp) {
        let may = self.state.may_become(state, self.members.len());
        assert!(
            may,
            "no group of {} goes from {} to {}",
            self.members.len(),
            self.state.name(),
            state.name()
        );
        self.state = state;
        self.since = Some(now);
    }

    /// The wait for members of a group that was empty, as it is now.
    pub(crate) fn first_rebalance(&mut self) -> Option<&mut FirstRebalance> {
        match &mut self.state {
            State::Preparing { first } => first.as_mut(),
            _ => None,
        }
    }

    /// The leader's assignment is on its way to the log.
    pub(crate) fn set_assigned(&mut self) {
        assert!(matches!(self.state, State::Completing { .. }), "who assigns has joined");
        self.state = State::Completing { is_assigned: true };
    }

    /// Those who have joined are the next generation.
    pub(crate) fn next_generation(&mut self, now: Timestamp) {
        self.is_unsettled = false;
        // Apache Kafka's becomes negative in the end, which members cannot tell from none.
        self.generation = self.generation.checked_add(1).unwrap_or(0).max(0);
        if self.members.is_empty() {
            self.protocol = None;
            self.enter(State::Empty, now);
        } else {
            self.protocol = Some(self.select_protocol().into());
            self.enter(State::Completing { is_assigned: false }, now);
        }
        self.subscribe();
    }

    fn subscribe(&mut self) {
        self.subscription = Subscription::of(self.protocol_type(), self.protocol(), self.members.values());
    }

    /// What a count from scratch says is what is counted.
    #[cfg(test)]
    pub(crate) fn check(&self) {
        self.offered.check(self.members.values());
        let count =
            |is: fn(&ClassicMember) -> bool| self.members.values().filter(|member| is(member)).count();
        assert_eq!(self.joining, count(|member| member.join.is_some()));
        assert_eq!(self.owing, count(|member| member.owes_sync));
        assert_eq!(self.leader.is_some(), !self.members.is_empty());
        assert!(self.leader.iter().all(|leader| self.members.contains_key(leader)));
        let instances =
            self.members.iter().filter_map(|(id, member)| Some((member.instance.clone()?, id.clone())));
        assert_eq!(self.instances, instances.collect());
        assert!(self.pending.iter().all(|id| !self.members.contains_key(id)));
        let members: usize = self.members.iter().map(|(id, member)| member.bytes(id)).sum();
        let pending: usize = self.pending.iter().map(|id| PENDING_OVERHEAD + id.len()).sum();
        assert_eq!(self.bytes, members + pending);
        match self.state {
            State::Empty => assert!(self.members.is_empty() && self.owing == 0),
            State::Preparing { .. } => assert!(self.owing == 0 && count(|member| member.sync.is_some()) == 0),
            State::Completing { .. } => assert!(!self.members.is_empty()),
            State::Stable => assert!(!self.members.is_empty() && count(|member| member.sync.is_some()) == 0),
        }
    }
}
