//! The end of storage: a last checkpoint makes everything durable, then each directory that was
//! closed cleanly says so, and what the next start would find in its logs
//! ([`aplomb_log::state_files::ClosedLogs`]).

use std::collections::BTreeMap;

use aplomb_disk_api::{
    DiskCommand, DiskError, DiskIndex, DiskJob, FileName, JobStep, Lane, PatientDisk, SmallFile,
};
use aplomb_log::layout::top_level::CLOSED_LOGS;
use aplomb_log::state_files::ClosedLogs;

use super::at_rest::LogAtRest;
use super::checkpoints::CheckpointEntry;
use super::message::{CHECKPOINTS_SHARD, StorageEffect, StorageMessage};
use super::small_files::clean_shutdown_marker;
use super::{Purpose, ShardDisk, Storage};
use crate::calls::PartitionKey;
use crate::partition::{Effects, Partitions};
use crate::ports::Now;

/// Logs whose files are looked at in one step: some milliseconds' worth.
const A_STEP: usize = 1000;

/// Bytes that a file system keeps beside what is noted of its logs.
const SPARE: u64 = 1 << 20;

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
        let mut at_rest: Vec<Vec<LogAtRest>> = self.disks.iter().map(|_| Vec::new()).collect();
        let untidy = self.deletions.directories();
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
            // Where files wait to be deleted, or to be made use of, the next start has to look.
            let is_tidy = self.compaction.under_way() != Some(key)
                && !untidy.contains(&(partition.disk(), partition.log().segments().directory()));
            if is_tidy && key != PartitionKey::METADATA {
                at_rest[disk].extend(LogAtRest::of(partition.log()));
            }
        }
        for (disk, changes) in changes.into_iter().enumerate() {
            self.tell_changes(DiskIndex(disk as u16), changes);
        }
        for (disk, logs) in at_rest.into_iter().enumerate().filter(|(_, logs)| !logs.is_empty()) {
            let message = StorageMessage::AtRest { disk: DiskIndex(disk as u16), logs };
            self.effects.push(StorageEffect::Tell(CHECKPOINTS_SHARD, message));
        }
        clean
    }

    /// Writes the last checkpoint files and, where everything is closed cleanly, the marker that
    /// says so, with what is known of the logs. How many disks will say that it is written.
    pub(crate) fn write_markers(&mut self, clean: &[bool], broker_epoch: i64, now: Now) -> usize {
        let checkpoints = self.checkpoints.as_ref().expect("the shard that keeps them closes last");
        let mut count = 0;
        for disk in self.disks.iter_mut().filter(|disk| !disk.is_lost()) {
            let files = checkpoints.files(disk.index());
            let purpose = Purpose::CleanShutdownMarker;
            if clean[usize::from(disk.index().0)] {
                let mut logs = self.at_rest.remove(&disk.index()).unwrap_or_default();
                // A write that finds no room would cost the directory its marker.
                let bytes: u64 = logs.iter().map(LogAtRest::bytes).sum();
                if disk.space().is_some_and(|(_, usable)| usable < 2 * bytes + SPARE) {
                    logs.clear();
                }
                disk.submit_job(last_files(logs, files, broker_epoch), purpose, now.instant);
            } else {
                let command = DiskCommand::Publish { files, lane: Lane::Housekeeping };
                disk.submit(command, purpose, now.instant);
            }
            count += 1;
        }
        count
    }
}

/// Publishes the last files of a log directory that is closed cleanly: what is known of its logs,
/// `files`, and the marker.
fn last_files(mut logs: Vec<LogAtRest>, mut files: Vec<SmallFile>, broker_epoch: i64) -> Box<dyn DiskJob> {
    files.push(clean_shutdown_marker(broker_epoch));
    let mut notes = BTreeMap::new();
    let mut step = move |disk: &dyn PatientDisk| {
        for _ in 0..A_STEP {
            let Some(log) = logs.last() else { break };
            if let Some(note) = log.note(disk)? {
                notes.insert(log.directory.clone(), note);
            }
            logs.pop();
        }
        if !logs.is_empty() {
            return Ok(JobStep::Again);
        }
        let notes = notes.iter().map(|(directory, note)| (directory.as_str(), note));
        let content = ClosedLogs::encode(broker_epoch, notes).into();
        disk.publish(&[SmallFile { name: FileName::new(CLOSED_LOGS), content }])?;
        disk.publish(&files)?;
        Ok(JobStep::done(()))
    };
    Box::new(move |disk: &dyn PatientDisk| match step(disk) {
        // The call that met it has waited for a while.
        Err(DiskError::Shortage { .. }) => Ok(JobStep::Again),
        ended => ended,
    })
}
