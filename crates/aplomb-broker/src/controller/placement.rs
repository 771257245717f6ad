//! Where new replicas go: to which broker, and into which of its log directories.

use std::collections::BTreeMap;

use aplomb_model::{BrokerId, DirectoryId, LeaderEpoch, Uuid};

use super::error::AdminError;
use crate::metadata::{MetadataImage, Partition, RecoveryState};

/// Hands out log directories, the emptiest first.
#[derive(Clone, Debug)]
pub(super) struct Placer {
    /// Live brokers that take new replicas.
    brokers: Vec<BrokerId>,
    /// All registered brokers.
    registered: usize,
    /// How many replicas there are in each directory that takes new ones, by broker.
    loads: BTreeMap<BrokerId, BTreeMap<DirectoryId, usize>>,
    next_broker: usize,
}

impl Placer {
    pub(super) fn new(image: &MetadataImage) -> Self {
        let mut loads: BTreeMap<BrokerId, BTreeMap<DirectoryId, usize>> = BTreeMap::new();
        for broker in image.brokers.iter().filter(|broker| !broker.fenced && !broker.in_controlled_shutdown) {
            let cordoned = broker.cordoned_directories.as_deref().unwrap_or_default();
            let open = broker.directories.iter().filter(|directory| !cordoned.contains(directory));
            loads.insert(broker.id, open.map(|directory| (*directory, 0)).collect());
        }
        for partition in image.topics.iter().flat_map(|topic| topic.partitions.values()) {
            for (replica, directory) in partition.replicas.iter().zip(&partition.directories) {
                if let Some(load) = loads.get_mut(replica).and_then(|of_broker| of_broker.get_mut(directory))
                {
                    *load += 1;
                }
            }
        }
        // A broker that told of no directories is older than directory assignment, and takes
        // replicas all the same.
        let takes_replicas = |id: &&BrokerId| {
            let knows_directories =
                image.brokers.get(**id).is_some_and(|broker| !broker.directories.is_empty());
            !knows_directories || !loads[*id].is_empty()
        };
        let brokers = loads.keys().filter(takes_replicas).copied().collect();
        Self { brokers, registered: image.brokers.iter().count(), loads, next_broker: 0 }
    }

    /// A partition of `replicas` replicas.
    pub(super) fn place(&mut self, replicas: i16) -> Result<Partition, AdminError> {
        let wanted = usize::try_from(replicas).map_err(|_| AdminError::NoReplicas)?;
        if self.brokers.is_empty() {
            return Err(AdminError::NoLiveBroker(replicas));
        }
        if wanted > self.brokers.len() {
            return Err(AdminError::TooFewBrokers { wanted: replicas, registered: self.registered });
        }
        let chosen: Vec<BrokerId> =
            (0..wanted).map(|nth| self.brokers[(self.next_broker + nth) % self.brokers.len()]).collect();
        self.next_broker = (self.next_broker + 1) % self.brokers.len();
        Ok(self.partition(chosen.clone(), chosen))
    }

    /// A partition that is to be on these brokers.
    pub(super) fn place_on(
        &mut self,
        replicas: &[BrokerId],
        image: &MetadataImage,
        index: i32,
    ) -> Result<Partition, AdminError> {
        let refuse = |why: String| Err(AdminError::Assignment(why));
        if replicas.is_empty() {
            return refuse("The manual partition assignment includes an empty replica list.".to_owned());
        }
        for (at, replica) in replicas.iter().enumerate() {
            if image.brokers.get(*replica).is_none() {
                return refuse(format!(
                    "The manual partition assignment includes broker {replica}, but no such broker is registered."
                ));
            }
            if replicas[..at].contains(replica) {
                return refuse(format!(
                    "The manual partition assignment includes the broker {replica} more than once."
                ));
            }
        }
        let isr: Vec<BrokerId> =
            replicas.iter().filter(|replica| self.loads.contains_key(replica)).copied().collect();
        if isr.is_empty() {
            return refuse(format!(
                "All brokers specified in the manual partition assignment for partition {index} are fenced or in controlled shutdown."
            ));
        }
        Ok(self.partition(replicas.to_vec(), isr))
    }

    fn partition(&mut self, replicas: Vec<BrokerId>, isr: Vec<BrokerId>) -> Partition {
        Partition {
            directories: replicas.iter().map(|replica| self.emptiest_directory(*replica)).collect(),
            leader: isr.first().copied(),
            replicas,
            isr,
            removing_replicas: Vec::new(),
            adding_replicas: Vec::new(),
            recovery_state: RecoveryState::Recovered,
            leader_epoch: LeaderEpoch::ZERO,
            partition_epoch: 0,
            eligible_leaders: Vec::new(),
            last_known_eligible: Vec::new(),
        }
    }

    /// The directory with the fewest replicas; "not assigned" where the broker has none to offer.
    fn emptiest_directory(&mut self, broker: BrokerId) -> DirectoryId {
        let emptiest = self
            .loads
            .get_mut(&broker)
            .and_then(|of_broker| of_broker.iter_mut().min_by_key(|(_, load)| **load));
        emptiest.map_or(Uuid::ONE, |(directory, load)| {
            *load += 1;
            *directory
        })
    }
}
