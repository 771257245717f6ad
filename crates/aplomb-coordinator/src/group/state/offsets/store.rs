//! Committed offsets in memory, by group, topic and partition.
//!
//! What always holds: no group and no topic is empty; `count` and `bytes` are what is there; each
//! offset that is set or taken out is noted.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use aplomb_model::TopicId;
use aplomb_protocol::messages as m;

use crate::group::state::news::{Changed, OffsetPlace};

/// What an offset takes beside its metadata, in bytes: the entry, and its part of the tables.
const OFFSET_BYTES: usize = 96;
/// What a topic of a group takes beside its name.
const TOPIC_BYTES: usize = 128;

/// A committed offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Committed {
    pub(crate) offset: i64,
    /// -1: not known.
    pub(crate) leader_epoch: i32,
    pub(crate) metadata: Box<str>,
    /// Milliseconds since the epoch.
    pub(crate) committed_at: i64,
    /// Milliseconds since the epoch; -1: as the settings say.
    pub(crate) expires_at: i64,
    /// The topic's id then; zero: not known.
    pub(crate) topic_id: TopicId,
}

impl From<m::OffsetCommitValue> for Committed {
    fn from(value: m::OffsetCommitValue) -> Self {
        Self {
            offset: value.offset,
            leader_epoch: value.leader_epoch,
            metadata: value.metadata.into(),
            committed_at: value.commit_timestamp,
            expires_at: value.expire_timestamp,
            topic_id: value.topic_id,
        }
    }
}

impl From<Committed> for m::OffsetCommitValue {
    fn from(committed: Committed) -> Self {
        Self {
            offset: committed.offset,
            leader_epoch: committed.leader_epoch,
            metadata: committed.metadata.into(),
            commit_timestamp: committed.committed_at,
            expire_timestamp: committed.expires_at,
            topic_id: committed.topic_id,
        }
    }
}

impl Committed {
    fn bytes(&self) -> usize {
        OFFSET_BYTES + self.metadata.len()
    }
}

/// Partitions in their order. A sorted list: most topics have few, and a tree's nodes are large.
type OfTopic = Vec<(i32, Committed)>;
/// Topics in the order of their names.
type OfGroup = BTreeMap<Arc<str>, OfTopic>;

/// Committed offsets.
#[derive(Debug, Default)]
pub(crate) struct Store {
    groups: HashMap<Arc<str>, OfGroup>,
    count: usize,
    bytes: usize,
    pub(super) changed: Changed<OffsetPlace>,
}

impl Store {
    /// How many offsets there are.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// What they take, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn get(&self, group: &str, topic: &str, partition: i32) -> Option<&Committed> {
        let partitions = self.groups.get(group)?.get(topic)?;
        let place = partitions.binary_search_by_key(&partition, |(index, _)| *index).ok()?;
        Some(&partitions[place].1)
    }

    /// Offsets of a group after this topic and partition, or all of them, in that order.
    pub(crate) fn after(
        &self,
        group: &str,
        place: Option<(&str, i32)>,
    ) -> impl Iterator<Item = (&Arc<str>, i32, &Committed)> {
        let from = place.map_or(Bound::Unbounded, |(topic, _)| Bound::Included(topic));
        let of_group = self.groups.get(group).into_iter();
        let topics = of_group.flat_map(move |topics| topics.range::<str, _>((from, Bound::Unbounded)));
        topics.flat_map(move |(name, partitions)| {
            let begin = match place {
                Some((topic, index)) if **name == *topic => {
                    partitions.partition_point(|(other, _)| *other <= index)
                }
                Some(_) | None => 0,
            };
            partitions[begin..].iter().map(move |(index, committed)| (name, *index, committed))
        })
    }

    /// Whether a group has any.
    pub(crate) fn has(&self, group: &str) -> bool {
        self.groups.contains_key(group)
    }

    /// Sets an offset, and gives the one that was there.
    pub(crate) fn set(
        &mut self,
        group: &str,
        topic: &str,
        partition: i32,
        new: Committed,
    ) -> Option<Committed> {
        if !self.groups.contains_key(group) {
            self.groups.insert(group.into(), OfGroup::new());
        }
        let topics = self.groups.get_mut(group).expect("it is there now");
        if !topics.contains_key(topic) {
            topics.insert(topic.into(), OfTopic::new());
            self.bytes += TOPIC_BYTES + topic.len();
        }
        self.note(group, topic, partition);
        let topics = self.groups.get_mut(group).expect("it is there now");
        let partitions = topics.get_mut(topic).expect("it is there now");
        self.bytes += new.bytes();
        match partitions.binary_search_by_key(&partition, |(index, _)| *index) {
            Ok(place) => {
                let old = std::mem::replace(&mut partitions[place].1, new);
                self.bytes -= old.bytes();
                Some(old)
            }
            Err(place) => {
                partitions.insert(place, (partition, new));
                self.count += 1;
                None
            }
        }
    }

    /// What is said of this offset is to be looked at. Names are shared with what is kept.
    fn note(&mut self, group: &str, topic: &str, partition: i32) {
        let groups = &self.groups;
        self.changed.note(|| {
            let of_group = groups.get_key_value(group);
            let of_topic = of_group.and_then(|(_, topics)| topics.get_key_value(topic));
            let group = of_group.map_or_else(|| group.into(), |(kept, _)| kept.clone());
            (group, of_topic.map_or_else(|| topic.into(), |(kept, _)| kept.clone()), partition)
        });
    }

    /// Takes an offset out.
    pub(crate) fn remove(&mut self, group: &str, topic: &str, partition: i32) -> Option<Committed> {
        self.note(group, topic, partition);
        let topics = self.groups.get_mut(group)?;
        let partitions = topics.get_mut(topic)?;
        let place = partitions.binary_search_by_key(&partition, |(index, _)| *index).ok()?;
        let (_, old) = partitions.remove(place);
        self.count -= 1;
        self.bytes -= old.bytes();
        if partitions.is_empty() {
            topics.remove(topic);
            self.bytes -= TOPIC_BYTES + topic.len();
        }
        if topics.is_empty() {
            self.groups.remove(group);
        }
        Some(old)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use aplomb_model::SplitMix64;

    use super::*;

    fn offset(offset: i64, metadata: &str) -> Committed {
        Committed {
            offset,
            leader_epoch: -1,
            metadata: metadata.into(),
            committed_at: 0,
            expires_at: -1,
            topic_id: TopicId::ZERO,
        }
    }

    fn listed(store: &Store, group: &str, place: Option<(&str, i32)>) -> Vec<(String, i32)> {
        store.after(group, place).map(|(topic, index, _)| (topic.to_string(), index)).collect()
    }

    #[test]
    fn it_holds_what_was_set_last_and_nothing_of_what_is_gone() {
        let (mut store, mut model, mut random) = (Store::default(), BTreeMap::new(), SplitMix64::new(7));
        for n in 0..20_000_i64 {
            let group = format!("g{}", random.within(0..4));
            let topic = format!("t{}", random.within(0..3));
            let partition = i32::try_from(random.within(0..20)).expect("small");
            let key = (group.clone(), topic.clone(), partition);
            if random.within(0..3) == 0 {
                assert_eq!(store.remove(&group, &topic, partition), model.remove(&key));
            } else {
                let new = offset(n, &"x".repeat(usize::try_from(n % 5).expect("small")));
                assert_eq!(store.set(&group, &topic, partition, new.clone()), model.insert(key, new));
            }
            assert_eq!(store.count(), model.len());
        }
        for ((group, topic, partition), offset) in &model {
            assert_eq!(store.get(group, topic, *partition), Some(offset));
        }
        for group in store.groups.keys() {
            let all = listed(&store, group, None);
            let of_group = model.keys().filter(|(of, _, _)| **of == **group);
            assert!(of_group.map(|(_, topic, index)| (topic.clone(), *index)).eq(all.clone()));
            for (n, (topic, index)) in all.iter().enumerate() {
                assert_eq!(
                    listed(&store, group, Some((topic, *index))),
                    all[n + 1..],
                    "after {topic}-{index}"
                );
                let between = format!("{topic}0");
                let rest: Vec<_> = all[n..].iter().filter(|(other, _)| other != topic).cloned().collect();
                assert_eq!(
                    listed(&store, group, Some((&between, 0))),
                    rest,
                    "after a topic that is not there"
                );
            }
        }
        for (group, topic, partition) in model.into_keys() {
            assert!(store.remove(&group, &topic, partition).is_some());
        }
        assert_eq!((store.count(), store.bytes(), store.groups.len()), (0, 0, 0));
    }
}
