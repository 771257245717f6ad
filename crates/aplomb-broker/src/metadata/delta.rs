//! What a piece of the metadata log changed, for those who have to act on it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use aplomb_model::{LeaderEpoch, PartitionIndex, TopicId};

use super::topics::Topic;

/// What happened to one partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartitionDelta {
    /// It is new.
    pub created: bool,
    /// The leader's epoch before, if the epoch is another now.
    pub old_leader_epoch: Option<LeaderEpoch>,
}

/// What happened to one topic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopicDelta {
    /// It is new.
    pub created: bool,
    /// Its partitions that are new or changed.
    pub partitions: BTreeMap<PartitionIndex, PartitionDelta>,
}

/// Differences between two images, the newer of which has the details.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Delta {
    /// Topics of the newer image that are new or have new or changed partitions.
    pub topics: BTreeMap<TopicId, TopicDelta>,
    /// Topics of the older image that are gone, as they were.
    pub deleted: BTreeMap<TopicId, Arc<Topic>>,
    /// Names of topics whose settings changed.
    pub topic_configs: BTreeSet<String>,
    /// Settings of brokers changed, so that the defaults of all topics may have.
    pub broker_configs: bool,
    /// A broker or a controller came, went or changed.
    pub brokers: bool,
    /// A feature's level changed.
    pub features: bool,
    /// Quotas, passwords, permissions or tokens changed.
    pub security: bool,
}

impl Delta {
    /// Whether nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn topic_created(&mut self, id: TopicId) {
        self.topics.entry(id).or_default().created = true;
    }

    /// A topic that was created in the same piece of log never was.
    pub(super) fn topic_deleted(&mut self, topic: Arc<Topic>) {
        let seen = self.topics.remove(&topic.id);
        self.topic_configs.remove(&*topic.name);
        if !seen.is_some_and(|seen| seen.created) {
            self.deleted.insert(topic.id, topic);
        }
    }

    pub(super) fn partition_created(&mut self, id: TopicId, index: PartitionIndex) {
        self.topics.entry(id).or_default().partitions.entry(index).or_default().created = true;
    }

    pub(super) fn partition_changed(
        &mut self,
        id: TopicId,
        index: PartitionIndex,
        old: LeaderEpoch,
        new: LeaderEpoch,
    ) {
        let partition = self.topics.entry(id).or_default().partitions.entry(index).or_default();
        if old != new && !partition.created {
            partition.old_leader_epoch.get_or_insert(old);
        }
    }
}
