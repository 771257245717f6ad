//! Who and what: brokers, producers, partitions.

use std::fmt;
use std::sync::Arc;

/// A node's id (`node.id`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BrokerId(pub i32);

/// The number of a partition within its topic, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartitionIndex(pub i32);

/// An idempotent producer's id. Never negative: the wire's -1 is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProducerId(i64);

impl ProducerId {
    /// Kafka writes "no producer id" as a negative number; here it is `None`.
    #[must_use]
    pub fn from_wire(raw: i64) -> Option<Self> {
        (raw >= 0).then_some(Self(raw))
    }

    /// The number as the wire and the files have it.
    #[must_use]
    pub const fn to_wire(self) -> i64 {
        self.0
    }
}

/// Tells the incarnations of one producer id apart. -1 where a producer has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProducerEpoch(pub i16);

/// A partition by the name of its topic; its display form is the name of its directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicPartition {
    /// The name of its topic.
    pub topic: Arc<str>,
    /// Its number in the topic, from 0.
    pub partition: PartitionIndex,
}

impl TopicPartition {
    /// Joins a topic's name and a partition's number.
    #[must_use]
    pub fn new(topic: impl Into<Arc<str>>, partition: i32) -> Self {
        Self { topic: topic.into(), partition: PartitionIndex(partition) }
    }
}

impl fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.topic, self.partition.0)
    }
}

impl fmt::Display for BrokerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for PartitionIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
