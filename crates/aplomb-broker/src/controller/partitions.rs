//! Adding partitions to a topic.

use aplomb_model::{BrokerId, PartitionIndex};

use super::draft::Draft;
use super::error::AdminError;
use super::topics::{check_same_replication, partition_record};
use crate::quotas::Permits;

/// More partitions for a topic, as a request asks for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPartitions {
    /// Which topic gets them.
    pub topic: String,
    /// How many it shall have in all.
    pub total: i32,
    /// The brokers of each new one, if they are not to be chosen.
    pub assigned: Option<Vec<Vec<BrokerId>>>,
}

impl Draft {
    /// Whether a partition could be on these brokers.
    ///
    /// # Errors
    /// When it could not.
    pub fn check_assignment(&mut self, replicas: &[BrokerId], index: i32) -> Result<(), AdminError> {
        let (image, placer) = self.placer();
        placer.place_on(replicas, image, index).map(drop)
    }

    /// Drafts partitions.
    ///
    /// # Errors
    /// When they cannot be; the draft is as before then.
    pub fn create_partitions(
        &mut self,
        new: &NewPartitions,
        permits: &mut Permits,
    ) -> Result<(), AdminError> {
        let topic = self.image().topics.by_name(&new.topic).cloned();
        let topic = topic.ok_or_else(|| AdminError::UnknownTopic(new.topic.clone()))?;
        let current = topic.partitions.len();
        let total = usize::try_from(new.total).unwrap_or(0);
        if total == current {
            return Err(AdminError::SamePartitions(current));
        }
        if total < current {
            return Err(AdminError::FewerPartitions { topic: new.topic.clone(), current, wanted: new.total });
        }
        let additional = total - current;
        if let Some(assigned) = new.assigned.as_ref().filter(|assigned| assigned.len() != additional) {
            return Err(AdminError::Assignment(format!(
                "Attempted to add {additional} additional partition(s), but only {} assignment(s) were specified.",
                assigned.len()
            )));
        }
        self.check_room(additional)?;
        permits.take(additional)?;

        let replicas = topic.partitions.values().next().map_or(1, |first| first.replicas.len());
        let version = self.image().features.metadata_version();
        let (image, placer) = self.placer();
        let mut records = Vec::with_capacity(additional);
        for nth in 0..additional {
            let index = i32::try_from(current + nth).expect("below the total, which is one");
            let partition = match &new.assigned {
                Some(assigned) => {
                    let partition = placer.place_on(&assigned[nth], image, index)?;
                    check_same_replication(&partition, replicas)?;
                    partition
                }
                None => placer.place(i16::try_from(replicas).unwrap_or(i16::MAX))?,
            };
            records.push(partition_record(&partition, topic.id, PartitionIndex(index), version));
        }
        self.push(records);
        Ok(())
    }
}
