//! Retention: segments that are too old, too many, or below the log start offset. In small
//! portions, since requests wait while it is decided.

use std::collections::VecDeque;
use std::time::Duration;

use aplomb_disk_api::{DiskError, Done};
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
    /// Partitions to look at before the next round.
    queue: VecDeque<PartitionKey>,
    queue_due: Option<Instant>,
}

impl Retention {
    pub(super) fn new(interval: Duration, now: Instant) -> Self {
        Self { interval, next_round: now + FIRST.min(interval), queue: VecDeque::new(), queue_due: None }
    }

    pub(super) fn wake_at(&self) -> Instant {
        self.queue_due.map_or(self.next_round, |due| due.min(self.next_round))
    }

    /// A partition is to be looked at soon.
    pub(super) fn look_at(&mut self, key: PartitionKey) {
        self.queue.push_back(key);
        self.queue_due.get_or_insert(Instant::START);
    }

    /// Looks at the partitions that are due.
    pub(super) fn poll(&mut self, ground: &mut Ground<'_>) {
        let now = ground.now.instant;
        if self.next_round <= now {
            self.next_round = now + self.interval;
            let keys = ground.partitions.keys().into_iter();
            // The metadata log's segments go when there is a snapshot.
            self.queue.extend(keys.filter(|key| *key != PartitionKey::METADATA));
            self.queue_due.get_or_insert(now);
        }
        if self.queue_due.is_some_and(|due| due <= now) {
            for _ in 0..PORTION.min(self.queue.len()) {
                let Some(key) = self.queue.pop_front() else { break };
                retain(key, ground);
            }
            self.queue_due = (!self.queue.is_empty()).then(|| now + PAUSE);
        }
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
        self.look_at(key);
    }
}

fn retain(key: PartitionKey, ground: &mut Ground<'_>) {
    let Some(partition) = ground.partitions.get_mut(key) else { return }; // it was deleted
    let disk = partition.disk();
    if ground.disks.is_lost(disk) {
        return;
    }
    let retention = partition.retain(ground.now.wall, ground.fx);
    let (after, residence) = (partition.settings().file_delete_delay, partition.residence());
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
