//! What partitions want of their disks, and the rooms that make and delete partitions.
//!
//! What always holds: it is noted or handed on, never waited for; what comes of it comes back as a
//! completion.

use aplomb_disk_api::{DiskCommand, DiskIndex, DiskJob, FileName};
use aplomb_log::layout::PartitionDir;
use aplomb_model::{Offset, TopicPartition};

use super::checkpoints::CheckpointEntry;
use super::deletions::unique;
use super::{Purpose, Storage, StorageEffect};
use crate::calls::PartitionKey;
use crate::figures::Count;
use crate::partition::{ColdWish, Effects, Partition};
use crate::ports::{Event, Now, Severity};
use crate::view::View;

impl Storage {
    /// A partition has something for its disk.
    pub(crate) fn on_dirty(&mut self, partition: &Partition, now: Now) {
        let within = partition.settings().flush_within;
        self.disks.get_mut(partition.disk()).on_dirty(partition.key(), within, now.instant);
        self.consider(partition);
    }

    /// A partition may have something to compact.
    pub(crate) fn consider(&mut self, partition: &Partition) {
        if partition.log().config().compacts {
            self.compaction.watch(partition.key());
        }
    }

    pub(crate) fn on_appended(&mut self, disk: DiskIndex, bytes: u64) {
        self.disks.get_mut(disk).on_bytes(bytes);
    }

    /// An acknowledgement waits for the disk.
    pub(crate) fn hurry(&mut self, disk: DiskIndex, now: Now) {
        self.disks.get_mut(disk).hurry(now.instant);
    }

    /// Only the disk can answer.
    pub(crate) fn begin_cold(
        &mut self,
        wish: ColdWish,
        partition: &mut Partition,
        now: Now,
        fx: &mut Effects,
    ) {
        if let Some((disk, command, number)) = self.cold.begin(wish, partition, now.instant, fx) {
            self.disks.submit(disk, command, Purpose::Cold(number), now.instant);
        }
    }

    /// A place in a segment does not hold what it should.
    pub(crate) fn on_damage(&mut self, partition: &Partition, segment: Offset, position: u64) {
        partition.figures().add(Count::FailedFetchRequests, 1);
        let name = partition.name();
        self.effects.push(StorageEffect::Event(Event {
            severity: Severity::Error,
            room: "broker/fetch",
            text: format!("{name}: segment {segment} holds no batch at byte {position}"),
        }));
    }

    /// The log start offset of a partition was moved by a client: the checkpoint file says so soon.
    pub(crate) fn on_trimmed(&mut self, partition: &Partition) {
        let change = (partition.key(), Some(CheckpointEntry::of(partition)));
        self.tell_changes(partition.disk(), vec![change]);
        self.retention.look_at(partition.disk(), partition.key());
    }

    /// Retention is to look at a partition soon.
    pub(crate) fn look_at(&mut self, partition: &Partition) {
        self.retention.look_at(partition.disk(), partition.key());
    }

    /// A partition is deleted: it is not in the table any more.
    pub(crate) fn retire(&mut self, partition: Partition, now: Now) {
        let (disk, key) = (partition.disk(), partition.key());
        self.disks.get_mut(disk).forget(key);
        self.future.on_deleted(key);
        if partition.is_held() {
            // Nothing of it was ever written.
            return self.on_directory_renamed(disk, key, partition.name().clone());
        }
        self.deletions.retire(partition, &mut self.disks, now.instant);
        self.tell_changes(disk, vec![(key, None)]);
    }

    /// A partition is deleted that this shard owned and did not have.
    pub(crate) fn retire_absent(&mut self, key: PartitionKey, name: TopicPartition) {
        self.future.on_deleted(key);
        self.on_directory_renamed(DiskIndex(0), key, name);
    }

    /// A name that was found at the start is to be deleted.
    pub(crate) fn delete_now(&mut self, disk: DiskIndex, name: FileName, now: Now) {
        self.deletions.delete_at(now.instant, disk, name, true);
    }

    /// A log is loaded on a disk's own threads.
    pub(crate) fn load(&mut self, from: DiskIndex, job: Box<dyn DiskJob>, purpose: Purpose, now: Now) {
        self.disks.get_mut(from).submit_job(job, purpose, now.instant);
    }

    /// A partition was loaded: the checkpoint files say how far it is.
    pub(crate) fn on_loaded(&mut self, partition: &Partition) {
        let change = (partition.key(), Some(CheckpointEntry::of(partition)));
        self.tell_changes(partition.disk(), vec![change]);
        self.consider(partition);
    }

    /// A directory of a partition's name is not its log: another one reaches further.
    pub(crate) fn supersede(
        &mut self,
        disk: DiskIndex,
        directory: FileName,
        by: &Partition,
        view: &View,
        now: Now,
    ) {
        let deleted = PartitionDir::deleted(by.name().clone(), unique(by.key(), view.me(), now));
        let name = FileName::new(deleted.name());
        let rename = DiskCommand::Rename { from: directory, to: name.clone() };
        let after = by.settings().file_delete_delay;
        let purpose = Purpose::DeleteLater { name, directory: true, after, of: None };
        self.disks.submit(disk, rename, purpose, now.instant);
        self.tell_changes(disk, vec![(by.key(), None)]);
    }

    /// Hands a command to a disk, for a room that is none of storage's.
    pub(crate) fn submit(&mut self, to: DiskIndex, command: DiskCommand, purpose: Purpose, now: Now) {
        self.disks.submit(to, command, purpose, now.instant);
    }
}
