//! What the rooms of storage stand on while one of them works.

use aplomb_disk_api::DiskIndex;
use aplomb_model::TopicPartition;

use super::deletions::Deletions;
use super::disks::Disks;
use super::message::{CHECKPOINTS_SHARD, StorageEffect, StorageMessage};
use crate::calls::PartitionKey;
use crate::partition::{Effects, Partitions};
use crate::ports::Now;
use crate::view::View;

/// What the rooms of storage stand on while one of them works.
pub(super) struct Ground<'a> {
    pub(super) view: &'a View,
    pub(super) partitions: &'a mut Partitions,
    pub(super) disks: &'a mut Disks,
    pub(super) deletions: &'a mut Deletions,
    /// The partition whose segments compaction has in its hands.
    pub(super) compacted: Option<PartitionKey>,
    pub(super) now: Now,
    pub(super) fx: &'a mut Effects,
    pub(super) effects: &'a mut Vec<StorageEffect>,
}

impl Ground<'_> {
    /// Says something to the keeper of the checkpoint files.
    pub(super) fn tell_checkpoints(&mut self, message: StorageMessage) {
        self.effects.push(StorageEffect::Tell(CHECKPOINTS_SHARD, message));
    }

    /// The checkpoint files are to forget a deleted partition.
    pub(super) fn forget(&mut self, disk: DiskIndex, key: PartitionKey, name: TopicPartition) {
        self.tell_checkpoints(StorageMessage::Forget { disk, key, name });
    }
}
