//! Assignors: which member of a consumer group is to have which partitions, as pure functions of
//! the members, their subscriptions and what they had.
//!
//! - [`equal`] and [`balance`] are `uniform`, for members with equal subscriptions and for others;
//! - [`range`] is `range`;
//! - [`layout`] has members and topics by number, with who is subscribed to what.
//!
//! What always holds: each partition of a topic that has a subscriber is given to one member, which
//! is subscribed to it; nothing else is given. A target that breaks this (a partition that two had,
//! or that does not exist) is put right.
//!
//! The same input gives the same assignment as Apache Kafka's assignors. Where theirs follows the
//! order of a Java hash map (whose extra partition goes first, which topic is dealt out first), it
//! is the order of ids here: as balanced, and as sticky.

mod balance;
mod equal;
mod layout;
mod range;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use aplomb_model::TopicId;

use self::layout::Layout;

/// An assignment, by the ids of topics.
pub type Partitions = BTreeMap<TopicId, BTreeSet<i32>>;

/// A member to be given partitions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subscriber {
    /// `group.instance.id`.
    pub instance: Option<Arc<str>>,
    /// The topics that it is subscribed to and that exist. Members with the same subscription had
    /// better share it: it is looked at once then.
    pub topics: Arc<BTreeSet<TopicId>>,
    /// Whether some of the topics come from a regular expression alone. Apache Kafka takes such a
    /// member for one whose subscription differs from all others', and so deals the partitions out
    /// in turn.
    pub by_expression: bool,
    /// What it was to have until now. A static member that takes another's place has that one's.
    pub target: Partitions,
}

/// Members by id.
pub type Subscribers = BTreeMap<Arc<str>, Subscriber>;

/// Assignments by member. Each member has one, which may be empty.
pub type Assignments = BTreeMap<Arc<str>, Partitions>;

/// An assignor of the coordinator's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assignor {
    /// `uniform`.
    Uniform,
    /// `range`.
    Range,
}

impl Assignor {
    /// The assignor of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "uniform" => Some(Self::Uniform),
            "range" => Some(Self::Range),
            _ => None,
        }
    }

    /// Its name in `group.consumer.assignors` and in heartbeats.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Range => "range",
        }
    }
}

/// Gives partitions to members. `partitions` says how many a topic has; one that has none is left
/// out.
#[must_use]
pub fn assign(assignor: Assignor, members: &Subscribers, partitions: &dyn Fn(TopicId) -> i32) -> Assignments {
    match assignor {
        Assignor::Range => range::assign(&Layout::new(range::in_order(members), partitions)),
        Assignor::Uniform => {
            let layout = Layout::new(members.iter().collect(), partitions);
            let by_expression = members.values().any(|member| member.by_expression);
            if layout.is_equal() && !by_expression {
                equal::assign(&layout)
            } else {
                balance::assign(&layout)
            }
        }
    }
}

#[cfg(test)]
mod tests;
