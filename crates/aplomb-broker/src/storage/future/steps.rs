//! The way of a move, before the copy begins and after the log has changed disks.

use std::time::Duration;

use aplomb_disk_api::{DiskCommand, DiskIndex, FileName, Lane};
use aplomb_log::layout::{PartitionDir, SegmentFile};
use aplomb_model::Offset;

use super::stages::{CopyStage, Copying, Ending, Move, Onward, Settling, Stage};
use super::{AT_ONCE, Others, RETRY};
use crate::calls::PartitionKey;
use crate::ports::Severity;
use crate::storage::deletions::unique;
use crate::storage::{Ground, StorageEffect, partition_metadata};

/// The metadata is told again after this time.
const ASSIGN_AGAIN: Duration = Duration::from_secs(5);

impl Move {
    /// Does one thing. `false`: something else has to happen first.
    pub(super) fn step(&mut self, key: PartitionKey, others: &Others<'_>, ground: &mut Ground<'_>) -> bool {
        let next = match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Settling(settling) => self.settle(settling, key, ground),
            Stage::Ending(ending) => self.step_out(ending, key, ground),
            before => self.step_before(before, key, others, ground),
        };
        let (stage, goes_on) = match next {
            Onward::Now(stage) => (stage, true),
            Onward::Later(stage) => (stage, false),
        };
        self.stage = stage;
        goes_on
    }

    fn step_before(
        &mut self,
        stage: Stage,
        key: PartitionKey,
        others: &Others<'_>,
        ground: &mut Ground<'_>,
    ) -> Onward {
        if ground.disks.is_lost(self.to) {
            self.tell_lost(self.to, ground);
            return Onward::Now(Stage::Over);
        }
        if self.is_given_up() {
            let disk = self.to;
            let leave = |directory| Stage::Ending(Ending::Leave { disk, directory });
            return Onward::Now(stage.into_copys_directory().map_or(Stage::Over, leave));
        }
        if let Stage::Stranded { .. } = stage {
            return Onward::Later(stage);
        }
        if ground.disks.is_lost(self.from) {
            self.tell_lost(self.from, ground);
            return Onward::Now(Stage::Stranded { directory: stage.into_copys_directory() });
        }
        match stage {
            Stage::Claim => self.claim(key, ground),
            Stage::Queue { directory } => self.begin_copy(directory, key, others, ground),
            Stage::Copying(copying) => self.copy(copying, key, others, ground),
            Stage::Stranded { .. } | Stage::Settling(_) | Stage::Ending(_) | Stage::Over => {
                unreachable!("{stage:?} has no step before the change")
            }
        }
    }

    fn tell_lost(&self, disk: DiskIndex, ground: &mut Ground<'_>) {
        let path = ground.disks.get(disk).path();
        let text = format!("does not move on: log directory {path} is offline");
        self.tell(Severity::Warn, &text, ground);
    }

    fn claim(&mut self, key: PartitionKey, ground: &mut Ground<'_>) -> Onward {
        let partition = ground.partitions.get_mut(key).expect("a partition that is gone gives its move up");
        if ground.compacted == Some(key) {
            self.rest = Some(ground.now.instant + RETRY);
            return Onward::Later(Stage::Claim);
        }
        if partition.is_held() || !partition.log().has_files() {
            // A directory of its own comes first: a copy of nothing would be all that a crash
            // leaves.
            partition.hurry_files(ground.fx);
            self.rest = Some(ground.now.instant + RETRY);
            return Onward::Later(Stage::Claim);
        }
        let unique = unique(key, ground.view.me(), ground.now);
        let directory = PartitionDir::future(self.name.clone(), unique).name();
        let files = vec![partition_metadata(&directory, key.topic)];
        self.submit(self.to, DiskCommand::Publish { files, lane: Lane::Write }, key, ground);
        Onward::Now(Stage::Queue { directory })
    }

    fn begin_copy(
        &mut self,
        directory: String,
        key: PartitionKey,
        others: &Others<'_>,
        ground: &mut Ground<'_>,
    ) -> Onward {
        if others.copying >= AT_ONCE {
            self.rest = Some(ground.now.instant + RETRY);
            return Onward::Later(Stage::Queue { directory });
        }
        let partition = ground.partitions.get(key).expect("a partition that is gone gives its move up");
        let copy = partition.log().begin_future(&directory);
        let path = |disk: DiskIndex| ground.disks.get(disk).path();
        let text = format!("moves from {} to {}", path(self.from), path(self.to));
        self.tell(Severity::Info, &text, ground);
        let copying = Copying { copy, recorded: None, unsynced: 0, stage: CopyStage::Grow };
        Onward::Now(Stage::Copying(Box::new(copying)))
    }

    /// What follows the change.
    fn settle(&mut self, settling: Settling, key: PartitionKey, ground: &mut Ground<'_>) -> Onward {
        let now = ground.now.instant;
        let on = |settling| Onward::Now(Stage::Settling(settling));
        let wait = |settling| Onward::Later(Stage::Settling(settling));
        let is_deleted = self.deletion.is_some();
        match settling {
            Settling::Sync => on(Settling::Assign { asked: None }),
            Settling::Assign { asked } => {
                if !is_deleted && !is_assigned(key, self.to, ground) {
                    if is_metadata_lost(ground) {
                        return on(Settling::Parked); // the next start sees which one is the log
                    }
                    if asked.is_some_and(|asked| now < asked + ASSIGN_AGAIN) {
                        return wait(settling);
                    }
                    let directory = ground.disks.get(self.to).directory();
                    ground.effects.push(StorageEffect::Assign(vec![(key, directory)]));
                    return wait(Settling::Assign { asked: Some(now) });
                }
                // With the new disk lost, the old files may have more than is there.
                let keeps = ground.disks.is_lost(self.to) && !is_deleted;
                on(if keeps { Settling::Parked } else { Settling::Drain })
            }
            Settling::Parked if is_deleted => on(Settling::Drain),
            Settling::Parked => wait(settling),
            Settling::Drain if ground.disks.is_lost(self.from) => Onward::Now(Stage::Over),
            Settling::Drain if ground.disks.get(self.from).concerns(key) => wait(settling),
            Settling::Drain => {
                // Behind the writes that were given before the change.
                let log = SegmentFile::Log.name(Offset::ZERO);
                let file = FileName::new(format!("{}/{log}", self.serving()));
                self.submit(self.from, DiskCommand::Sync { files: vec![file] }, key, ground);
                on(Settling::Fence)
            }
            Settling::Fence => {
                let directory = self.serving();
                Onward::Now(Stage::Ending(Ending::Leave { disk: self.from, directory }))
            }
        }
    }
}

/// Whether the metadata says that a partition is on a disk, as far as it can say so.
fn is_assigned(key: PartitionKey, disk: DiskIndex, ground: &Ground<'_>) -> bool {
    let directory = ground.disks.get(disk).directory();
    let image = ground.view.image();
    let partition = image.topics.partition(key.topic, key.partition);
    !image.features.metadata_version().has_directories()
        || partition.is_none_or(|known| known.directory(ground.view.node()) == Some(directory))
}

fn is_metadata_lost(ground: &Ground<'_>) -> bool {
    let home = &ground.view.config().storage.metadata_log_dir;
    ground.disks.iter().any(|disk| disk.is_lost() && disk.path() == *home)
}
