//! How moves end: a directory that is not needed any more goes.

use aplomb_disk_api::{DiskCommand, FileName};
use aplomb_log::layout::PartitionDir;

use super::{Move, Stage};
use crate::calls::PartitionKey;
use crate::storage::deletions::unique;
use crate::storage::{Ground, StorageMessage};

impl Move {
    /// The directory gets the name of one that is to be deleted, and then the checkpoint files
    /// forget it.
    pub(super) fn step_out(&mut self, key: PartitionKey, ground: &mut Ground<'_>) -> bool {
        match &self.stage {
            Stage::Leave { disk } | Stage::Left { disk, .. } | Stage::Forget { disk, .. }
                if ground.disks.is_lost(*disk) =>
            {
                self.stage = Stage::Over;
            }
            Stage::Leave { disk } => {
                let disk = *disk;
                let Some(directory) = self.directory.take() else {
                    self.stage = Stage::Over;
                    return true;
                };
                let unique = unique(key, ground.view.me(), ground.now);
                let to = FileName::new(PartitionDir::deleted(self.name.clone(), unique).name());
                self.stage = Stage::Left { disk, name: to.clone() };
                let rename = DiskCommand::Rename { from: FileName::new(directory), to };
                self.submit(disk, rename, key, ground);
            }
            Stage::Left { disk, name } => {
                let disk = *disk;
                let delay = ground.partitions.get(key).map(|p| p.settings().file_delete_delay);
                let at = ground.now.instant + delay.unwrap_or_default();
                ground.deletions.delete_at(at, disk, name.clone(), true);
                self.stage = Stage::Forget { disk, done: false };
                ground.tell_checkpoints(StorageMessage::RecordNow { disk, key, entry: None });
                return false;
            }
            Stage::Forget { done, .. } => {
                if !done {
                    return false;
                }
                self.stage = Stage::Over;
            }
            other => unreachable!("{other:?} is no end"),
        }
        true
    }
}
