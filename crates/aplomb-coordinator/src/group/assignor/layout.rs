//! Members and topics by number, and who is subscribed to what.
//!
//! Topics that the same members are subscribed to share one list of them, so a group of thousands
//! of members with one subscription to thousands of topics takes the room of one list.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use aplomb_model::TopicId;

use super::{Assignments, Partitions, Subscriber};

/// A member, by its place in the order in which members came.
pub(super) type MemberNumber = u32;

/// Stands for no member.
pub(super) const NO_ONE: MemberNumber = MemberNumber::MAX;

/// A topic with at least one partition and one subscriber.
#[derive(Debug)]
pub(super) struct Subscribed {
    pub(super) id: TopicId,
    pub(super) partitions: i32,
    /// Which list of subscribers it has.
    pub(super) audience: usize,
}

/// A group by numbers.
#[derive(Debug)]
pub(super) struct Layout<'a> {
    members: Vec<(&'a Arc<str>, &'a Subscriber)>,
    /// In the order of their ids.
    topics: Vec<Subscribed>,
    /// Lists of subscribers, ascending, none of them empty.
    audiences: Vec<Vec<MemberNumber>>,
    is_equal: bool,
}

impl<'a> Layout<'a> {
    /// Members are numbered in the order in which they come.
    pub(super) fn new(
        members: Vec<(&'a Arc<str>, &'a Subscriber)>,
        partitions: &dyn Fn(TopicId) -> i32,
    ) -> Self {
        let subscriptions = Distinct::new(&members);
        let mut subscribed: BTreeMap<TopicId, Vec<usize>> = BTreeMap::new();
        for (number, (topics, _)) in subscriptions.0.iter().enumerate() {
            for &topic in *topics {
                subscribed.entry(topic).or_default().push(number);
            }
        }
        let mut known: HashMap<Vec<usize>, usize> = HashMap::new();
        let mut audiences: Vec<Vec<MemberNumber>> = Vec::new();
        let mut topics = Vec::with_capacity(subscribed.len());
        for (id, by) in subscribed {
            let partitions = partitions(id);
            if partitions <= 0 {
                continue;
            }
            let audience = *known.entry(by).or_insert_with_key(|by| {
                audiences.push(subscriptions.members_of(by));
                audiences.len() - 1
            });
            topics.push(Subscribed { id, partitions, audience });
        }
        Self { topics, audiences, is_equal: subscriptions.0.len() <= 1, members }
    }

    /// Whether all members have the same subscription.
    pub(super) fn is_equal(&self) -> bool {
        self.is_equal
    }

    /// How many members it has.
    pub(super) fn size(&self) -> usize {
        self.members.len()
    }

    pub(super) fn topics(&self) -> &[Subscribed] {
        &self.topics
    }

    /// Who is subscribed to the topic, ascending.
    pub(super) fn audience(&self, topic: &Subscribed) -> &[MemberNumber] {
        &self.audiences[topic.audience]
    }

    /// How many different lists of subscribers there are.
    pub(super) fn audiences(&self) -> usize {
        self.audiences.len()
    }

    /// What the members had of what they may have: members ascending, for each its topics by place
    /// and their partitions, ascending. A partition that two had is the first one's.
    pub(super) fn kept(&self) -> Vec<(MemberNumber, usize, i32)> {
        let mut taken: Vec<Vec<bool>> =
            self.topics.iter().map(|topic| vec![false; topic.partitions as usize]).collect();
        let mut kept = Vec::new();
        for (member, (_, subscriber)) in (0..).zip(&self.members) {
            for (id, partitions) in &subscriber.target {
                let Ok(place) = self.topics.binary_search_by(|topic| topic.id.cmp(id)) else { continue };
                if !subscriber.topics.contains(id) {
                    continue;
                }
                for &partition in partitions {
                    let free = usize::try_from(partition).ok().and_then(|at| taken[place].get_mut(at));
                    if free.is_some_and(|taken| !std::mem::replace(taken, true)) {
                        kept.push((member, place, partition));
                    }
                }
            }
        }
        kept
    }

    /// Assignments, from who has which partition, topics by place.
    pub(super) fn assignments(&self, owners: &[Vec<MemberNumber>]) -> Assignments {
        let mut of_member: Vec<Partitions> = vec![Partitions::new(); self.members.len()];
        for (topic, owners) in self.topics.iter().zip(owners) {
            for (partition, &owner) in (0..).zip(owners) {
                assert_ne!(owner, NO_ONE, "a topic with subscribers is given away whole");
                of_member[owner as usize].entry(topic.id).or_default().insert(partition);
            }
        }
        self.members.iter().zip(of_member).map(|((id, _), partitions)| ((*id).clone(), partitions)).collect()
    }
}

/// The different subscriptions of a group, each with its members, ascending.
struct Distinct<'a>(Vec<(&'a BTreeSet<TopicId>, Vec<MemberNumber>)>);

impl<'a> Distinct<'a> {
    fn new(members: &[(&'a Arc<str>, &'a Subscriber)]) -> Self {
        let mut all: Vec<(&BTreeSet<TopicId>, Vec<MemberNumber>)> = Vec::new();
        let mut by_place: HashMap<*const BTreeSet<TopicId>, usize> = HashMap::new();
        let mut by_topics: HashMap<&BTreeSet<TopicId>, usize> = HashMap::new();
        for (member, (_, subscriber)) in (0..).zip(members) {
            let topics = &*subscriber.topics;
            let number = *by_place.entry(topics).or_insert_with(|| {
                *by_topics.entry(topics).or_insert_with(|| {
                    all.push((topics, Vec::new()));
                    all.len() - 1
                })
            });
            all[number].1.push(member);
        }
        Self(all)
    }

    /// The members with these subscriptions, ascending.
    fn members_of(&self, numbers: &[usize]) -> Vec<MemberNumber> {
        let mut members: Vec<MemberNumber> =
            numbers.iter().flat_map(|&number| &self.0[number].1).copied().collect();
        members.sort_unstable();
        members
    }
}
