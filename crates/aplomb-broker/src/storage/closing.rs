//! The end of storage: a last checkpoint makes everything durable, then each directory that was
//! closed cleanly says so.

use aplomb_disk_api::{DiskCommand, DiskIndex, Lane, SmallFile};

use super::checkpoints::CheckpointEntry;
use super::{Purpose, ShardDisk, Storage};
use crate::partition::{Effects, Partitions};
use crate::ports::Now;

impl Storage {
    /// The broker stops: future replicas stay as they are, and no more logs are loaded.
    pub(crate) fn begin_stop(&mut self) {
        self.stops = true;
        // A start that is cut short: what is loaded is closed, and the rest stays as it is.
        self.disks.iter_mut().for_each(ShardDisk::drop_waiting_jobs);
    }

    /// A last checkpoint makes everything durable. Nothing is appended any more.
    pub(crate) fn close(&mut self, partitions: &mut Partitions, now: Now, fx: &mut Effects) {
        self.closes = true;
        for key in partitions.keys() {
            let partition = partitions.get_mut(key).expect("it is in the table");
            assert!(!partition.has_waiting_appends(), "{key:?} is closed, and appends wait at it");
            partition.close_indexes(fx);
        }
        for key in std::mem::take(&mut fx.dirty) {
            let partition = partitions.get(key).expect("it is in the table");
            self.on_dirty(partition, now);
        }
        for disk in self.disks.iter_mut() {
            disk.hurry_checkpoint(now.instant);
        }
    }

    /// Whether the disks that are left have nothing to do.
    pub(crate) fn is_idle(&self) -> bool {
        self.disks.iter().all(|disk| disk.is_lost() || disk.is_idle())
    }

    /// Gives the memory of all that is durable back, tells the keeper of the checkpoint files, and
    /// says for each disk whether everything on it is durable. On `unloaded` disks there are logs
    /// that were not loaded.
    pub(crate) fn finish(&mut self, partitions: &mut Partitions, unloaded: &[DiskIndex]) -> Vec<bool> {
        assert!(self.is_idle(), "the last checkpoint is over");
        let mut changes = vec![Vec::new(); self.disks.len()];
        let mut clean: Vec<bool> = self.disks.iter().map(|disk| !disk.is_lost()).collect();
        for disk in unloaded {
            clean[usize::from(disk.0)] = false;
        }
        for key in partitions.keys() {
            let partition = partitions.get_mut(key).expect("it is in the table");
            let (disk, end) = (usize::from(partition.disk().0), partition.log().end());
            if partition.log().durable_end() < end {
                clean[disk] = false;
                continue;
            }
            // Nothing of it is only in memory: the next start need not look for it there.
            partition.release_memory();
            let entry = CheckpointEntry { recovery_point: end, ..CheckpointEntry::of(partition) };
            changes[disk].push((key, Some(entry)));
        }
        for (disk, changes) in changes.into_iter().enumerate() {
            self.tell_changes(DiskIndex(disk as u16), changes);
        }
        clean
    }

    /// Writes the last checkpoint files and, where everything is closed cleanly, the marker that
    /// says so. How many disks will say that it is written.
    pub(crate) fn write_markers(&mut self, clean: &[bool], marker: &SmallFile, now: Now) -> usize {
        let checkpoints = self.checkpoints.as_ref().expect("the shard that keeps them closes last");
        let mut count = 0;
        for disk in self.disks.iter_mut().filter(|disk| !disk.is_lost()) {
            let mut files = checkpoints.files(disk.index());
            if clean[usize::from(disk.index().0)] {
                files.push(marker.clone());
            }
            let command = DiskCommand::Publish { files, lane: Lane::Housekeeping };
            disk.submit(command, Purpose::CleanShutdownMarker, now.instant);
            count += 1;
        }
        count
    }
}
