//! Log directories that are not where, or not what, the metadata says.

use aplomb_model::{BrokerId, DirectoryId, PartitionIndex, TopicId};
use aplomb_protocol::MetadataRecord;
use aplomb_protocol::messages as m;

use super::Controller;
use crate::metadata::Partition;

impl Controller {
    /// Replicas of this node that were found in other directories than the metadata says, or of
    /// which it did not know one: the disk is right. May be more records than
    /// [`super::MAX_RECORDS`].
    pub fn assign_directories(
        &mut self,
        node: BrokerId,
        found: &[(TopicId, PartitionIndex, DirectoryId)],
    ) -> Vec<MetadataRecord> {
        if !self.image().features.metadata_version().has_directories() {
            return Vec::new();
        }
        let moved = |(topic, index, directory): &(TopicId, PartitionIndex, DirectoryId)| {
            let partition = self.image().topics.partition(*topic, *index)?;
            let at = partition.replicas.iter().position(|replica| *replica == node)?;
            let mut directories = partition.directories.clone();
            if std::mem::replace(&mut directories[at], *directory) == *directory {
                return None;
            }
            let change = m::PartitionChangeRecord {
                partition_id: index.0,
                topic_id: *topic,
                directories: Some(directories),
                ..Default::default()
            };
            Some(MetadataRecord::from(change))
        };
        let records = found.iter().filter_map(moved).collect();
        let mut draft = self.draft();
        draft.push(records);
        self.take(draft)
    }

    /// A directory of this node failed: it is no longer among its live ones, and what is in it has
    /// no leader until a restart finds it well again. May be more records than
    /// [`super::MAX_RECORDS`].
    pub fn lose_directory(&mut self, node: BrokerId, lost: DirectoryId) -> Vec<MetadataRecord> {
        let Some(broker) = self.image().brokers.get(node) else { return Vec::new() };
        let live: Vec<DirectoryId> = broker.directories.iter().filter(|id| **id != lost).copied().collect();
        let mut records = Vec::new();
        // An empty list would read as "unchanged"; a broker without any live directory is as good
        // as stopped anyway.
        if live.len() < broker.directories.len() && !live.is_empty() {
            let change = m::BrokerRegistrationChangeRecord {
                broker_id: node.0,
                broker_epoch: broker.epoch,
                log_dirs: live,
                ..Default::default()
            };
            records.push(change.into());
        }
        let is_led_there =
            |partition: &Partition| partition.leader == Some(node) && partition.directory(node) == Some(lost);
        for topic in self.image().topics.iter() {
            let led = topic.partitions.iter().filter(|(_, partition)| is_led_there(partition));
            records.extend(led.map(|(index, partition)| {
                let other =
                    partition.isr.iter().find(|replica| **replica != node && self.image().is_live(**replica));
                let change = m::PartitionChangeRecord {
                    partition_id: index.0,
                    topic_id: topic.id,
                    leader: other.map_or(-1, |replica| replica.0),
                    ..Default::default()
                };
                MetadataRecord::from(change)
            }));
        }
        let mut draft = self.draft();
        draft.push(records);
        self.take(draft)
    }
}
