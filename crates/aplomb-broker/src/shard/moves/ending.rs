//! How moves end: a directory that is not needed any more goes, and what waited for that goes on.

use aplomb_disk_api::{DiskCommand, DiskIndex, FileName};
use aplomb_log::layout::PartitionDir;
use aplomb_model::DirectoryId;

use super::{Move, Shard, Stage};
use crate::message::{CheckpointEntry, PartitionKey, ShardMessage};
use crate::ports::{Now, Output, ShardId};
use crate::shard::keeper::Written;

impl Shard {
    /// The directory gets the name of one that is to be deleted, and then the checkpoint files forget it.
    pub(super) fn step_out(
        &mut self,
        key: PartitionKey,
        m: &mut Move,
        now: Now,
        out: &mut Vec<Output>,
    ) -> bool {
        match &m.stage {
            Stage::Leave { disk } | Stage::Left { disk, .. } | Stage::Forget { disk, .. }
                if self.is_lost(*disk) =>
            {
                m.stage = Stage::Over;
            }
            Stage::Leave { disk } => {
                let disk = *disk;
                let Some(directory) = m.directory.take() else {
                    m.stage = Stage::Over;
                    return true;
                };
                let name = PartitionDir::deleted(m.name.clone(), self.unique(key, now)).name();
                let to = FileName::new(name);
                m.stage = Stage::Left { disk, name: to.clone() };
                let rename = DiskCommand::Rename { from: FileName::new(directory), to };
                self.ask(disk, rename, key, m, now);
            }
            Stage::Left { disk, name } => {
                let delay = self.partitions.get(&key).map(|partition| partition.settings.file_delete_delay);
                self.upkeep.doom(now.instant + delay.unwrap_or_default(), *disk, name.clone(), true);
                let disk = *disk;
                m.stage = Stage::Forget { disk, done: false };
                self.keep_or_ask(disk, key, None, now, out);
                return false;
            }
            Stage::Forget { done, .. } => {
                if !done {
                    return false;
                }
                m.stage = Stage::Over;
            }
            other => unreachable!("{other:?} is no end"),
        }
        true
    }

    /// It is over: what waited for it goes on.
    pub(super) fn end_move(&mut self, key: PartitionKey, m: Move, now: Now, out: &mut Vec<Output>) {
        if let Some(disk) = m.left {
            self.left(disk, key, m.name, now, out);
        } else if let Some(then) = m.then
            && self.partitions.get(&key).is_some_and(|partition| partition.disk != then)
            && !self.is_lost(then)
        {
            self.begin_move(key, then);
        }
    }

    /// Has the checkpoint files of a disk changed, here or where they are kept.
    pub(super) fn keep_or_ask(
        &mut self,
        disk: DiskIndex,
        key: PartitionKey,
        entry: Option<CheckpointEntry>,
        now: Now,
        out: &mut Vec<Output>,
    ) {
        if self.keeper.is_some() {
            self.keep_now(disk, key, entry, now, out);
        } else {
            out.push(Output::Send { to: ShardId(0), message: ShardMessage::Keep { disk, key, entry } });
        }
    }

    /// The checkpoint files of a disk are to say this, and the partition's shard is to know when they do.
    pub(in crate::shard) fn keep_now(
        &mut self,
        disk: DiskIndex,
        key: PartitionKey,
        entry: Option<CheckpointEntry>,
        now: Now,
        out: &mut Vec<Output>,
    ) {
        let is_lost = self.is_lost(disk);
        let Some(keeper) = &mut self.keeper else { return };
        keeper.keep(disk, key, entry, now.instant);
        if is_lost {
            let written = keeper.lose(disk);
            self.on_offsets_written(disk, written, out);
        }
    }

    /// A set of checkpoint files is written, or never will be.
    pub(in crate::shard) fn on_offsets_written(
        &mut self,
        disk: DiskIndex,
        written: Written,
        out: &mut Vec<Output>,
    ) {
        for key in written.kept {
            let to = key.owner(self.shards);
            if to == self.me {
                self.on_kept(disk, key);
            } else {
                out.push(Output::Send { to, message: ShardMessage::Kept { disk, key } });
            }
        }
        self.tell_gone(written.gone, out);
    }

    /// The checkpoint files say what they were to say.
    pub(in crate::shard) fn on_kept(&mut self, disk: DiskIndex, key: PartitionKey) {
        let Some(m) = self.moves.under_way.get_mut(&key) else { return };
        match &mut m.stage {
            Stage::Keep { done } if disk == m.to => *done = true,
            Stage::Forget { disk: of, done } if disk == *of => *done = true,
            _ => {}
        }
        m.rest = Some(aplomb_model::Instant::START);
    }

    /// Tells the controller where partitions are.
    pub(in crate::shard) fn tell_assignment(
        &mut self,
        found: &[(PartitionKey, DirectoryId)],
        now: Now,
        out: &mut Vec<Output>,
    ) {
        if self.controller.is_some() {
            return self.assign(found, now, out);
        }
        for (key, directory) in found {
            let message = ShardMessage::Assign { key: *key, directory: *directory };
            out.push(Output::Send { to: ShardId(0), message });
        }
    }
}
