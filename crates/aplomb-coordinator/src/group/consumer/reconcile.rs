//! A member's way to its target: it keeps what it has and is to have, gives up what it is not to
//! have, and gets what no other member has any more.
//!
//! What always holds: a partition is given to a member when no other has it; a member gets to the
//! target's epoch when it has given up what it is not to have there.

use std::collections::{BTreeMap, BTreeSet};

use aplomb_model::TopicId;
use aplomb_protocol::messages as m;
use m::consumer_group_heartbeat_request::TopicPartitions;

use crate::group::assignor::Partitions;
use crate::group::state::consumer::{Current, Holdings, MemberState, Owners};

/// What a member's next step is decided by.
pub(super) struct Step<'a> {
    /// What it has now.
    pub(super) current: Current,
    pub(super) target_epoch: i32,
    /// What it is to have.
    pub(super) target: Option<&'a Partitions>,
    /// What it says to have; `None`: it does not say.
    pub(super) owned: Option<&'a [TopicPartitions]>,
    /// Whether it is subscribed to a topic, which exists.
    pub(super) subscribes: &'a dyn Fn(TopicId) -> bool,
    /// Whether it is subscribed to other topics than before.
    pub(super) has_resubscribed: bool,
    /// Whose partitions are.
    pub(super) owners: &'a Owners,
}

impl Step<'_> {
    /// What the member has next; `None`: what it has now.
    pub(super) fn take(mut self) -> Option<Current> {
        let before = self.current.clone();
        let epoch = self.current.epoch;
        let next = match self.current.state {
            MemberState::Stable if epoch == self.target_epoch => self.resubscribed()?,
            MemberState::Unrevoked if self.owns_any(&self.current.revoking) => self.resubscribed()?,
            MemberState::Stable | MemberState::Unrevoked | MemberState::Unreleased => {
                self.towards_target(epoch)
            }
            // Who is let in with such a state has nothing.
            MemberState::Unknown(_) => self.towards_target(self.target_epoch),
        };
        (next != before).then_some(next)
    }

    /// Topics that the member is subscribed to no more are given up at once, whatever its target.
    fn resubscribed(&mut self) -> Option<Current> {
        if !self.has_resubscribed {
            return None;
        }
        let mut next = std::mem::take(&mut self.current);
        let gone: Vec<TopicId> =
            next.assigned.keys().filter(|topic| !(self.subscribes)(**topic)).copied().collect();
        if gone.is_empty() {
            return None;
        }
        let mut revoking = next.revoking.clone();
        for topic in gone {
            let partitions = next.assigned.remove(&topic).unwrap_or_default();
            revoking.entry(topic).or_default().extend(partitions);
        }
        next.previous = next.epoch;
        if self.owns_any(&revoking) {
            next.state = MemberState::Unrevoked;
            next.revoking = revoking;
        }
        Some(next)
    }

    fn towards_target(&self, epoch: i32) -> Current {
        let nothing = (BTreeMap::new(), BTreeSet::new());
        let empty = Partitions::new();
        let target = self.target.unwrap_or(&empty);
        let topics: BTreeSet<TopicId> = target.keys().chain(self.current.assigned.keys()).copied().collect();
        let (mut assigned, mut revoking, mut new) = (Holdings::new(), Holdings::new(), Partitions::new());
        let mut is_waiting = false;
        for topic in topics {
            let has = self.current.assigned.get(&topic).unwrap_or(&nothing.0);
            let wants = target.get(&topic).filter(|_| (self.subscribes)(topic)).unwrap_or(&nothing.1);
            let (keep, revoke): (BTreeMap<i32, i32>, BTreeMap<i32, i32>) =
                has.iter().partition(|(partition, _)| wants.contains(partition));
            let missing = wants.iter().copied().filter(|partition| !keep.contains_key(partition));
            let (free, held): (BTreeSet<i32>, BTreeSet<i32>) =
                missing.partition(|partition| self.is_free(topic, *partition));
            is_waiting |= !held.is_empty();
            put(&mut assigned, topic, keep);
            put(&mut revoking, topic, revoke);
            if !free.is_empty() {
                new.insert(topic, free);
            }
        }
        let previous = self.current.epoch;
        if self.owns_any(&revoking) {
            return Current { epoch, previous, state: MemberState::Unrevoked, assigned, revoking };
        }
        for (topic, partitions) in new {
            let given = partitions.into_iter().map(|partition| (partition, self.target_epoch));
            assigned.entry(topic).or_default().extend(given);
        }
        let state = if is_waiting { MemberState::Unreleased } else { MemberState::Stable };
        Current { epoch: self.target_epoch, previous, state, assigned, revoking: Holdings::new() }
    }

    /// Whether no other member has the partition. What this one is to give up is its own.
    fn is_free(&self, topic: TopicId, partition: i32) -> bool {
        let own = self.current.revoking.get(&topic).is_some_and(|own| own.contains_key(&partition));
        self.owners.of(topic, partition) <= u32::from(own)
    }

    /// Whether the member says to have any of these, or does not say.
    fn owns_any(&self, partitions: &Holdings) -> bool {
        let owns = |topic: &TopicPartitions| {
            partitions
                .get(&topic.topic_id)
                .is_some_and(|partitions| topic.partitions.iter().any(|p| partitions.contains_key(p)))
        };
        !partitions.is_empty() && self.owned.is_none_or(|owned| owned.iter().any(owns))
    }
}

fn put(assigned: &mut Holdings, topic: TopicId, partitions: BTreeMap<i32, i32>) {
    if !partitions.is_empty() {
        assigned.insert(topic, partitions);
    }
}
