//! Who of a consumer group gets which partitions: pure functions of members, what they are
//! subscribed to, and what they have.

use std::collections::{BTreeMap, BTreeSet};

use aplomb_model::TopicId;

/// Partitions by topic.
pub type Partitions = BTreeMap<TopicId, BTreeSet<i32>>;

/// A member to be given partitions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subscriber {
    /// `group.instance.id`.
    pub instance: Option<String>,
    /// The topics that it is subscribed to and that exist.
    pub topics: BTreeSet<TopicId>,
    /// What it was to have until now.
    pub target: Partitions,
}

/// Members by id.
pub type Subscribers = BTreeMap<String, Subscriber>;

/// An assignor of the coordinator's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assignor {
    /// `uniform`.
    Uniform,
    /// `range`.
    Range,
}
