//! A consumer group: the values of its records, and what follows from them.
//!
//! What always holds: the index is what the records say, in whatever order they came; a record that
//! is replayed gives the one that takes it back.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use aplomb_model::{Instant, Timestamp};
use aplomb_protocol::messages as m;

use super::index::Index;
use super::member::{About, ConsumerMember, Current, MemberState};
use super::owners::Owners;
use super::resolving::Resolving;
use super::subscriptions::Subscriptions;
use crate::group::assignor::{Assignor, Partitions};
use crate::group::hash::TopicHashes;
use crate::group::state::counts::GroupState;
use crate::group::world::World;

/// What the records of a consumer group say.
#[derive(Debug, Default)]
pub(crate) struct ConsumerGroup {
    /// Record type 3: its epoch, and the hash of the topics that it is subscribed to.
    epoch: Option<(i32, i64)>,
    /// Record type 4.
    topics: Option<m::ConsumerGroupPartitionMetadataValue>,
    /// Record types 5 and 8.
    members: BTreeMap<Arc<str>, ConsumerMember>,
    /// Record type 6: the epoch of the target, and when it was computed.
    target_epoch: Option<(i32, Timestamp)>,
    /// Record type 7.
    targets: BTreeMap<Arc<str>, Partitions>,
    /// Record type 16.
    expressions: BTreeMap<String, m::ConsumerGroupRegularExpressionValue>,
    index: Index,
    soft: Soft,
}

/// What is lost with the process.
#[derive(Debug, Default)]
struct Soft {
    /// The metadata and the group epoch by which the hash was last compared.
    compared: Option<(i64, i32)>,
    /// A hash with what it was computed of: the metadata and the subscriptions.
    hash: Option<(i64, u64, i64)>,
    resolving: Option<Resolving>,
    /// Members that have not been told what they have since the log was loaded.
    untold: BTreeSet<Arc<str>>,
    /// When it got its last epoch.
    changed: Option<Instant>,
}

/// For so long after a group got another epoch it is taken to change: members learn of it, give up
/// what they have, and others get it. One that takes longer does not keep the others in a hurry.
const CHANGING: Duration = Duration::from_secs(15);

/// Before a group has a record that says so: it is one epoch old and assigned (seen).
const FIRST_EPOCH: i32 = 1;
/// What a target or an expression takes beside its text and partitions, about.
const ENTRY_BYTES: usize = 96;

impl ConsumerGroup {
    /// Its epoch: at least that of its target and those of its members, whose records may be there
    /// without the group's, where a power cut has left a gap in the log.
    pub(crate) fn epoch(&self) -> i32 {
        let written = self.epoch.map_or(FIRST_EPOCH, |(epoch, _)| epoch);
        written.max(self.target_epoch()).max(self.newest_member())
    }

    pub(crate) fn hash(&self) -> i64 {
        self.epoch.map_or(0, |(_, hash)| hash)
    }

    /// The epoch that the target assignment is of.
    pub(crate) fn target_epoch(&self) -> i32 {
        self.target_epoch.map_or(FIRST_EPOCH, |(epoch, _)| epoch)
    }

    /// When the target was computed, if that is known.
    pub(crate) fn target_time(&self) -> Option<Timestamp> {
        self.target_epoch.map(|(_, time)| time).filter(|time| time.0 > 0)
    }

    /// What a member is to have.
    pub(crate) fn target(&self, member: &str) -> Option<&Partitions> {
        self.targets.get(member)
    }

    pub(crate) fn targets(&self) -> impl ExactSizeIterator<Item = &Arc<str>> {
        self.targets.keys()
    }

    pub(crate) fn member(&self, id: &str) -> Option<&ConsumerMember> {
        self.members.get(id)
    }

    /// A member with its id as it is kept.
    pub(crate) fn entry(&self, id: &str) -> Option<(&Arc<str>, &ConsumerMember)> {
        self.members.get_key_value(id)
    }

    pub(crate) fn members(&self) -> impl ExactSizeIterator<Item = (&Arc<str>, &ConsumerMember)> {
        self.members.iter()
    }

    /// The id of a member as it is kept, to be shared.
    pub(crate) fn id_of(&self, member: &str) -> Option<Arc<str>> {
        self.entry(member).map(|(id, _)| id.clone())
    }

    /// The static member of this instance.
    pub(crate) fn instance(&self, instance: &str) -> Option<&Arc<str>> {
        self.index.instances.get(instance)?.first()
    }

    /// Members that are of one instance with another: there are none but while a log is read, and
    /// where it has lost records.
    pub(crate) fn rivals(&self) -> impl Iterator<Item = &Arc<str>> {
        self.index.instances.values().filter(|ids| ids.len() > 1).flatten()
    }

    pub(crate) fn owners(&self) -> &Owners {
        &self.index.owners
    }

    pub(crate) fn subscriptions(&self) -> &Subscriptions {
        &self.index.subscriptions
    }

    /// The topics that an expression stands for, sorted; `None`: that is not known yet.
    pub(crate) fn resolved(&self, expression: &str) -> Option<&[String]> {
        self.expressions.get(expression).map(|value| value.topics.as_slice())
    }

    pub(crate) fn expressions(
        &self,
    ) -> impl ExactSizeIterator<Item = (&String, &m::ConsumerGroupRegularExpressionValue)> {
        self.expressions.iter()
    }

    /// How many members speak the classic protocol.
    pub(crate) fn classic_members(&self) -> usize {
        self.index.classic
    }

    /// Whether all classic members offer this protocol.
    pub(crate) fn is_offered(&self, protocol: &str) -> bool {
        self.index.protocols.get(protocol).copied().unwrap_or(0) == self.index.classic
    }

    /// Whether a record of type 4 is there, which is to go.
    pub(crate) fn has_topics_record(&self) -> bool {
        self.topics.is_some()
    }

    /// The assignor that most members prefer; of as many, `uniform`, as Java's hash tables have it.
    pub(crate) fn assignor(&self) -> Option<Assignor> {
        // The last of those with as many.
        let preferred = self.index.assignors.iter().max_by_key(|(_, members)| **members);
        preferred.and_then(|(name, _)| Assignor::from_name(name))
    }

    /// Whether a member is subscribed to the topic.
    pub(crate) fn is_subscribed_to(&self, topic: &str) -> bool {
        self.index.subscriptions.has_topic(topic)
    }

    /// Whether it has no members.
    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Its state as `ListGroups` shows it.
    pub(crate) fn state(&self) -> GroupState {
        let settled = || self.index.settled.get(&self.target_epoch()).copied().unwrap_or(0);
        if self.members.is_empty() {
            GroupState::ConsumerEmpty
        } else if self.epoch() > self.target_epoch() {
            GroupState::ConsumerAssigning
        } else if settled() < self.members.len() {
            GroupState::ConsumerReconciling
        } else {
            GroupState::ConsumerStable
        }
    }

    /// What it takes in memory, in bytes, about.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + self.index.bytes + 48 * self.index.owners.len()
    }

    /// Whether no record is there of it.
    pub(crate) fn is_gone(&self) -> bool {
        self.epoch.is_none()
            && self.topics.is_none()
            && self.target_epoch.is_none()
            && self.members.is_empty()
            && self.targets.is_empty()
            && self.expressions.is_empty()
    }

    /// The hash of the topics that it is subscribed to, as they are now.
    pub(crate) fn hash_now(&mut self, hashes: &mut TopicHashes, world: &dyn World) -> i64 {
        let of = (world.version(), self.index.subscriptions.changes());
        if let Some((version, changes, hash)) = self.soft.hash
            && of == (version, changes)
        {
            return hash;
        }
        let hash = hashes.of_group(self.index.subscriptions.topics(), world);
        self.soft.hash = Some((of.0, of.1, hash));
        hash
    }

    /// Whether this is its first look at metadata since it was loaded or made, or what came of that
    /// was taken back.
    pub(crate) fn is_new_here(&self) -> bool {
        self.soft.compared.is_none_or(|(_, epoch)| self.epoch() < epoch)
    }

    /// Whether the hash is to be compared: metadata is another since, or what came of it was taken
    /// back.
    pub(crate) fn has_news(&self, world: &dyn World) -> bool {
        self.is_new_here() || self.soft.compared.is_some_and(|(version, _)| version != world.version())
    }

    /// The hash has been compared, and is what this group epoch has.
    pub(crate) fn on_compared(&mut self, world: &dyn World) {
        self.soft.compared = Some((world.version(), self.epoch()));
    }

    /// It has got another epoch.
    pub(crate) fn begin_changing(&mut self, now: Instant) {
        self.soft.changed = Some(now);
    }

    /// Whether its members are on their way to what they are to have, or were just now.
    pub(crate) fn is_changing(&self, now: Instant) -> bool {
        self.soft.changed.is_some_and(|changed| now.since(changed) < CHANGING)
    }

    /// All members are to be told what they have, whether or not it is something else.
    pub(crate) fn tell_again(&mut self) {
        self.soft.untold = self.members.keys().cloned().collect();
    }

    /// Whether the log has lost records of its target: members are ahead of it, or have come to it
    /// and have something else, as an epoch that is lost is given once more; or it does not give
    /// each partition of the topics that the group is subscribed to to one member.
    pub(crate) fn has_torn_target(&self, world: &dyn World) -> bool {
        if self.newest_member() > self.target_epoch() {
            return true;
        }
        if self.epoch() > self.target_epoch() {
            return false; // another will be computed
        }
        let is_there =
            |current: &&Current| current.state == MemberState::Stable && current.epoch == self.target_epoch();
        let there =
            self.members.iter().filter_map(|(id, member)| Some((id, member.written().filter(is_there)?)));
        for (id, current) in there {
            let target = self.targets.get(id).into_iter().flatten();
            let existing = target.filter(|(topic, _)| world.topic_by_id(**topic).is_some());
            let wanted = existing.flat_map(|(topic, ids)| ids.iter().map(|id| (*topic, *id)));
            if !wanted.eq(current.partitions()) {
                return true;
            }
        }
        let mut given = HashSet::new();
        for (member, target) in &self.targets {
            let mut partitions = target.iter().flat_map(|(topic, ids)| ids.iter().map(|id| (*topic, *id)));
            if !self.members.contains_key(member) || !partitions.all(|partition| given.insert(partition)) {
                return true;
            }
        }
        let mut topics = self.index.subscriptions.topics().filter_map(|name| world.topic(name));
        !topics.all(|topic| (0..topic.partitions).all(|partition| given.contains(&(topic.id, partition))))
    }

    /// Whether a member is to be told what it has.
    pub(crate) fn is_untold(&self, member: &str) -> bool {
        self.soft.untold.contains(member)
    }

    /// A member is being told what it has. Gives whether it was to be told in any case.
    pub(crate) fn tell(&mut self, member: &str) -> bool {
        self.soft.untold.remove(member)
    }

    /// The newest epoch that a member is in.
    fn newest_member(&self) -> i32 {
        self.index.epochs.last_key_value().map_or(0, |(epoch, _)| *epoch)
    }

    /// Gives what was being looked for before.
    pub(crate) fn set_resolving(&mut self, resolving: Option<Resolving>) -> Option<Resolving> {
        std::mem::replace(&mut self.soft.resolving, resolving)
    }

    pub(crate) fn is_resolving(&self) -> bool {
        self.soft.resolving.is_some()
    }
}

/// What records do to a group. Each gives the value that was there before.
impl ConsumerGroup {
    pub(crate) fn set_epoch(&mut self, epoch: Option<(i32, i64)>) -> Option<(i32, i64)> {
        std::mem::replace(&mut self.epoch, epoch)
    }

    pub(crate) fn set_topics(
        &mut self,
        topics: Option<m::ConsumerGroupPartitionMetadataValue>,
    ) -> Option<m::ConsumerGroupPartitionMetadataValue> {
        std::mem::replace(&mut self.topics, topics)
    }

    pub(crate) fn set_target_epoch(&mut self, epoch: Option<(i32, Timestamp)>) -> Option<(i32, Timestamp)> {
        std::mem::replace(&mut self.target_epoch, epoch)
    }

    pub(crate) fn set_target(&mut self, member: &str, target: Option<Partitions>) -> Option<Partitions> {
        let bytes = |target: &Partitions| -> usize {
            ENTRY_BYTES + target.values().map(|partitions| 64 + 8 * partitions.len()).sum::<usize>()
        };
        let before = match target {
            Some(target) => {
                self.index.bytes += bytes(&target);
                let id = self.id_of(member).unwrap_or_else(|| member.into());
                self.targets.insert(id, target)
            }
            None => self.targets.remove(member),
        };
        self.index.bytes -= before.as_ref().map_or(0, bytes);
        before
    }

    pub(crate) fn set_about(&mut self, member: &str, about: Option<About>) -> Option<About> {
        self.change_member(member, |member| member.set_about(about))
    }

    pub(crate) fn set_current(&mut self, member: &str, current: Option<Current>) -> Option<Current> {
        self.change_member(member, |member| member.set_current(current))
    }

    pub(crate) fn set_expression(
        &mut self,
        expression: &str,
        value: Option<m::ConsumerGroupRegularExpressionValue>,
    ) -> Option<m::ConsumerGroupRegularExpressionValue> {
        let bytes = |value: &m::ConsumerGroupRegularExpressionValue| -> usize {
            ENTRY_BYTES + expression.len() + value.topics.iter().map(|topic| topic.len() + 24).sum::<usize>()
        };
        let value = value.map(|mut value| {
            value.topics.sort_unstable();
            value.topics.dedup();
            value
        });
        if let Some(value) = &value {
            self.index.subscriptions.add_topics(&value.topics);
            self.index.bytes += bytes(value);
        }
        let before = match value {
            Some(value) => self.expressions.insert(expression.to_owned(), value),
            None => self.expressions.remove(expression),
        };
        if let Some(before) = &before {
            self.index.subscriptions.remove_topics(&before.topics);
            self.index.bytes -= bytes(before);
        }
        before
    }

    fn change_member<T>(&mut self, id: &str, change: impl FnOnce(&mut ConsumerMember) -> T) -> T {
        let (id, mut member) = self
            .members
            .remove_entry(id)
            .inspect(|(id, member)| self.index.remove(id, member))
            .unwrap_or_else(|| (id.into(), ConsumerMember::default()));
        let changed = change(&mut member);
        if member.is_gone() {
            self.soft.untold.remove(&id);
        } else {
            self.index.add(&id, &member);
            self.members.insert(id, member);
        }
        changed
    }
}

#[cfg(test)]
impl ConsumerGroup {
    /// All that always holds where no record is lost: no partition has two owners.
    pub(crate) fn check(&self) {
        self.check_index();
        assert!(!self.index.owners.is_shared(), "no partition has two owners: {self:#?}");
        assert!(self.rivals().next().is_none(), "{:#?}", self.index.instances);
    }

    /// The index is what the records say, whatever is lost.
    pub(crate) fn check_index(&self) {
        let mut index = Index::default();
        for (id, member) in &self.members {
            index.add(id, member);
        }
        for value in self.expressions.values() {
            index.subscriptions.add_topics(&value.topics);
        }
        assert_eq!(index.instances, self.index.instances);
        assert_eq!((index.epochs, index.settled), (self.index.epochs.clone(), self.index.settled.clone()));
        assert_eq!(index.assignors, self.index.assignors);
        assert_eq!((index.classic, &index.protocols), (self.index.classic, &self.index.protocols));
        assert_eq!(index.owners, self.index.owners);
        assert!(index.subscriptions.topics().eq(self.index.subscriptions.topics()));
        assert!(index.subscriptions.expressions().eq(self.index.subscriptions.expressions()));
        assert!(self.target_epoch() <= self.epoch());
        assert!(self.members.values().all(|member| member.epoch() <= self.epoch()));
    }
}
