//! A member of a consumer group: what it has said of itself, and what it has.

use std::collections::BTreeMap;

use aplomb_model::TopicId;
use aplomb_protocol::messages as m;
use m::consumer_group_current_member_assignment_value::TopicPartitions;

pub(crate) type About = m::ConsumerGroupMemberMetadataValue;
type CurrentValue = m::ConsumerGroupCurrentMemberAssignmentValue;

/// Partitions by topic, each with the epoch in which the member was given it.
pub(crate) type Holdings = BTreeMap<TopicId, BTreeMap<i32, i32>>;

/// What a static member that is away for a while has as its epoch.
pub(crate) const AWAY: i32 = -2;
/// The epoch of a member that leaves.
pub(crate) const LEAVES: i32 = -1;

/// How far a member has come on its way to its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemberState {
    /// It has what it was to have in its epoch.
    Stable,
    /// It has to give partitions up before it gets to the next epoch.
    Unrevoked,
    /// It is in its epoch, and waits for partitions that others have yet.
    Unreleased,
    /// A state that only later versions know.
    Unknown(i8),
}

impl MemberState {
    fn from_wire(raw: i8) -> Self {
        match raw {
            0 => Self::Stable,
            1 => Self::Unrevoked,
            2 => Self::Unreleased,
            other => Self::Unknown(other),
        }
    }

    fn to_wire(self) -> i8 {
        match self {
            Self::Stable => 0,
            Self::Unrevoked => 1,
            Self::Unreleased => 2,
            Self::Unknown(raw) => raw,
        }
    }
}

/// What a member has (record type 8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Current {
    pub(crate) epoch: i32,
    /// The epoch of the record before: an answer that was lost is repeated to a member that sends
    /// it.
    pub(crate) previous: i32,
    pub(crate) state: MemberState,
    pub(crate) assigned: Holdings,
    /// What it is to give up, and has not said to have given up.
    pub(crate) revoking: Holdings,
}

impl Default for Current {
    /// Of a member that joins.
    fn default() -> Self {
        Self {
            epoch: 0,
            previous: -1,
            state: MemberState::Stable,
            assigned: Holdings::new(),
            revoking: Holdings::new(),
        }
    }
}

impl Current {
    pub(crate) fn from_record(value: &CurrentValue) -> Self {
        Self {
            epoch: value.member_epoch,
            previous: value.previous_member_epoch,
            state: MemberState::from_wire(value.state),
            assigned: read(&value.assigned_partitions, value.member_epoch),
            revoking: read(&value.partitions_pending_revocation, value.member_epoch),
        }
    }

    pub(crate) fn to_record(&self) -> CurrentValue {
        CurrentValue {
            member_epoch: self.epoch,
            previous_member_epoch: self.previous,
            state: self.state.to_wire(),
            assigned_partitions: write(&self.assigned),
            partitions_pending_revocation: write(&self.revoking),
        }
    }

    /// What is assigned to it with what it has not given up yet.
    pub(crate) fn all(mut self) -> Holdings {
        for (topic, partitions) in self.revoking {
            self.assigned.entry(topic).or_default().extend(partitions);
        }
        self.assigned
    }

    /// All partitions that are the member's: assigned, or not given up yet.
    pub(crate) fn partitions(&self) -> impl Iterator<Item = (TopicId, i32)> {
        [&self.assigned, &self.revoking]
            .into_iter()
            .flatten()
            .flat_map(|(topic, partitions)| partitions.keys().map(|partition| (*topic, *partition)))
    }

    /// The epoch in which the member was given the partition, if it is the member's.
    pub(crate) fn assigned_in(&self, topic: TopicId, partition: i32) -> Option<i32> {
        let of = |assigned: &Holdings| assigned.get(&topic)?.get(&partition).copied();
        of(&self.assigned).or_else(|| of(&self.revoking))
    }
}

/// Without epochs of their own (before 4.3) partitions have the record's.
fn read(topics: &[TopicPartitions], epoch: i32) -> Holdings {
    let mut all = Holdings::new();
    for topic in topics {
        let epochs = topic.assignment_epochs.as_ref().filter(|epochs| epochs.len() == topic.partitions.len());
        let epoch_of = |at: usize| epochs.map_or(epoch.max(0), |epochs| epochs[at]);
        let partitions =
            topic.partitions.iter().enumerate().map(|(at, partition)| (*partition, epoch_of(at)));
        all.insert(topic.topic_id, partitions.collect());
    }
    all.retain(|_, partitions| !partitions.is_empty());
    all
}

fn write(assigned: &Holdings) -> Vec<TopicPartitions> {
    let topic = |(topic_id, partitions): (&TopicId, &BTreeMap<i32, i32>)| TopicPartitions {
        topic_id: *topic_id,
        partitions: partitions.keys().copied().collect(),
        assignment_epochs: Some(partitions.values().copied().collect()),
    };
    assigned.iter().map(topic).collect()
}

/// A member of a consumer group, as far as records are there of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConsumerMember {
    about: Option<Box<About>>,
    current: Option<Current>,
}

impl ConsumerMember {
    /// What it has said of itself.
    pub(crate) fn about(&self) -> Option<&About> {
        self.about.as_deref()
    }

    /// What it has, if that is written.
    pub(crate) fn written(&self) -> Option<&Current> {
        self.current.as_ref()
    }

    /// What it has: a member that joins has nothing.
    pub(crate) fn current(&self) -> Current {
        self.current.clone().unwrap_or_default()
    }

    pub(crate) fn epoch(&self) -> i32 {
        self.current.as_ref().map_or(0, |current| current.epoch)
    }

    pub(crate) fn state(&self) -> MemberState {
        self.current.as_ref().map_or(MemberState::Stable, |current| current.state)
    }

    pub(crate) fn instance(&self) -> Option<&str> {
        self.about()?.instance_id.as_deref()
    }

    /// The names that it is subscribed to, each once, in their order.
    pub(crate) fn names(&self) -> &[String] {
        self.about().map_or(&[], |about| &about.subscribed_topic_names)
    }

    /// The regular expression that it is subscribed to.
    pub(crate) fn expression(&self) -> Option<&str> {
        self.about().and_then(expression_of)
    }

    pub(crate) fn assignor(&self) -> Option<&str> {
        self.about()?.server_assignor.as_deref()
    }

    /// Whether it speaks the classic protocol.
    pub(crate) fn is_classic(&self) -> bool {
        self.about().is_some_and(|about| about.classic_member_metadata.is_some())
    }

    /// Whether no record is there of it.
    pub(crate) fn is_gone(&self) -> bool {
        self.about.is_none() && self.current.is_none()
    }

    /// Gives what was there before.
    pub(crate) fn set_about(&mut self, about: Option<About>) -> Option<About> {
        let about = about.map(|mut about| {
            about.subscribed_topic_names.sort_unstable();
            about.subscribed_topic_names.dedup();
            Box::new(about)
        });
        std::mem::replace(&mut self.about, about).map(|before| *before)
    }

    /// Gives what was there before.
    pub(crate) fn set_current(&mut self, current: Option<Current>) -> Option<Current> {
        std::mem::replace(&mut self.current, current)
    }

    /// What it takes in memory, about.
    pub(crate) fn bytes(&self) -> usize {
        let about = self.about().map_or(0, |about| {
            let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
            let names: usize = about.subscribed_topic_names.iter().map(|name| name.len() + 24).sum();
            let classic = about.classic_member_metadata.as_ref().map_or(0, |classic| {
                let protocols = classic.supported_protocols.iter();
                protocols.map(|protocol| protocol.name.len() + protocol.metadata.len() + 64).sum()
            });
            let texts =
                [&about.instance_id, &about.rack_id, &about.subscribed_topic_regex, &about.server_assignor];
            let texts: usize = texts.into_iter().map(text).sum();
            size_of::<About>() + names + classic + texts + about.client_id.len() + about.client_host.len()
        });
        let current = self.current.as_ref().map_or(0, |current| {
            let topics = current.assigned.values().chain(current.revoking.values());
            topics.map(|partitions| 64 + 16 * partitions.len()).sum()
        });
        size_of::<Self>() + about + current
    }
}

/// An empty one is none.
pub(crate) fn expression_of(about: &About) -> Option<&str> {
    about.subscribed_topic_regex.as_deref().filter(|expression| !expression.is_empty())
}
