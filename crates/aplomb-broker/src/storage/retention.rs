//! Retention: segments that are too old, too many, or below the log start offset. In small
//! portions, since requests wait while it is decided.
//!
//! What always holds: of each disk one segment's files at most are on their way to their last
//! names. Checkpoint files go the same way and would wait behind all of them, and a kill would
//! bring back what no checkpoint says is deleted.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use aplomb_disk_api::{DiskError, DiskIndex, Done};
use aplomb_model::{Instant, Offset};
use bytes::Bytes;

use super::checkpoints::CheckpointEntry;
use super::purpose::Purpose;
use super::{Ground, StorageMessage};
use crate::calls::PartitionKey;

/// How long after the start retention is looked at first (`log.initial.task.delay.ms`).
const FIRST: Duration = Duration::from_secs(30);
/// How many partitions are looked at in one turn, and how long until the next.
const PORTION: usize = 32;
const PAUSE: Duration = Duration::from_millis(1);

/// Which partitions are looked at when.
#[derive(Debug)]
pub(super) struct Retention {
    interval: Duration,
    next_round: Instant,
    /// Partitions to look at before the next round, disk by disk.
    lines: Vec<DiskLine>,
    lines_due: Option<Instant>,
}

/// The partitions of a disk, each once.
#[derive(Debug, Default)]
struct DiskLine {
    partitions: VecDeque<PartitionKey>,
    is_in: HashSet<PartitionKey>,
    /// Files that are on their way to their last names.
    renames: usize,
}

impl DiskLine {
    fn push(&mut self, key: PartitionKey) {
        if self.is_in.insert(key) {
            self.partitions.push_back(key);
        }
    }

    fn is_ready(&self) -> bool {
        self.renames == 0 && !self.partitions.is_empty()
    }

    fn pop(&mut self) -> Option<PartitionKey> {
        let key = self.partitions.pop_front()?;
        self.is_in.remove(&key);
        Some(key)
    }
}

impl Retention {
    pub(super) fn new(interval: Duration, disks: usize, now: Instant) -> Self {
        let lines = (0..disks).map(|_| DiskLine::default()).collect();
        Self { interval, next_round: now + FIRST.min(interval), lines, lines_due: None }
    }

    pub(super) fn wake_at(&self) -> Instant {
        self.lines_due.map_or(self.next_round, |due| due.min(self.next_round))
    }

    /// A partition is to be looked at soon.
    pub(super) fn look_at(&mut self, disk: DiskIndex, key: PartitionKey) {
        self.lines[usize::from(disk.0)].push(key);
        self.go_on();
    }

    fn go_on(&mut self) {
        if self.lines.iter().any(DiskLine::is_ready) {
            self.lines_due.get_or_insert(Instant::START);
        }
    }

    /// Looks at the partitions that are due.
    pub(super) fn poll(&mut self, ground: &mut Ground<'_>) {
        let now = ground.now.instant;
        if self.next_round <= now {
            self.next_round = now + self.interval;
            for (disk, line) in (0..).map(DiskIndex).zip(&mut self.lines) {
                // The metadata log's segments go when there is a snapshot.
                let keys = ground.partitions.keys_on(disk).into_iter();
                keys.filter(|key| *key != PartitionKey::METADATA).for_each(|key| line.push(key));
            }
            self.go_on();
        }
        if self.lines_due.is_some_and(|due| due <= now) {
            for _ in 0..PORTION {
                let Some(line) = self.lines.iter_mut().find(|line| line.is_ready()) else { break };
                let Some(key) = line.pop() else { break };
                self.retain(key, ground);
            }
            self.lines_due = self.lines.iter().any(DiskLine::is_ready).then(|| now + PAUSE);
        }
    }

    /// A file of a deleted segment has its last name, or the disk is lost.
    pub(super) fn on_renamed(&mut self, disk: DiskIndex) {
        self.lines[usize::from(disk.0)].renames -= 1;
        self.go_on();
    }

    /// The disk has read the last entry of a time index: the partition is looked at again.
    pub(super) fn on_time_entry(
        &mut self,
        (key, residence): (PartitionKey, u32),
        base: Offset,
        result: Result<Done, DiskError>,
        ground: &mut Ground<'_>,
    ) {
        // A partition that has moved or gone is looked at with the next round, if at all.
        let Some(partition) = ground.partitions.get_on(key, residence) else { return };
        let bytes = match result {
            Ok(Done::Read(bytes)) => bytes,
            Ok(_) | Err(DiskError::NotFound { .. }) => Bytes::new(),
            Err(_) => return, // the disk is lost
        };
        partition.on_time_entry(base, &bytes);
        self.look_at(partition.disk(), key);
    }

    fn retain(&mut self, key: PartitionKey, ground: &mut Ground<'_>) {
        let Some(partition) = ground.partitions.get_mut(key) else { return }; // it was deleted
        let disk = partition.disk();
        let line = &mut self.lines[usize::from(disk.0)];
        if line.renames > 0 {
            return line.push(key); // it has moved to this disk
        }
        if ground.disks.is_lost(disk) || ground.compacted == Some(key) {
            return; // it is looked at again when its compaction is over
        }
        let retention = partition.retain(ground.now.wall, 1, ground.fx);
        let (after, residence) = (partition.settings().file_delete_delay, partition.residence());
        line.renames = retention.deletions.len();
        if retention.goes_on {
            line.push(key);
        }
        if retention.segments > 0 {
            let entry = CheckpointEntry::of(partition);
            ground.tell_checkpoints(StorageMessage::Record { disk, changes: vec![(key, Some(entry))] });
        }
        let now = ground.now.instant;
        for (rename, name) in retention.deletions {
            let purpose = Purpose::DeleteLater { name, directory: false, after, of: None };
            ground.disks.submit(disk, rename, purpose, now);
        }
        if let Some((base, read)) = retention.look_up {
            ground.disks.submit(disk, read, Purpose::TimeEntry { key, base, residence }, now);
        }
    }
}
