//! Partitions that are gone, and the next ones of the same names.
//!
//! A topic may be made again at once under the name that another had. The directory of the new partition has the same name, and so have its lines in
//! the checkpoint files: until the old directory has another name and the files have forgotten the old partition, nothing of the new one
//! is written to any disk. It serves from memory all the while. Every shard knows of every deletion by the image; that one is over is told
//! by the shard with the checkpoint files.

use std::collections::{BTreeMap, BTreeSet};

use aplomb_disk_api::DiskIndex;
use aplomb_model::TopicPartition;

use super::Shard;
use crate::message::{PartitionKey, ShardMessage};
use crate::ports::{Now, Output, ShardId};

/// Names that are not free yet.
#[derive(Debug, Default)]
pub(super) struct Leaving {
    names: BTreeMap<TopicPartition, BTreeSet<PartitionKey>>,
    /// Partitions of which the end was heard before the deletion.
    early: BTreeSet<PartitionKey>,
    /// New partitions that wait for their names.
    held: BTreeMap<TopicPartition, PartitionKey>,
}

impl Leaving {
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
    fn end(&mut self, name: &TopicPartition, key: PartitionKey) -> Option<PartitionKey> {
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

impl Shard {
    /// The directory of a deleted partition has another name, or there never was one.
    pub(super) fn left(
        &mut self,
        disk: DiskIndex,
        key: PartitionKey,
        name: TopicPartition,
        now: Now,
        out: &mut Vec<Output>,
    ) {
        if self.moves.hold_back(key, disk) {
            return; // there is another directory of that name, or of its future
        }
        if self.keeper.is_some() {
            self.forget(disk, key, name, now, out);
        } else {
            out.push(Output::Send { to: ShardId(0), message: ShardMessage::Left { disk, key, name } });
        }
    }

    /// The checkpoint files are to forget a partition.
    pub(super) fn forget(
        &mut self,
        disk: DiskIndex,
        key: PartitionKey,
        name: TopicPartition,
        now: Now,
        out: &mut Vec<Output>,
    ) {
        if self.disks[usize::from(disk.0)].lost.is_some() {
            return self.tell_gone(vec![(key, name)], out); // nothing more is written there
        }
        if let Some(keeper) = &mut self.keeper {
            keeper.forget(disk, key, name, now.instant);
        }
    }

    /// Tells all shards that names are free.
    pub(super) fn tell_gone(&mut self, gone: Vec<(PartitionKey, TopicPartition)>, out: &mut Vec<Output>) {
        for (key, name) in gone {
            for other in (0..self.shards).map(ShardId).filter(|other| *other != self.me) {
                out.push(Output::Send { to: other, message: ShardMessage::Gone { key, name: name.clone() } });
            }
            self.on_gone(key, &name);
        }
    }

    /// A name is free.
    pub(super) fn on_gone(&mut self, key: PartitionKey, name: &TopicPartition) {
        let Some(next) = self.leaving.end(name, key) else { return };
        if let Some(partition) = self.partitions.get_mut(&next) {
            partition.release(&mut self.fx);
        }
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
        let mut leaving = Leaving::default();
        assert!(!leaving.hold(&name, key(10)));
        leaving.begin(name.clone(), key(10));
        assert!(leaving.hold(&name, key(11)));
        leaving.begin(name.clone(), key(11));
        assert!(leaving.hold(&name, key(12)));
        assert_eq!(leaving.end(&name, key(10)), None);
        assert_eq!(leaving.end(&name, key(11)), Some(key(12)));
        assert!(!leaving.hold(&name, key(13)));
    }

    #[test]
    fn the_end_may_be_heard_before_the_deletion() {
        let name = TopicPartition::new("orders", 0);
        let mut leaving = Leaving::default();
        assert_eq!(leaving.end(&name, key(10)), None);
        leaving.begin(name.clone(), key(10));
        assert!(!leaving.hold(&name, key(11)));
    }
}
