//! Names of partitions that are deleted, until they are free for the next ones.
//!
//! A topic may be made again at once under the name that another had. The directory of the new
//! partition has the same name, and so have its lines in the checkpoint files: until the old
//! directory has another name and the files have forgotten the old partition, nothing of the new
//! one is written to any disk. It serves from memory meanwhile. Every shard knows of every deletion
//! by the image; that a name is free is told by the shard with the checkpoint files.

use std::collections::{BTreeMap, BTreeSet};

use aplomb_model::TopicPartition;

use crate::calls::PartitionKey;

/// Names that are not free yet.
#[derive(Debug, Default)]
pub(super) struct DeletedNames {
    names: BTreeMap<TopicPartition, BTreeSet<PartitionKey>>,
    /// Partitions of which the end was heard before the deletion.
    early: BTreeSet<PartitionKey>,
    /// New partitions that wait for their names.
    held: BTreeMap<TopicPartition, PartitionKey>,
}

impl DeletedNames {
    /// A partition is deleted; its name is not free.
    pub(super) fn begin(&mut self, name: TopicPartition, key: PartitionKey) {
        self.held.remove(&name);
        if !self.early.remove(&key) {
            self.names.entry(name).or_default().insert(key);
        }
    }

    /// Whether all names are free.
    pub(super) fn is_over(&self) -> bool {
        self.names.is_empty()
    }

    /// A new partition of this name; whether it has to wait.
    pub(super) fn hold(&mut self, name: &TopicPartition, key: PartitionKey) -> bool {
        let waits = self.names.contains_key(name);
        if waits {
            self.held.insert(name.clone(), key);
        }
        waits
    }

    /// A deletion is over. Gives the partition that waited for the name, if that is free now.
    pub(super) fn end(&mut self, name: &TopicPartition, key: PartitionKey) -> Option<PartitionKey> {
        let Some(keys) = self.names.get_mut(name).filter(|keys| keys.contains(&key)) else {
            self.early.insert(key);
            return None;
        };
        keys.remove(&key);
        if !keys.is_empty() {
            return None;
        }
        self.names.remove(name);
        self.held.remove(name)
    }
}

#[cfg(test)]
mod tests {
    use aplomb_model::{PartitionIndex, Uuid};

    use super::*;

    fn key(topic: u128) -> PartitionKey {
        PartitionKey { topic: Uuid::from_u128(topic), partition: PartitionIndex(0) }
    }

    #[test]
    fn a_name_is_free_when_all_that_had_it_are_gone() {
        let name = TopicPartition::new("orders", 0);
        let mut names = DeletedNames::default();
        assert!(!names.hold(&name, key(10)));
        names.begin(name.clone(), key(10));
        assert!(names.hold(&name, key(11)));
        names.begin(name.clone(), key(11));
        assert!(names.hold(&name, key(12)));
        assert_eq!(names.end(&name, key(10)), None);
        assert_eq!(names.end(&name, key(11)), Some(key(12)));
        assert!(!names.hold(&name, key(13)));
    }

    #[test]
    fn the_end_may_be_heard_before_the_deletion() {
        let name = TopicPartition::new("orders", 0);
        let mut names = DeletedNames::default();
        assert_eq!(names.end(&name, key(10)), None);
        names.begin(name.clone(), key(10));
        assert!(!names.hold(&name, key(11)));
    }
}
