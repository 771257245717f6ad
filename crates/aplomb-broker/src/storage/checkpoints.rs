//! Keeps the checkpoint files of the log directories: of recovery points, log starts, high
//! watermarks and compaction (`aplomb_log::layout::top_level`). One shard does so for all, since a
//! file has the partitions of all shards.
//!
//! What always holds: of each directory one set of files at most is being written.

use std::collections::BTreeMap;
use std::time::Duration;

use aplomb_disk_api::{DiskIndex, FileName, SmallFile};
use aplomb_log::Log;
use aplomb_log::checkpoint::encode_offsets;
use aplomb_log::layout::top_level;
use aplomb_model::{Instant, Offset, TopicPartition};

use crate::calls::PartitionKey;
use crate::partition::Partition;

/// DirectoryOffsets of one partition that are kept in a log directory's checkpoint files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointEntry {
    /// The partition, by name.
    pub name: TopicPartition,
    /// Everything below is durable, with its indexes and producer state.
    pub recovery_point: Offset,
    /// Everything below is committed.
    pub high_watermark: Offset,
    /// The log start offset, unless it is 0. Also where the first segment says the same: until the
    /// segments below it have other names, a kill brings them back.
    pub log_start: Option<Offset>,
    /// Below, compaction has been; `None` if it never was.
    pub cleaned: Option<Offset>,
}

impl CheckpointEntry {
    /// What the files say of a partition.
    pub(crate) fn of(partition: &Partition) -> Self {
        Self::of_log(partition.name().clone(), partition.log())
    }

    /// What the files say of a log.
    pub(crate) fn of_log(name: TopicPartition, log: &Log) -> Self {
        Self {
            name,
            recovery_point: log.recovery_point(),
            high_watermark: log.high_watermark(),
            log_start: (log.start() > Offset::ZERO).then_some(log.start()),
            cleaned: log.cleaned(),
        }
    }
}

/// A change to what the checkpoint files say; `None` removes the partition.
pub(crate) type CheckpointChange = (PartitionKey, Option<CheckpointEntry>);

/// The offsets of one log directory.
#[derive(Debug, Default)]
struct DirectoryOffsets {
    entries: BTreeMap<PartitionKey, CheckpointEntry>,
    /// Compaction has been here: until then its file is left as it is.
    compacted: bool,
    due: Option<Instant>,
    writing: bool,
    /// Partitions that the next files do not have any more, and those that the files under way do
    /// not have.
    forgotten: Vec<(PartitionKey, TopicPartition)>,
    being_forgotten: Vec<(PartitionKey, TopicPartition)>,
    /// Partitions of which somebody wants to know when the files say what they are to say: the next
    /// ones, and those under way.
    to_record: Vec<PartitionKey>,
    being_recorded: Vec<PartitionKey>,
}

/// What a set of files that is written has brought about.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// Partitions that the files have forgotten.
    pub(crate) gone: Vec<(PartitionKey, TopicPartition)>,
    /// Partitions of which the files say what they were to say.
    pub(crate) recorded: Vec<PartitionKey>,
}

/// The checkpoint files of all log directories.
#[derive(Debug)]
pub(crate) struct Checkpoints {
    disks: Vec<DirectoryOffsets>,
    interval: Duration,
}

impl Checkpoints {
    pub(crate) fn new(disks: usize, interval: Duration) -> Self {
        Self { disks: (0..disks).map(|_| DirectoryOffsets::default()).collect(), interval }
    }

    /// What the files say already.
    pub(crate) fn begin(&mut self, disk: usize, entries: Vec<(PartitionKey, CheckpointEntry)>) {
        let offsets = &mut self.disks[disk];
        offsets.compacted |= entries.iter().any(|(_, entry)| entry.cleaned.is_some());
        offsets.entries.extend(entries);
    }

    /// Takes changes; they are written within the interval.
    pub(crate) fn take(&mut self, disk: DiskIndex, changes: Vec<CheckpointChange>, now: Instant) {
        let offsets = &mut self.disks[usize::from(disk.0)];
        for (key, entry) in changes {
            match entry {
                Some(entry) => {
                    offsets.compacted |= entry.cleaned.is_some();
                    offsets.entries.insert(key, entry);
                }
                None => {
                    offsets.entries.remove(&key);
                }
            }
        }
        offsets.due.get_or_insert(now + self.interval);
    }

    /// A partition is to be forgotten as soon as can be: [`Self::on_written`] says when it is.
    pub(crate) fn forget(&mut self, disk: DiskIndex, key: PartitionKey, name: TopicPartition, now: Instant) {
        let offsets = &mut self.disks[usize::from(disk.0)];
        offsets.entries.remove(&key);
        offsets.forgotten.push((key, name));
        offsets.due = Some(offsets.due.map_or(now, |due| due.min(now)));
    }

    /// The files are to say this of a partition as soon as can be: [`Self::on_written`] says when
    /// they do.
    pub(crate) fn record_now(
        &mut self,
        disk: DiskIndex,
        key: PartitionKey,
        entry: Option<CheckpointEntry>,
        now: Instant,
    ) {
        self.take(disk, vec![(key, entry)], now);
        let offsets = &mut self.disks[usize::from(disk.0)];
        offsets.to_record.push(key);
        offsets.due = Some(now);
    }

    /// The disk is lost: nothing more is written there.
    pub(crate) fn lose(&mut self, disk: DiskIndex) -> Written {
        let offsets = &mut self.disks[usize::from(disk.0)];
        let mut gone = std::mem::take(&mut offsets.forgotten);
        gone.append(&mut offsets.being_forgotten);
        let mut recorded = std::mem::take(&mut offsets.to_record);
        recorded.append(&mut offsets.being_recorded);
        Written { gone, recorded }
    }

    pub(crate) fn wake_at(&self) -> Option<Instant> {
        self.disks.iter().filter(|offsets| !offsets.writing).filter_map(|offsets| offsets.due).min()
    }

    /// The files that are due, with the disks that they belong to. One set a disk is under way at a
    /// time.
    pub(crate) fn poll(&mut self, now: Instant) -> Vec<(DiskIndex, Vec<SmallFile>)> {
        let mut due = Vec::new();
        for (n, offsets) in self.disks.iter_mut().enumerate() {
            if !offsets.writing && offsets.due.take_if(|due| *due <= now).is_some() {
                offsets.writing = true;
                offsets.being_forgotten = std::mem::take(&mut offsets.forgotten);
                offsets.being_recorded = std::mem::take(&mut offsets.to_record);
                due.push((DiskIndex(n as u16), files(offsets)));
            }
        }
        due
    }

    /// A set is written.
    pub(crate) fn on_written(&mut self, disk: DiskIndex) -> Written {
        let offsets = &mut self.disks[usize::from(disk.0)];
        offsets.writing = false;
        Written {
            gone: std::mem::take(&mut offsets.being_forgotten),
            recorded: std::mem::take(&mut offsets.being_recorded),
        }
    }

    /// The files as they are now, for the end.
    pub(crate) fn files(&self, disk: DiskIndex) -> Vec<SmallFile> {
        files(&self.disks[usize::from(disk.0)])
    }
}

fn files(offsets: &DirectoryOffsets) -> Vec<SmallFile> {
    let file = |name: &'static str, offset: fn(&CheckpointEntry) -> Option<Offset>| {
        let lines = offsets.entries.values().filter_map(|entry| Some((&entry.name, offset(entry)?)));
        SmallFile { name: FileName::new(name), content: encode_offsets(lines).into() }
    };
    let mut files = vec![
        file(top_level::RECOVERY_POINT_CHECKPOINT, |entry| Some(entry.recovery_point)),
        file(top_level::LOG_START_CHECKPOINT, |entry| entry.log_start),
        file(top_level::REPLICATION_CHECKPOINT, |entry| Some(entry.high_watermark)),
    ];
    if offsets.compacted {
        files.push(file(top_level::CLEANER_CHECKPOINT, |entry| entry.cleaned));
    }
    files
}
