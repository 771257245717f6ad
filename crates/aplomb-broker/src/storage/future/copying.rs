//! The copy of a log that moves: it grows, gets all that makes it a log of its own, and replaces
//! the log.

use aplomb_disk_api::{DiskCommand, FileName, Lane, ReadPattern};
use aplomb_log::Loan;
use aplomb_log::future::{FutureDamaged, FutureState, FutureStep};
use aplomb_log::layout::SegmentFile;
use aplomb_model::Offset;

use super::stages::{CopyStage, Copying, Move, Onward, Settling, Stage};
use super::{Others, RETRY};
use crate::calls::PartitionKey;
use crate::partition::Partition;
use crate::ports::Severity;
use crate::storage::checkpoints::CheckpointEntry;
use crate::storage::purpose::Purpose;
use crate::storage::{Ground, StorageMessage};

/// So much is copied at a time.
const STEP_BYTES: u32 = 1 << 20;
/// After so much the disk is asked to sync, so that no large sync holds up those of others.
const SYNC_BYTES: u64 = 16 << 20;
/// So much of a snapshot is read at a time.
const SNAPSHOT_BYTES: u32 = 1 << 20;

impl Copying {
    /// Whether there are two directories of the log's name.
    fn is_named(&self, serving: &str) -> bool {
        self.copy.directory() == serving
    }

    fn at(mut self: Box<Self>, stage: CopyStage) -> Stage {
        self.stage = stage;
        Stage::Copying(self)
    }
}

/// A partition that moves. One that is gone gives its move up before the next step.
fn moving<'a>(key: PartitionKey, ground: &'a Ground<'_>) -> &'a Partition {
    ground.partitions.get(key).expect("a partition that is gone gives its move up")
}

impl Move {
    pub(super) fn copy(
        &mut self,
        mut copying: Box<Copying>,
        key: PartitionKey,
        others: &Others<'_>,
        ground: &mut Ground<'_>,
    ) -> Onward {
        match std::mem::replace(&mut copying.stage, CopyStage::Grow) {
            CopyStage::Grow => self.grow(copying, key, others, ground),
            CopyStage::Read { loan } => self.take_read(copying, loan, key, others, ground),
            CopyStage::Snapshots { state, begun, asked } => {
                self.copy_snapshots(copying, (state, begun, asked), key, ground)
            }
            CopyStage::State => self.record(copying, key, ground),
            CopyStage::Record { done: false } => Onward::Later(copying.at(CopyStage::Record { done: false })),
            CopyStage::Record { done: true } => self.name(copying, key, ground),
            CopyStage::Name => Onward::Now(Stage::Copying(copying)),
        }
    }

    /// The next piece, or the change if that can be.
    fn grow(
        &mut self,
        mut copying: Box<Copying>,
        key: PartitionKey,
        others: &Others<'_>,
        ground: &mut Ground<'_>,
    ) -> Onward {
        let rate = ground.view.config().storage.move_rate;
        if let (Some(_), Err(later)) = (rate, others.rate.check(ground.now.instant)) {
            self.rest = Some(later);
            return Onward::Later(Stage::Copying(copying));
        }
        let named = copying.is_named(&self.serving());
        let partition = moving(key, ground);
        let log = partition.log();
        let is_close = copying.copy.is_close_to(log);
        if copying.unsynced >= SYNC_BYTES || (named && is_close && copying.copy.owes_closed()) {
            self.sync(&mut copying, key, ground);
            return Onward::Now(Stage::Copying(copying));
        }
        if is_close && !named {
            if let Some(state) = copying.copy.state(log) {
                let files = vec![state.epochs.clone()];
                self.submit(self.to, DiskCommand::Publish { files, lane: Lane::Housekeeping }, key, ground);
                return Onward::Now(copying.at(CopyStage::Snapshots {
                    state,
                    begun: Vec::new(),
                    asked: false,
                }));
            }
        } else if is_close {
            let start = CheckpointEntry::of(partition).log_start;
            if copying.recorded.as_ref().is_none_or(|recorded| recorded.log_start != start) {
                return self.record(copying, key, ground);
            }
            copying = match self.change(copying, key, ground) {
                Ok(stage) => return Onward::Now(stage),
                Err(back) => back,
            };
        }
        self.copy_piece(copying, rate, key, others, ground)
    }

    fn sync(&mut self, copying: &mut Copying, key: PartitionKey, ground: &mut Ground<'_>) {
        copying.unsynced = 0;
        let files = copying.copy.take_sync();
        self.submit(self.to, DiskCommand::Sync { files }, key, ground);
    }

    fn copy_piece(
        &mut self,
        mut copying: Box<Copying>,
        rate: Option<u64>,
        key: PartitionKey,
        others: &Others<'_>,
        ground: &mut Ground<'_>,
    ) -> Onward {
        let quarter = rate.map_or(u64::MAX, |rate| rate / 4);
        let most = STEP_BYTES.min(u32::try_from(quarter).unwrap_or(u32::MAX)).max(4096);
        let log = moving(key, ground).log();
        let Some(mut loan) = log.tail().share().reading().take(most as usize) else {
            self.rest = Some(ground.now.instant + RETRY);
            return Onward::Later(Stage::Copying(copying));
        };
        match copying.copy.step(log, most) {
            Ok(FutureStep::Read(command)) => {
                if let DiskCommand::Read { len, .. } = &command {
                    loan.resize(*len as usize);
                }
                self.read = None;
                self.submit(self.from, command, key, ground);
                Onward::Now(copying.at(CopyStage::Read { loan }))
            }
            Ok(FutureStep::Write(writes)) => {
                self.write_all(&mut copying, writes, key, others, ground);
                Onward::Now(Stage::Copying(copying))
            }
            Ok(FutureStep::CaughtUp) => {
                self.rest = Some(ground.now.instant + RETRY);
                Onward::Later(Stage::Copying(copying))
            }
            Err(damaged) => self.give_up(copying, &damaged, ground),
        }
    }

    /// The source cannot be copied: the log stays where it is.
    fn give_up(&mut self, copying: Box<Copying>, damaged: &FutureDamaged, ground: &mut Ground<'_>) -> Onward {
        self.tell(Severity::Error, &format!("cannot be moved: {damaged}"), ground);
        self.cancelled = true;
        Onward::Now(Stage::Copying(copying))
    }

    /// The source has answered.
    fn take_read(
        &mut self,
        mut copying: Box<Copying>,
        loan: Loan,
        key: PartitionKey,
        others: &Others<'_>,
        ground: &mut Ground<'_>,
    ) -> Onward {
        let copy = &mut copying.copy;
        let result = match self.read.take() {
            Some(Some(bytes)) => copy.on_read(&loan.hold(bytes)),
            Some(None) => copy.on_missing(moving(key, ground).log()).map(|()| Vec::new()),
            // It failed, and is tried again.
            None => Ok(Vec::new()),
        };
        match result {
            Ok(writes) => {
                self.write_all(&mut copying, writes, key, others, ground);
                Onward::Now(Stage::Copying(copying))
            }
            Err(damaged) => self.give_up(copying, &damaged, ground),
        }
    }

    fn write_all(
        &mut self,
        copying: &mut Copying,
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
        copying.unsynced += bytes;
        if let Some(rate) = ground.view.config().storage.move_rate {
            others.rate.spend(bytes, rate, ground.now.instant);
        }
    }

    /// The producers' snapshots that recovery may need, one after the other.
    fn copy_snapshots(
        &mut self,
        mut copying: Box<Copying>,
        (mut state, mut begun, asked): (FutureState, Vec<u8>, bool),
        key: PartitionKey,
        ground: &mut Ground<'_>,
    ) -> Onward {
        let partition = moving(key, ground);
        let mut publish = None;
        if asked {
            let at = state.snapshots[0];
            match self.read.take() {
                Some(Some(bytes)) if bytes.len() == SNAPSHOT_BYTES as usize => begun.extend(&bytes),
                Some(Some(bytes)) => {
                    begun.extend(&bytes);
                    let content = std::mem::take(&mut begun).into();
                    publish = Some(copying.copy.take_snapshot(at, content, partition.log()));
                    let enough = at <= state.recovery_point;
                    state.snapshots.drain(..if enough { state.snapshots.len() } else { 1 });
                }
                Some(None) => {
                    begun.clear();
                    state.snapshots.remove(0);
                }
                None => {} // a shortage: the disk is asked again
            }
        }
        let read = state.snapshots.first().map(|at| read_snapshot(partition, *at, begun.len()));
        if let Some(publish) = publish {
            self.submit(self.to, publish, key, ground);
        }
        if let Some(read) = read {
            self.submit(self.from, read, key, ground);
            return Onward::Now(copying.at(CopyStage::Snapshots { state, begun, asked: true }));
        }
        for write in copying.copy.take_index_writes() {
            self.submit(self.to, write, key, ground);
        }
        self.sync(&mut copying, key, ground);
        Onward::Now(copying.at(CopyStage::State))
    }

    /// The checkpoint files are to know of the copy before it has the log's name, and of a log
    /// start that has moved since.
    fn record(&mut self, mut copying: Box<Copying>, key: PartitionKey, ground: &mut Ground<'_>) -> Onward {
        let recovery_point = copying.copy.recovery_point();
        let entry = CheckpointEntry { recovery_point, ..CheckpointEntry::of(moving(key, ground)) };
        copying.recorded = Some(entry.clone());
        ground.tell_checkpoints(StorageMessage::RecordNow { disk: self.to, key, entry: Some(entry) });
        Onward::Later(copying.at(CopyStage::Record { done: false }))
    }

    /// The copy gets the log's name, if it has not got it.
    fn name(&mut self, mut copying: Box<Copying>, key: PartitionKey, ground: &mut Ground<'_>) -> Onward {
        let to = self.serving();
        if copying.is_named(&to) {
            return Onward::Now(Stage::Copying(copying));
        }
        let from = FileName::new(copying.copy.directory());
        copying.copy.rename(&to);
        self.submit(self.to, DiskCommand::Rename { from, to: FileName::new(to) }, key, ground);
        Onward::Now(copying.at(CopyStage::Name))
    }

    /// The log goes on at the copy, if that can be now. Gives the copy back if not.
    fn change(
        &mut self,
        copying: Box<Copying>,
        key: PartitionKey,
        ground: &mut Ground<'_>,
    ) -> Result<Stage, Box<Copying>> {
        let partition = ground.partitions.get_mut(key).expect("a partition that is gone gives its move up");
        let share = ground.disks.get(self.to).share().clone();
        let Copying { copy, recorded, unsynced, stage } = *copying;
        let obsolete = match partition.relocate(copy, self.to, &share, ground.fx) {
            Ok(obsolete) => obsolete,
            Err(copy) => return Err(Box::new(Copying { copy: *copy, recorded, unsynced, stage })),
        };
        ground.disks.get_mut(self.from).forget(key);
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
        Ok(Stage::Settling(Settling::Sync))
    }
}

fn read_snapshot(partition: &Partition, at: Offset, from: usize) -> DiskCommand {
    DiskCommand::Read {
        file: partition.log().segments().file(SegmentFile::Snapshot, at),
        at: from as u64,
        len: SNAPSHOT_BYTES,
        pattern: ReadPattern::Random,
    }
}
