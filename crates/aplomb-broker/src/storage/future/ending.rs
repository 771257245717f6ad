//! How moves end: a directory that is not needed any more goes.

use aplomb_disk_api::{DiskCommand, FileName};
use aplomb_log::layout::PartitionDir;

use super::stages::{Ending, Move, Onward, Stage};
use crate::calls::PartitionKey;
use crate::storage::deletions::unique;
use crate::storage::{Ground, StorageMessage};

impl Move {
    /// The directory gets the name of one that is to be deleted, and then the checkpoint files
    /// forget it.
    pub(super) fn step_out(&mut self, ending: Ending, key: PartitionKey, ground: &mut Ground<'_>) -> Onward {
        let (Ending::Leave { disk, .. } | Ending::Left { disk, .. } | Ending::Forget { disk, .. }) = ending;
        if ground.disks.is_lost(disk) {
            return Onward::Now(Stage::Over);
        }
        match ending {
            Ending::Leave { directory, .. } => {
                let unique = unique(key, ground.view.me(), ground.now);
                let name = FileName::new(PartitionDir::deleted(self.name.clone(), unique).name());
                let rename = DiskCommand::Rename { from: FileName::new(directory), to: name.clone() };
                self.submit(disk, rename, key, ground);
                Onward::Now(Stage::Ending(Ending::Left { disk, name }))
            }
            Ending::Left { name, .. } => {
                let delay = ground.partitions.get(key).map(|p| p.settings().file_delete_delay);
                let at = ground.now.instant + delay.unwrap_or_default();
                ground.deletions.delete_at(at, disk, name, true);
                ground.tell_checkpoints(StorageMessage::RecordNow { disk, key, entry: None });
                Onward::Later(Stage::Ending(Ending::Forget { disk, done: false }))
            }
            Ending::Forget { done: true, .. } => Onward::Now(Stage::Over),
            Ending::Forget { done: false, .. } => Onward::Later(Stage::Ending(ending)),
        }
    }
}
