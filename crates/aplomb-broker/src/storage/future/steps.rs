//! The steps of a move, from the first file of the copy to the change and what settles it.

use std::time::Duration;

use aplomb_disk_api::{DiskCommand, DiskIndex, FileName, Lane, ReadPattern};
use aplomb_log::future::{FutureLog, FutureStep};
use aplomb_log::layout::{PartitionDir, SegmentFile};
use aplomb_model::Offset;

use super::{AT_ONCE, Move, Others, Stage};
use crate::calls::PartitionKey;
use crate::ports::{Event, Severity};
use crate::storage::checkpoints::CheckpointEntry;
use crate::storage::deletions::unique;
use crate::storage::purpose::Purpose;
use crate::storage::{Ground, StorageEffect, StorageMessage, partition_metadata};

/// So much is copied at a time.
const STEP_BYTES: u32 = 1 << 20;
/// After so much the disk is asked to sync, so that no large sync holds up those of others.
const SYNC_BYTES: u64 = 16 << 20;
/// So much of a snapshot is read at a time.
const SNAPSHOT_BYTES: u32 = 1 << 20;
/// How soon something is tried again that found no memory, or no end.
const RETRY: Duration = Duration::from_millis(5);
/// The metadata is told again after this time.
const ASSIGN_AGAIN: Duration = Duration::from_secs(5);

impl Move {
    /// Does one thing. `false`: something else has to happen first.
    pub(super) fn step(&mut self, key: PartitionKey, others: &Others<'_>, ground: &mut Ground<'_>) -> bool {
        if matches!(self.stage, Stage::Leave { .. } | Stage::Left { .. } | Stage::Forget { .. }) {
            return self.step_out(key, ground);
        }
        if self.changed {
            return self.step_after(key, ground);
        }
        if ground.disks.is_lost(self.to) {
            self.tell_lost(self.to, ground);
            self.copy = None;
            self.stage = Stage::Over;
            return true;
        }
        if self.cancelled {
            self.copy = None;
            self.stage = if self.directory.is_some() { Stage::Leave { disk: self.to } } else { Stage::Over };
            return true;
        }
        if matches!(self.stage, Stage::Parked) {
            return false;
        }
        if ground.disks.is_lost(self.from) {
            self.tell_lost(self.from, ground);
            self.copy = None;
            self.stage = Stage::Parked; // the partition is offline, too
            return true;
        }
        match &self.stage {
            Stage::Claim => self.claim(key, ground),
            Stage::Queue => self.begin_copy(key, others, ground),
            Stage::Copy => self.copy(key, others, ground),
            Stage::Read => self.take_read(key, others, ground),
            Stage::Snapshots { .. } => self.copy_snapshots(key, ground),
            Stage::State | Stage::Record { .. } => self.record_state(key, ground),
            Stage::Name => {
                self.stage = Stage::Copy;
                true
            }
            other => unreachable!("{other:?} comes after the change"),
        }
    }

    fn tell_lost(&self, disk: DiskIndex, ground: &mut Ground<'_>) {
        let path = ground.disks.get(disk).path();
        let text = format!("does not move on: log directory {path} is offline");
        self.tell(Severity::Warn, &text, ground);
    }

    /// Writes a line about the move.
    fn tell(&self, severity: Severity, text: &str, ground: &mut Ground<'_>) {
        let text = format!("{} {text}", self.name);
        ground.effects.push(StorageEffect::Event(Event { severity, room: "broker/moves", text }));
    }

    fn claim(&mut self, key: PartitionKey, ground: &mut Ground<'_>) -> bool {
        let Some(partition) = ground.partitions.get_mut(key) else { return false };
        if partition.is_held() || !partition.log().has_files() {
            // A directory of its own comes first: a copy of nothing would be all that a crash
            // leaves.
            partition.hurry_files(ground.fx);
            self.rest = Some(ground.now.instant + RETRY);
            return false;
        }
        let unique = unique(key, ground.view.me(), ground.now);
        let directory = PartitionDir::future(self.name.clone(), unique).name();
        let files = vec![partition_metadata(&directory, key.topic)];
        self.submit(self.to, DiskCommand::Publish { files, lane: Lane::Write }, key, ground);
        self.directory = Some(directory);
        self.stage = Stage::Queue;
        true
    }

    fn begin_copy(&mut self, key: PartitionKey, others: &Others<'_>, ground: &mut Ground<'_>) -> bool {
        let (Some(partition), Some(directory)) = (ground.partitions.get(key), &self.directory) else {
            return false;
        };
        if others.copying >= AT_ONCE {
            self.rest = Some(ground.now.instant + RETRY);
            return false;
        }
        self.copy = Some(Box::new(partition.log().begin_future(directory)));
        self.stage = Stage::Copy;
        let path = |disk: DiskIndex| ground.disks.get(disk).path();
        let text = format!("moves from {} to {}", path(self.from), path(self.to));
        self.tell(Severity::Info, &text, ground);
        true
    }

    /// The next piece, or the change if that can be.
    fn copy(&mut self, key: PartitionKey, others: &Others<'_>, ground: &mut Ground<'_>) -> bool {
        let rate = ground.view.config().storage.move_rate;
        if let (Some(_), Err(later)) = (rate, others.rate.check(ground.now.instant)) {
            self.rest = Some(later);
            return false;
        }
        let named = self.is_named();
        let (Some(partition), Some(mut copy)) = (ground.partitions.get(key), self.copy.take()) else {
            return false;
        };
        let log = partition.log();
        let is_close = copy.is_close_to(log);
        if self.unsynced >= SYNC_BYTES || (named && is_close && copy.owes_closed()) {
            self.unsynced = 0;
            let files = copy.take_sync();
            self.copy = Some(copy);
            self.submit(self.to, DiskCommand::Sync { files }, key, ground);
            return true;
        }
        if is_close && !named {
            if let Some(state) = copy.state(log) {
                let files = vec![state.epochs.clone()];
                self.copy = Some(copy);
                self.submit(self.to, DiskCommand::Publish { files, lane: Lane::Housekeeping }, key, ground);
                self.stage = Stage::Snapshots { state: Box::new(state), begun: Vec::new(), asked: false };
                return true;
            }
        } else if is_close {
            let start = CheckpointEntry::of(partition).log_start;
            if self.recorded.as_ref().is_none_or(|recorded| recorded.log_start != start) {
                self.copy = Some(copy);
                self.recorded = None;
                self.stage = Stage::Record { done: false };
                return true;
            }
            match self.change(key, copy, ground) {
                None => return true,
                Some(back) => copy = back,
            }
        }
        let Some(partition) = ground.partitions.get(key) else { return false };
        let quarter = rate.map_or(u64::MAX, |rate| rate / 4);
        let most = STEP_BYTES.min(u32::try_from(quarter).unwrap_or(u32::MAX)).max(4096);
        let Some(mut loan) = partition.log().tail().share().reading().take(most as usize) else {
            self.copy = Some(copy);
            self.rest = Some(ground.now.instant + RETRY);
            return false;
        };
        let step = copy.step(partition.log(), most);
        self.copy = Some(copy);
        match step {
            Ok(FutureStep::Read(command)) => {
                if let DiskCommand::Read { len, .. } = &command {
                    loan.resize(*len as usize);
                }
                self.loan = Some(loan);
                self.read = None;
                self.stage = Stage::Read;
                self.submit(self.from, command, key, ground);
            }
            Ok(FutureStep::Write(writes)) => self.write_all(writes, key, others, ground),
            Ok(FutureStep::CaughtUp) => {
                self.rest = Some(ground.now.instant + RETRY);
                return false;
            }
            Err(damaged) => {
                self.tell(Severity::Error, &format!("cannot be moved: {damaged}"), ground);
                self.cancelled = true;
            }
        }
        true
    }

    /// The source has answered.
    fn take_read(&mut self, key: PartitionKey, others: &Others<'_>, ground: &mut Ground<'_>) -> bool {
        self.stage = Stage::Copy;
        let (Some(partition), Some(copy)) = (ground.partitions.get(key), &mut self.copy) else {
            return false;
        };
        let loan = self.loan.take();
        let result = match self.read.take() {
            Some(Some(bytes)) => {
                let bytes = match loan {
                    Some(loan) => loan.hold(bytes),
                    None => bytes,
                };
                copy.on_read(&bytes)
            }
            Some(None) => copy.on_missing(partition.log()).map(|()| Vec::new()),
            None => Ok(Vec::new()),
        };
        match result {
            Ok(writes) => self.write_all(writes, key, others, ground),
            Err(damaged) => {
                self.tell(Severity::Error, &format!("cannot be moved: {damaged}"), ground);
                self.cancelled = true;
            }
        }
        true
    }

    fn write_all(
        &mut self,
        writes: Vec<DiskCommand>,
        key: PartitionKey,
        others: &Others<'_>,
        ground: &mut Ground<'_>,
    ) {
        let mut bytes = 0;
        for write in writes {
            if let DiskCommand::Write { data, .. } = &write {
                bytes += data.iter().map(|part| part.len() as u64).sum::<u64>();
            }
            self.submit(self.to, write, key, ground);
        }
        self.unsynced += bytes;
        if let Some(rate) = ground.view.config().storage.move_rate {
            others.rate.spend(bytes, rate, ground.now.instant);
        }
    }

    /// The producers' snapshots that recovery may need, one after the other.
    fn copy_snapshots(&mut self, key: PartitionKey, ground: &mut Ground<'_>) -> bool {
        let (Some(partition), Some(mut copy)) = (ground.partitions.get(key), self.copy.take()) else {
            return false;
        };
        let Stage::Snapshots { state, begun, asked } = &mut self.stage else { return false };
        let mut publish = None;
        if std::mem::take(asked) {
            let at = state.snapshots[0];
            match self.read.take() {
                Some(Some(bytes)) if bytes.len() == SNAPSHOT_BYTES as usize => begun.extend(&bytes),
                Some(Some(bytes)) => {
                    begun.extend(&bytes);
                    let content = std::mem::take(begun).into();
                    publish = Some(copy.take_snapshot(at, content, partition.log()));
                    let enough = at <= state.recovery_point;
                    state.snapshots.drain(..if enough { state.snapshots.len() } else { 1 });
                }
                Some(None) | None => {
                    begun.clear();
                    state.snapshots.remove(0);
                }
            }
        }
        let read = state.snapshots.first().map(|at| DiskCommand::Read {
            file: partition.log().segments().file(SegmentFile::Snapshot, *at),
            at: begun.len() as u64,
            len: SNAPSHOT_BYTES,
            pattern: ReadPattern::Random,
        });
        *asked = read.is_some();
        if let Some(publish) = publish {
            self.submit(self.to, publish, key, ground);
        }
        if let Some(read) = read {
            self.copy = Some(copy);
            self.submit(self.from, read, key, ground);
            return true;
        }
        for write in copy.take_index_writes() {
            self.submit(self.to, write, key, ground);
        }
        self.unsynced = 0;
        let files = copy.take_sync();
        self.copy = Some(copy);
        self.submit(self.to, DiskCommand::Sync { files }, key, ground);
        self.stage = Stage::State;
        true
    }

    /// The checkpoint files are to know of the copy before it has the log's name.
    fn record_state(&mut self, key: PartitionKey, ground: &mut Ground<'_>) -> bool {
        let (Some(partition), Some(copy)) = (ground.partitions.get(key), &mut self.copy) else {
            return false;
        };
        if matches!(self.stage, Stage::State) || self.recorded.is_none() {
            let entry =
                CheckpointEntry { recovery_point: copy.recovery_point(), ..CheckpointEntry::of(partition) };
            self.recorded = Some(entry.clone());
            self.stage = Stage::Record { done: false };
            ground.tell_checkpoints(StorageMessage::RecordNow { disk: self.to, key, entry: Some(entry) });
            return false;
        }
        if !matches!(self.stage, Stage::Record { done: true }) {
            return false;
        }
        let (from, to) = (copy.directory().to_owned(), self.serving());
        if from == to {
            self.stage = Stage::Copy;
            return true;
        }
        if let Some(copy) = &mut self.copy {
            copy.rename(&to);
        }
        self.directory = Some(to.clone());
        self.stage = Stage::Name;
        let rename = DiskCommand::Rename { from: FileName::new(from), to: FileName::new(to) };
        self.submit(self.to, rename, key, ground);
        true
    }

    /// The log goes on at the copy, if that can be now. Gives the copy back if not.
    fn change(
        &mut self,
        key: PartitionKey,
        copy: Box<FutureLog>,
        ground: &mut Ground<'_>,
    ) -> Option<Box<FutureLog>> {
        let Some(partition) = ground.partitions.get_mut(key) else { return Some(copy) };
        let share = ground.disks.get(self.to).share().clone();
        let obsolete = match partition.relocate(*copy, self.to, &share, ground.fx) {
            Ok(obsolete) => obsolete,
            Err(copy) => return Some(copy),
        };
        ground.disks.get_mut(self.from).forget(key);
        self.changed = true;
        self.stage = Stage::Settle;
        // What there is now is to be safe there before the old files go; rounds of syncs go on
        // beside that.
        let mut writes = Vec::new();
        partition.take_writes(&mut writes);
        let segments = partition.log().segments();
        let active = segments.file(SegmentFile::Log, segments.active().base);
        let now = ground.now.instant;
        let disk = ground.disks.get_mut(self.to);
        disk.submit_writes(writes, now);
        if !obsolete.is_empty() {
            disk.submit(DiskCommand::DeleteFiles { files: obsolete }, Purpose::Chore, now);
        }
        let text = format!("is in {} now", disk.path());
        self.submit(self.to, DiskCommand::Sync { files: vec![active] }, key, ground);
        self.tell(Severity::Info, &text, ground);
        None
    }

    /// What follows the change.
    fn step_after(&mut self, key: PartitionKey, ground: &mut Ground<'_>) -> bool {
        let now = ground.now.instant;
        match self.stage {
            Stage::Settle => self.stage = Stage::Assign { asked: None },
            Stage::Assign { asked } => {
                if !self.deleted && !is_assigned(key, self.to, ground) {
                    if is_metadata_lost(ground) {
                        self.stage = Stage::Parked; // the next start sees which one is the log
                        return true;
                    }
                    if asked.is_none_or(|asked| asked + ASSIGN_AGAIN <= now) {
                        self.stage = Stage::Assign { asked: Some(now) };
                        let directory = ground.disks.get(self.to).directory();
                        ground.effects.push(StorageEffect::Assign(vec![(key, directory)]));
                    }
                    return false;
                }
                // With the new disk lost, the old files may have more than is there.
                let keeps = ground.disks.is_lost(self.to) && !self.deleted;
                self.stage = if keeps { Stage::Parked } else { Stage::Drain };
            }
            Stage::Parked => {
                if !self.deleted {
                    return false;
                }
                self.stage = Stage::Drain;
            }
            Stage::Drain => {
                if ground.disks.is_lost(self.from) {
                    self.stage = Stage::Over;
                    return true;
                }
                if ground.disks.get(self.from).concerns(key) {
                    return false;
                }
                // Behind the writes that were given before the change.
                let directory = self.serving();
                let file = FileName::new(format!("{directory}/{}", SegmentFile::Log.name(Offset::ZERO)));
                self.directory = Some(directory);
                self.stage = Stage::Fence;
                self.submit(self.from, DiskCommand::Sync { files: vec![file] }, key, ground);
            }
            Stage::Fence => self.stage = Stage::Leave { disk: self.from },
            ref other => unreachable!("{other:?} comes before the change"),
        }
        true
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
