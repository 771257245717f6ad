//! What is done now and then: retention, deletions that were put off, producers that were not heard of, free space. In small portions,
//! since requests wait while it is done.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::time::Duration;

use aplomb_disk_api::{DiskCommand, DiskError, DiskIndex, Done, FileName};
use aplomb_model::{Instant, Offset};

use super::Shard;
use super::disk::Purpose;
use crate::message::{PartitionKey, ShardMessage};
use crate::partition::Partition;
use crate::ports::{Now, Output, ShardId};

/// How soon batches that wait for memory are tried again.
pub(super) const STARVED_RETRY: Duration = Duration::from_millis(2);
/// How long after the start retention is looked at first (`log.initial.task.delay.ms`).
const FIRST_RETENTION: Duration = Duration::from_secs(30);
/// How many partitions are looked at in one turn, and how long until the next.
const PORTION: usize = 32;
const PAUSE: Duration = Duration::from_millis(1);
/// How often a disk is asked how much room it has.
const SPACE_INTERVAL: Duration = Duration::from_secs(10);

/// What is to be done when.
#[derive(Debug)]
pub(super) struct Upkeep {
    retention_interval: Duration,
    retention_due: Instant,
    /// Partitions to look at, before the next round of retention.
    queue: VecDeque<PartitionKey>,
    queue_due: Option<Instant>,
    space_due: Instant,
    /// Names to delete, the next one first.
    doomed: BinaryHeap<Reverse<(Instant, DiskIndex, bool, FileName)>>,
    /// Partitions whose last write is under way before their directory goes.
    leaving: HashMap<PartitionKey, Partition>,
}

impl Upkeep {
    pub(super) fn new(retention_interval: Duration, now: Instant) -> Self {
        Self {
            retention_interval,
            retention_due: now + FIRST_RETENTION.min(retention_interval),
            queue: VecDeque::new(),
            queue_due: None,
            space_due: now,
            doomed: BinaryHeap::new(),
            leaving: HashMap::new(),
        }
    }

    pub(super) fn wake_at(&self) -> Option<Instant> {
        let doomed = self.doomed.peek().map(|Reverse((due, ..))| *due);
        [Some(self.retention_due), self.queue_due, Some(self.space_due), doomed].into_iter().flatten().min()
    }

    /// A name is to be deleted at `due`.
    pub(super) fn doom(&mut self, due: Instant, disk: DiskIndex, name: FileName, directory: bool) {
        self.doomed.push(Reverse((due, disk, directory, name)));
    }

    /// A partition is to be looked at soon.
    pub(super) fn look_at(&mut self, key: PartitionKey) {
        self.queue.push_back(key);
        self.queue_due.get_or_insert(Instant::START);
    }

    pub(super) fn leaving(&mut self, key: PartitionKey, partition: Partition) {
        self.leaving.insert(key, partition);
    }

    pub(super) fn left(&mut self, key: PartitionKey) -> Option<Partition> {
        self.leaving.remove(&key)
    }
}

impl Shard {
    pub(super) fn do_upkeep(&mut self, now: Now, out: &mut Vec<Output>) {
        if self.upkeep.retention_due <= now.instant {
            self.upkeep.retention_due = now.instant + self.upkeep.retention_interval;
            let mut keys: Vec<PartitionKey> = self.partitions.keys().copied().collect();
            keys.sort_unstable(); // in an order that a simulation can repeat
            self.upkeep.queue.extend(keys.into_iter().filter(|key| *key != PartitionKey::METADATA));
            self.upkeep.queue_due.get_or_insert(now.instant);
        }
        if self.upkeep.queue_due.is_some_and(|due| due <= now.instant) {
            for _ in 0..PORTION {
                let Some(key) = self.upkeep.queue.pop_front() else { break };
                self.retain(key, now, out);
            }
            self.upkeep.queue_due = (!self.upkeep.queue.is_empty()).then(|| now.instant + PAUSE);
        }
        if self.upkeep.space_due <= now.instant {
            self.upkeep.space_due = now.instant + SPACE_INTERVAL;
            for disk in self.disks.iter_mut().filter(|disk| disk.lost.is_none()) {
                disk.port.submit(DiskCommand::Space, Purpose::Space, now.instant);
            }
        }
        while self.upkeep.doomed.peek().is_some_and(|Reverse((due, ..))| *due <= now.instant) {
            let Some(Reverse((_, disk, directory, name))) = self.upkeep.doomed.pop() else { break };
            let command = if directory {
                DiskCommand::DeleteDirectory { directory: name }
            } else {
                DiskCommand::DeleteFiles { files: vec![name] }
            };
            self.disks[usize::from(disk.0)].port.submit(command, Purpose::Chore, now.instant);
        }
    }

    fn retain(&mut self, key: PartitionKey, now: Now, out: &mut Vec<Output>) {
        let Some(partition) = self.partitions.get_mut(&key) else { return };
        let disk = partition.disk;
        if self.disks[usize::from(disk.0)].lost.is_some() {
            return;
        }
        partition.log.expire_producers(now.wall);
        let retention = partition.log.apply_retention(now.wall);
        let (after, residence) = (partition.settings.file_delete_delay, partition.residence);
        partition.show();
        if retention.waits_for_name {
            partition.mark_dirty(&mut self.fx);
        }
        if retention.segments > 0 {
            partition.mark_dirty(&mut self.fx);
            let entry = super::disk::entry_of(partition);
            self.send_to_keeper(disk, vec![(key, Some(entry))], now, out);
        }
        let port = &mut self.disks[usize::from(disk.0)].port;
        for (rename, name) in retention.doomed {
            port.submit(rename, Purpose::Doom { name, directory: false, after, left: None }, now.instant);
        }
        if let Some((base, read)) = retention.look_up {
            port.submit(read, Purpose::TimeEntry { key, base, residence }, now.instant);
        }
    }

    /// The disk has read the last entry of a time index for retention: look at the partition again.
    pub(super) fn on_time_entry(
        &mut self,
        (key, residence): (PartitionKey, u32),
        base: Offset,
        result: Result<Done, DiskError>,
        now: Now,
    ) {
        let partition = self.partitions.get_mut(&key).filter(|partition| partition.residence == residence);
        let Some(partition) = partition else { return };
        let bytes = match result {
            Ok(Done::Read(bytes)) => bytes,
            Ok(_) | Err(DiskError::NotFound { .. }) => bytes::Bytes::new(),
            Err(_) => return,
        };
        partition.log.on_time_entry(base, &bytes);
        self.upkeep.queue.push_back(key);
        self.upkeep.queue_due.get_or_insert(now.instant);
    }

    /// Tries again what waits for memory. Where others hold some that the disk has, they are asked for it.
    pub(super) fn retry_starved(&mut self, now: Now, out: &mut Vec<Output>) {
        let mut starved = std::mem::take(&mut self.starved);
        starved.sort_unstable();
        starved.dedup();
        for key in starved {
            let Some(partition) = self.partitions.get_mut(&key) else { continue };
            if partition.retry_waiting(now, &mut self.fx) {
                self.starved.push(key);
            }
        }
        self.starved_due = (!self.starved.is_empty()).then(|| now.instant + STARVED_RETRY);
        let partitions = self.starved.iter().filter_map(|key| self.partitions.get(key));
        if partitions.into_iter().any(|partition| partition.log.tail().share().shortage() > 0) {
            for other in (0..self.shards).map(ShardId).filter(|other| *other != self.me) {
                out.push(Output::Send { to: other, message: ShardMessage::GiveBack });
            }
        }
    }
}
