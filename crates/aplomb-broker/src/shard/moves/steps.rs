//! The steps of a move, from the first file of the copy to the change and what settles it.

use std::time::Duration;

use aplomb_disk_api::{DiskCommand, DiskIndex, FileName, Lane, ReadPattern};
use aplomb_log::future::CopyStep;
use aplomb_log::layout::{PartitionDir, SegmentFile};
use aplomb_model::Offset;

use super::{AT_ONCE, Move, Shard, Stage};
use crate::message::{CheckpointEntry, PartitionKey};
use crate::ports::{Event, Now, Output, Severity};
use crate::shard::disk::Purpose;
use crate::shard::metadata::partition_metadata;

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

impl Shard {
    /// Does one thing for a move. `false`: something else has to happen first.
    pub(super) fn step(&mut self, key: PartitionKey, m: &mut Move, now: Now, out: &mut Vec<Output>) -> bool {
        if matches!(m.stage, Stage::Leave { .. } | Stage::Left { .. } | Stage::Forget { .. }) {
            return self.step_out(key, m, now, out);
        }
        if m.changed {
            return self.step_after(key, m, now, out);
        }
        if self.is_lost(m.to) {
            self.tell_lost(m, m.to, out);
            m.copy = None;
            m.stage = Stage::Over;
            return true;
        }
        if m.cancelled {
            m.copy = None;
            m.stage = if m.directory.is_some() { Stage::Leave { disk: m.to } } else { Stage::Over };
            return true;
        }
        if matches!(m.stage, Stage::Parked) {
            return false;
        }
        if self.is_lost(m.from) {
            self.tell_lost(m, m.from, out);
            m.copy = None;
            m.stage = Stage::Parked; // the partition is offline, too
            return true;
        }
        match &m.stage {
            Stage::Claim => self.claim(key, m, now),
            Stage::Queue => self.begin_copy(key, m, now, out),
            Stage::Copy => self.copy(key, m, now, out),
            Stage::Read => self.take_read(key, m, now, out),
            Stage::Snapshots { .. } => self.copy_snapshots(key, m, now),
            Stage::State | Stage::Keep { .. } => self.keep_state(key, m, now, out),
            Stage::Name => {
                m.stage = Stage::Copy;
                true
            }
            other => unreachable!("{other:?} comes after the change"),
        }
    }

    fn tell_lost(&self, m: &Move, disk: DiskIndex, out: &mut Vec<Output>) {
        let path = &self.disks[usize::from(disk.0)].path;
        tell(m, Severity::Warn, &format!("does not move on: log directory {path} is offline"), out);
    }

    pub(super) fn is_lost(&self, disk: DiskIndex) -> bool {
        self.disks[usize::from(disk.0)].lost.is_some()
    }

    /// Gives a disk a command of a move.
    pub(super) fn ask(
        &mut self,
        disk: DiskIndex,
        command: DiskCommand,
        key: PartitionKey,
        m: &mut Move,
        now: Now,
    ) {
        m.pending += 1;
        let purpose = Purpose::Move { key, number: m.number };
        self.disks[usize::from(disk.0)].port.submit(command, purpose, now.instant);
    }

    fn claim(&mut self, key: PartitionKey, m: &mut Move, now: Now) -> bool {
        let Some(partition) = self.partitions.get_mut(&key) else { return false };
        if partition.is_held() || !partition.log.has_files() {
            // A directory of its own comes first: a copy of nothing would be all that a crash leaves.
            partition.hurry_files(&mut self.fx);
            m.rest = Some(now.instant + RETRY);
            return false;
        }
        let directory = PartitionDir::future(m.name.clone(), self.unique(key, now)).name();
        let files = vec![partition_metadata(&directory, key.topic)];
        self.ask(m.to, DiskCommand::Publish { files, lane: Lane::Write }, key, m, now);
        m.directory = Some(directory);
        m.stage = Stage::Queue;
        true
    }

    fn begin_copy(&mut self, key: PartitionKey, m: &mut Move, now: Now, out: &mut Vec<Output>) -> bool {
        let (Some(partition), Some(directory)) = (self.partitions.get(&key), &m.directory) else {
            return false;
        };
        if self.copying() >= AT_ONCE {
            m.rest = Some(now.instant + RETRY);
            return false;
        }
        m.copy = Some(Box::new(partition.log.begin_copy(directory)));
        m.stage = Stage::Copy;
        let path = |disk: DiskIndex| &self.disks[usize::from(disk.0)].path;
        tell(m, Severity::Info, &format!("moves from {} to {}", path(m.from), path(m.to)), out);
        true
    }

    /// The next piece, or the change if that can be.
    fn copy(&mut self, key: PartitionKey, m: &mut Move, now: Now, out: &mut Vec<Output>) -> bool {
        let rate = self.config.storage.move_rate;
        if let (Some(_), Err(later)) = (rate, self.moves.rate.check(now.instant)) {
            m.rest = Some(later);
            return false;
        }
        let named = m.is_named();
        let (Some(partition), Some(mut copy)) = (self.partitions.get_mut(&key), m.copy.take()) else {
            return false;
        };
        let is_close = copy.is_close_to(&partition.log);
        if m.unsynced >= SYNC_BYTES || (named && is_close && copy.owes_closed()) {
            m.unsynced = 0;
            let files = copy.take_sync();
            m.copy = Some(copy);
            self.ask(m.to, DiskCommand::Sync { files }, key, m, now);
            return true;
        }
        if is_close && !named {
            if let Some(state) = copy.state(&partition.log) {
                let files = vec![state.epochs.clone()];
                m.copy = Some(copy);
                self.ask(m.to, DiskCommand::Publish { files, lane: Lane::Housekeeping }, key, m, now);
                m.stage = Stage::Snapshots { state: Box::new(state), begun: Vec::new(), asked: false };
                return true;
            }
        } else if is_close {
            let start = log_start(&partition.log);
            if m.kept.as_ref().is_none_or(|kept| kept.log_start != start) {
                m.copy = Some(copy);
                m.kept = None;
                m.stage = Stage::Keep { done: false };
                return true;
            }
            match self.change(key, m, copy, now, out) {
                None => return true,
                Some(back) => copy = back,
            }
        }
        let Some(partition) = self.partitions.get(&key) else { return false };
        let quarter = rate.map_or(u64::MAX, |rate| rate / 4);
        let most = STEP_BYTES.min(u32::try_from(quarter).unwrap_or(u32::MAX)).max(4096);
        let Some(mut loan) = partition.log.tail().share().reading().take(most as usize) else {
            m.copy = Some(copy);
            m.rest = Some(now.instant + RETRY);
            return false;
        };
        let step = copy.step(&partition.log, most);
        m.copy = Some(copy);
        match step {
            Ok(CopyStep::Read(command)) => {
                if let DiskCommand::Read { len, .. } = &command {
                    loan.resize(*len as usize);
                }
                m.loan = Some(loan);
                m.read = None;
                m.stage = Stage::Read;
                self.ask(m.from, command, key, m, now);
            }
            Ok(CopyStep::Write(writes)) => self.write_all(writes, key, m, now),
            Ok(CopyStep::CaughtUp) => {
                m.rest = Some(now.instant + RETRY);
                return false;
            }
            Err(damaged) => {
                tell(m, Severity::Error, &format!("cannot be moved: {damaged}"), out);
                m.cancelled = true;
            }
        }
        true
    }

    /// The source has answered.
    fn take_read(&mut self, key: PartitionKey, m: &mut Move, now: Now, out: &mut Vec<Output>) -> bool {
        m.stage = Stage::Copy;
        let (Some(partition), Some(copy)) = (self.partitions.get(&key), &mut m.copy) else { return false };
        let loan = m.loan.take();
        let result = match m.read.take() {
            Some(Some(bytes)) => {
                let bytes = match loan {
                    Some(loan) => loan.hold(bytes),
                    None => bytes,
                };
                copy.on_read(&bytes)
            }
            Some(None) => copy.on_missing(&partition.log).map(|()| Vec::new()),
            None => Ok(Vec::new()),
        };
        match result {
            Ok(writes) => self.write_all(writes, key, m, now),
            Err(damaged) => {
                tell(m, Severity::Error, &format!("cannot be moved: {damaged}"), out);
                m.cancelled = true;
            }
        }
        true
    }

    fn write_all(&mut self, writes: Vec<DiskCommand>, key: PartitionKey, m: &mut Move, now: Now) {
        let mut bytes = 0;
        for write in writes {
            if let DiskCommand::Write { data, .. } = &write {
                bytes += data.iter().map(|part| part.len() as u64).sum::<u64>();
            }
            self.ask(m.to, write, key, m, now);
        }
        m.unsynced += bytes;
        if let Some(rate) = self.config.storage.move_rate {
            self.moves.rate.spend(bytes, rate, now.instant);
        }
    }

    /// The producers' snapshots that recovery may need, one after the other.
    fn copy_snapshots(&mut self, key: PartitionKey, m: &mut Move, now: Now) -> bool {
        let (Some(partition), Some(mut copy)) = (self.partitions.get(&key), m.copy.take()) else {
            return false;
        };
        let Stage::Snapshots { state, begun, asked } = &mut m.stage else { return false };
        let mut publish = None;
        if std::mem::take(asked) {
            let at = state.snapshots[0];
            match m.read.take() {
                Some(Some(bytes)) if bytes.len() == SNAPSHOT_BYTES as usize => begun.extend(&bytes),
                Some(Some(bytes)) => {
                    begun.extend(&bytes);
                    let content = std::mem::take(begun).into();
                    publish = Some(copy.take_snapshot(at, content, &partition.log));
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
            file: partition.log.segments().file(SegmentFile::Snapshot, *at),
            at: begun.len() as u64,
            len: SNAPSHOT_BYTES,
            pattern: ReadPattern::Random,
        });
        *asked = read.is_some();
        if let Some(publish) = publish {
            self.ask(m.to, publish, key, m, now);
        }
        if let Some(read) = read {
            m.copy = Some(copy);
            self.ask(m.from, read, key, m, now);
            return true;
        }
        for write in copy.take_index_writes() {
            self.ask(m.to, write, key, m, now);
        }
        m.unsynced = 0;
        let files = copy.take_sync();
        m.copy = Some(copy);
        self.ask(m.to, DiskCommand::Sync { files }, key, m, now);
        m.stage = Stage::State;
        true
    }

    /// The checkpoint files are to know of the copy before it has the log's name.
    fn keep_state(&mut self, key: PartitionKey, m: &mut Move, now: Now, out: &mut Vec<Output>) -> bool {
        let (Some(partition), Some(copy)) = (self.partitions.get(&key), &mut m.copy) else { return false };
        if matches!(m.stage, Stage::State) || m.kept.is_none() {
            let entry = CheckpointEntry {
                name: m.name.clone(),
                recovery_point: copy.recovery_point(),
                high_watermark: partition.log.high_watermark(),
                log_start: log_start(&partition.log),
            };
            m.kept = Some(entry.clone());
            m.stage = Stage::Keep { done: false };
            self.keep_or_ask(m.to, key, Some(entry), now, out);
            return false;
        }
        if !matches!(m.stage, Stage::Keep { done: true }) {
            return false;
        }
        let (from, to) = (copy.directory().to_owned(), m.serving());
        if from == to {
            m.stage = Stage::Copy;
            return true;
        }
        if let Some(copy) = &mut m.copy {
            copy.rename(&to);
        }
        m.directory = Some(to.clone());
        m.stage = Stage::Name;
        let rename = DiskCommand::Rename { from: FileName::new(from), to: FileName::new(to) };
        self.ask(m.to, rename, key, m, now);
        true
    }

    /// The log goes on at the copy, if that can be now. Gives the copy back if not.
    fn change(
        &mut self,
        key: PartitionKey,
        m: &mut Move,
        copy: Box<aplomb_log::future::LogCopy>,
        now: Now,
        out: &mut Vec<Output>,
    ) -> Option<Box<aplomb_log::future::LogCopy>> {
        let Some(partition) = self.partitions.get_mut(&key) else { return Some(copy) };
        let share = self.disks[usize::from(m.to.0)].share.clone();
        let obsolete = match partition.log.relocate(*copy, &share) {
            Ok(obsolete) => obsolete,
            Err(copy) => return Some(copy),
        };
        partition.on_moved(m.to, &mut self.fx);
        self.disks[usize::from(m.from.0)].forget(key);
        m.changed = true;
        m.stage = Stage::Settle;
        // What there is now is to be safe there before the old files go; rounds of syncs go on beside that.
        let mut writes = Vec::new();
        partition.log.take_writes(&mut writes);
        let segments = partition.log.segments();
        let active = segments.file(SegmentFile::Log, segments.active().base);
        let disk = &mut self.disks[usize::from(m.to.0)];
        disk.submit_writes(writes, now.instant);
        if !obsolete.is_empty() {
            disk.port.submit(DiskCommand::DeleteFiles { files: obsolete }, Purpose::Chore, now.instant);
        }
        let path = disk.path.clone();
        self.ask(m.to, DiskCommand::Sync { files: vec![active] }, key, m, now);
        tell(m, Severity::Info, &format!("is in {path} now"), out);
        None
    }

    /// What follows the change.
    fn step_after(&mut self, key: PartitionKey, m: &mut Move, now: Now, out: &mut Vec<Output>) -> bool {
        match m.stage {
            Stage::Settle => m.stage = Stage::Assign { asked: None },
            Stage::Assign { asked } => {
                if !m.deleted && !self.is_assigned(key, m.to) {
                    if self.is_metadata_lost() {
                        m.stage = Stage::Parked; // the next start sees which one is the log
                        return true;
                    }
                    if asked.is_none_or(|asked| asked + ASSIGN_AGAIN <= now.instant) {
                        m.stage = Stage::Assign { asked: Some(now.instant) };
                        let directory = self.disks[usize::from(m.to.0)].directory;
                        self.tell_assignment(&[(key, directory)], now, out);
                    }
                    return false;
                }
                // With the new disk lost, the old files may have more than is there.
                let keeps = self.is_lost(m.to) && !m.deleted;
                m.stage = if keeps { Stage::Parked } else { Stage::Drain };
            }
            Stage::Parked => {
                if !m.deleted {
                    return false;
                }
                m.stage = Stage::Drain;
            }
            Stage::Drain => {
                if self.is_lost(m.from) {
                    m.stage = Stage::Over;
                    return true;
                }
                if self.disks[usize::from(m.from.0)].concerns(key) {
                    return false;
                }
                // Behind the writes that were given before the change.
                let directory = m.serving();
                let file = FileName::new(format!("{directory}/{}", SegmentFile::Log.name(Offset::ZERO)));
                m.directory = Some(directory);
                m.stage = Stage::Fence;
                self.ask(m.from, DiskCommand::Sync { files: vec![file] }, key, m, now);
            }
            Stage::Fence => m.stage = Stage::Leave { disk: m.from },
            ref other => unreachable!("{other:?} comes before the change"),
        }
        true
    }

    /// Whether the metadata says that a partition is on a disk, as far as it can say so.
    fn is_assigned(&self, key: PartitionKey, disk: DiskIndex) -> bool {
        let directory = self.disks[usize::from(disk.0)].directory;
        let partition = self.image.topics.partition(key.topic, key.partition);
        !self.image.features.metadata_version().has_directories()
            || partition.is_none_or(|known| known.directory(self.config.node_id) == Some(directory))
    }

    fn is_metadata_lost(&self) -> bool {
        let home = &self.config.storage.metadata_log_dir;
        self.disks.iter().any(|disk| disk.lost.is_some() && disk.path == *home)
    }
}

fn log_start(log: &aplomb_log::Log) -> Option<Offset> {
    (log.start() > Offset::ZERO).then_some(log.start())
}

/// Writes a line about a move.
pub(super) fn tell(m: &Move, severity: Severity, text: &str, out: &mut Vec<Output>) {
    let text = format!("{} {text}", m.name);
    out.push(Output::Event(Event { severity, room: "broker/moves", text }));
}
