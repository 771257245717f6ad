//! Who leads when this node has started.
//!
//! A replica may lead without loss if it is in sync, or, when none is, if it is eligible
//! (KIP-966) or the only one there is: Apache Kafka with eligible leaders on leaves a stopped
//! single node's partitions with no replica in sync.

use aplomb_model::{BrokerId, DirectoryId, PartitionIndex, TopicId};
use aplomb_protocol::MetadataRecord;
use aplomb_protocol::messages::PartitionChangeRecord;

use super::Controller;
use crate::metadata::{MetadataImage, Partition};

impl Controller {
    /// A new leader epoch for every partition that this node may lead, in a live directory, with
    /// itself as the leader. What it led in a directory that is not live has no leader. May be more
    /// records than [`super::MAX_RECORDS`]: they can be applied in several batches.
    pub fn take_leadership(&mut self, node: BrokerId) -> Vec<MetadataRecord> {
        let records = elections(self.image(), node, |_| true);
        let mut draft = self.draft();
        draft.push(records);
        self.take(draft)
    }
}

/// What changes in leaders when this node starts, where it comes to lead only partitions that are
/// `open` to it.
pub(super) fn elections(
    image: &MetadataImage,
    node: BrokerId,
    open: impl Fn(&Partition) -> bool,
) -> Vec<MetadataRecord> {
    let live = image.brokers.get(node).map_or(&[][..], |broker| &broker.directories);
    let partitions = image.topics.iter().flat_map(|topic| {
        topic.partitions.iter().map(move |(index, partition)| (topic.id, *index, partition))
    });
    let change = |(topic_id, index, partition): (TopicId, PartitionIndex, &Partition)| {
        let change = if !may_lead(partition, node, live) {
            resignation(partition, node)?
        } else if open(partition) {
            election(partition, node)
        } else {
            return None;
        };
        Some(PartitionChangeRecord { topic_id, partition_id: index.0, ..change }.into())
    };
    partitions.filter_map(change).collect()
}

fn may_lead(partition: &Partition, node: BrokerId, live: &[DirectoryId]) -> bool {
    let Some(directory) = partition.directory(node) else { return false };
    // Ids below 100 name no directory: the replica is wherever it is found.
    let is_here = u128::from_be_bytes(directory.0) < 100 || live.contains(&directory);
    let has_all = if partition.isr.is_empty() {
        partition.eligible_leaders.contains(&node) || partition.replicas == [node]
    } else {
        partition.isr.contains(&node)
    };
    is_here && has_all
}

fn election(partition: &Partition, node: BrokerId) -> PartitionChangeRecord {
    let mut change = PartitionChangeRecord { leader: node.0, ..Default::default() };
    if partition.isr.is_empty() {
        change.isr = Some(vec![node.0]);
        let others = partition.eligible_leaders.iter().filter(|id| **id != node).map(|id| id.0);
        let others: Vec<i32> = others.collect();
        change.eligible_leader_replicas = (others.len() < partition.eligible_leaders.len()).then_some(others);
        change.last_known_elr = (!partition.last_known_eligible.is_empty()).then(Vec::new);
    }
    change
}

fn resignation(partition: &Partition, node: BrokerId) -> Option<PartitionChangeRecord> {
    let change = PartitionChangeRecord { leader: -1, ..Default::default() };
    (partition.leader == Some(node)).then_some(change)
}

#[cfg(test)]
mod tests {
    use aplomb_model::Uuid;
    use aplomb_protocol::messages::PartitionRecord;

    use super::*;

    const NODE: BrokerId = BrokerId(1);

    fn partition(record: PartitionRecord) -> Partition {
        Partition::from_record(&PartitionRecord { leader: -1, directories: vec![], ..record })
    }

    fn elected(record: PartitionRecord) -> Option<Partition> {
        let mut partition = partition(record);
        may_lead(&partition, NODE, &[]).then(|| {
            let change = election(&partition, NODE);
            partition.change(&change);
            partition
        })
    }

    #[test]
    fn what_a_single_node_of_kafkas_left_is_led_again() {
        let left = PartitionRecord {
            replicas: vec![1],
            isr: vec![],
            eligible_leader_replicas: Some(vec![1]),
            ..Default::default()
        };
        let partition = elected(left).expect("it has all there is");
        assert_eq!((partition.leader, &partition.isr[..]), (Some(NODE), &[NODE][..]));
        assert!(partition.eligible_leaders.is_empty());

        let unclean = PartitionRecord {
            replicas: vec![1],
            isr: vec![],
            last_known_elr: Some(vec![1]),
            ..Default::default()
        };
        let partition = elected(unclean).expect("nobody else has anything");
        assert!(partition.last_known_eligible.is_empty() && partition.isr == [NODE]);
    }

    #[test]
    fn a_replica_that_may_lack_records_does_not_lead() {
        let of = |isr: &[i32], eligible: &[i32]| PartitionRecord {
            replicas: vec![1, 2],
            isr: isr.to_vec(),
            eligible_leader_replicas: Some(eligible.to_vec()),
            ..Default::default()
        };
        assert_eq!(elected(of(&[2], &[])), None);
        assert_eq!(elected(of(&[2], &[1])), None, "somebody is in sync");
        assert_eq!(elected(of(&[], &[2])), None);
        let partition = elected(of(&[], &[1, 2])).expect("eligible");
        assert_eq!((&partition.isr[..], &partition.eligible_leaders[..]), (&[NODE][..], &[BrokerId(2)][..]));
    }

    #[test]
    fn nobody_leads_in_a_directory_that_is_gone() {
        let gone = Uuid::from_u128(1000);
        let record = PartitionRecord { replicas: vec![1], isr: vec![1], leader: 1, ..Default::default() };
        let lost = Partition::from_record(&PartitionRecord { directories: vec![gone], ..record.clone() });
        assert!(!may_lead(&lost, NODE, &[]) && may_lead(&lost, NODE, &[gone]));
        assert_eq!(resignation(&lost, NODE).map(|change| change.leader), Some(-1));
        assert_eq!(resignation(&partition(record), NODE), None);
    }
}
