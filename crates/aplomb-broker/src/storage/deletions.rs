//! What is deleted: files and directories that have got their last name, after a delay, and before
//! that the directories of partitions that are deleted.
//!
//! A deleted partition's directory is renamed when all writes to it are over, so that nothing is
//! written to a directory that has gone.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};

use aplomb_disk_api::{DiskCommand, DiskIndex, FileName};
use aplomb_log::layout::{PartitionDir, SegmentFile};
use aplomb_model::{Instant, TopicPartition, Uuid};

use super::disks::Disks;
use super::purpose::Purpose;
use crate::calls::PartitionKey;
use crate::partition::Partition;
use crate::ports::{Now, ShardId};

/// A name that is to be deleted.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: Instant,
    disk: DiskIndex,
    directory: bool,
    name: FileName,
}

/// What is to be deleted.
#[derive(Debug, Default)]
pub(super) struct Deletions {
    /// The next one first. Deletions are not cancelled.
    due: BinaryHeap<Reverse<Due>>,
    /// Partitions whose last sync is under way.
    last_syncs: HashMap<PartitionKey, Partition>,
}

impl Deletions {
    /// A name is to be deleted at a time.
    pub(super) fn delete_at(&mut self, at: Instant, disk: DiskIndex, name: FileName, directory: bool) {
        self.due.push(Reverse(Due { at, disk, directory, name }));
    }

    /// Where single files are to be deleted: directories of partitions, each with its disk.
    pub(super) fn directories(&self) -> BTreeSet<(DiskIndex, &str)> {
        let files = self.due.iter().filter(|Reverse(due)| !due.directory);
        files.filter_map(|Reverse(due)| Some((due.disk, due.name.as_str().rsplit_once('/')?.0))).collect()
    }

    pub(super) fn wake_at(&self) -> Option<Instant> {
        self.due.peek().map(|Reverse(due)| due.at)
    }

    /// Has the disks delete what is due.
    pub(super) fn poll(&mut self, disks: &mut Disks, now: Instant) {
        while let Some(Reverse(due)) = self.due.peek()
            && due.at <= now
        {
            let Some(Reverse(Due { disk, directory, name, .. })) = self.due.pop() else { return };
            let command = if directory {
                DiskCommand::DeleteDirectory { directory: name }
            } else {
                DiskCommand::DeleteFiles { files: vec![name] }
            };
            disks.submit(disk, command, Purpose::Chore, now);
        }
    }

    /// A partition is deleted. Whatever was written before the sync comes before it.
    pub(super) fn retire(&mut self, partition: Partition, disks: &mut Disks, now: Instant) {
        let (key, segments) = (partition.key(), partition.log().segments());
        let file = segments.file(SegmentFile::Log, segments.active().base);
        let sync = DiskCommand::Sync { files: vec![file] };
        disks.submit(partition.disk(), sync, Purpose::LastSync { key }, now);
        let before = self.last_syncs.insert(key, partition);
        assert!(before.is_none(), "a partition is deleted once");
    }

    /// All writes to a deleted partition are over: its directory is renamed.
    pub(super) fn on_last_sync(&mut self, key: PartitionKey, me: ShardId, disks: &mut Disks, now: Now) {
        let partition = self.last_syncs.remove(&key).expect("its last sync was under way");
        let from = FileName::new(partition.log().segments().directory());
        let deleted = PartitionDir::deleted(partition.name().clone(), unique(key, me, now));
        let to = FileName::new(deleted.name());
        let purpose = Purpose::DeleteLater {
            name: to.clone(),
            directory: true,
            after: partition.settings().file_delete_delay,
            of: Some((key, partition.name().clone())),
        };
        disks.submit(partition.disk(), DiskCommand::Rename { from, to }, purpose, now.instant);
    }

    /// The disk of a deleted partition is lost: nothing is renamed there. Gives its name.
    pub(super) fn give_up(&mut self, key: PartitionKey) -> TopicPartition {
        self.last_syncs.remove(&key).expect("its last sync was under way").name().clone()
    }
}

/// An id for the name of a directory that is to be deleted, or made for a future replica, unlike
/// any other: the same partition may be made and deleted again.
pub(super) fn unique(key: PartitionKey, me: ShardId, now: Now) -> Uuid {
    let topic = u128::from_be_bytes(key.topic.0).rotate_left(u32::from(me.0));
    let time = (u128::from(now.instant.as_nanos()) << 40) ^ now.wall.0.unsigned_abs() as u128;
    Uuid::from_u128(topic ^ time)
}
