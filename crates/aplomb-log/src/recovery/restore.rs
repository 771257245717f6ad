//! Writes an old tail into the files: records that a process had only in memory when it was killed.
//!
//! What always holds: doing it twice gives the same files. Bytes go where their partition would
//! have written them. A truncation that the tail knows of, and the disk does not, is carried out:
//! files are cut, segments removed. Everything is synced on return.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use aplomb_disk_api::{DiskError, Entry, EntryKind, FileName, PatientDisk, SmallFile};
use aplomb_model::{DirectoryId, Offset, TopicId, TopicPartition, Uuid};
use bytes::Bytes;

use super::forget::{ForgetError, without};
use crate::layout::top_level::CLUSTER_METADATA_DIR;
use crate::layout::{PARTITION_METADATA, PartitionDir, SegmentFile};
use crate::state_files::{PartitionMetadata, PartitionMetadataError};
use crate::tail::{OldPartition, Recovered, TailRun};

/// The log directories, by id.
pub type DisksById<'a> = [(DirectoryId, &'a dyn PatientDisk)];

/// Which partitions' bytes are written.
pub enum Wanted<'a> {
    /// The metadata log's, which is read to know of the others.
    Metadata,
    /// All others', by the names of their topics; a topic that has none was deleted.
    Topics(&'a dyn Fn(TopicId) -> Option<Arc<str>>),
}

/// What came back from an old tail.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Partitions of which bytes were written.
    pub partitions: usize,
    /// Bytes that were written.
    pub bytes: u64,
    /// Things worth a line in the log.
    pub remarks: Vec<String>,
}

/// Why the files do not have what the tail has.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// A disk has failed.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// A checkpoint file cannot be read.
    #[error(transparent)]
    Checkpoint(#[from] ForgetError),
    /// A partition's directory does not say whose it is.
    #[error("{name}: {error}")]
    Metadata {
        /// Which file should say so.
        name: FileName,
        /// What is wrong with it.
        error: PartitionMetadataError,
    },
    /// The log directory that the records belong to is missing.
    #[error("it has {bytes} bytes for a log directory with the id {directory}, which is not among log.dirs")]
    UnknownDirectory {
        /// The log directory's id.
        directory: DirectoryId,
        /// Bytes that were never reported durable.
        bytes: u64,
    },
}

/// Writes what `recovered` has of the wanted partitions into their files. `unique` draws ids for
/// directories that are moved out of the way.
///
/// # Errors
/// [`RestoreError`]: the old tail must be kept as it is, and the broker must not start.
pub fn restore(
    recovered: &Recovered<'_>,
    disks: &DisksById<'_>,
    wanted: &Wanted<'_>,
    unique: &mut dyn FnMut() -> Uuid,
) -> Result<Restored, RestoreError> {
    let mut places = Vec::new();
    let mut claims: BTreeMap<DirectoryId, Vec<SmallFile>> = BTreeMap::new();
    for partition in &recovered.partitions {
        let name = match wanted {
            Wanted::Metadata if partition.topic == Uuid::ONE => CLUSTER_METADATA_DIR.to_owned(),
            Wanted::Topics(names) if partition.topic != Uuid::ONE => {
                let Some(topic) = names(partition.topic) else { continue };
                PartitionDir::serving(TopicPartition { topic, partition: partition.partition }).name()
            }
            Wanted::Metadata | Wanted::Topics(_) => continue,
        };
        let Some((_, disk)) = disks.iter().find(|(id, _)| *id == partition.directory) else {
            let bytes = partition.runs.iter().map(|run| run.len - run.durable).sum();
            return Err(RestoreError::UnknownDirectory { directory: partition.directory, bytes });
        };
        if matches!(wanted, Wanted::Topics(_)) {
            claims.entry(partition.directory).or_default().extend(claim(*disk, &name, partition, unique)?);
        }
        places.push((*disk, name, partition));
    }
    // Together, so that ten thousand partitions which the disk had not heard of yet cost a few
    // syncs and not one each.
    for (directory, disk) in disks {
        if let Some(files) = claims.remove(directory).filter(|files| !files.is_empty()) {
            let names: BTreeSet<TopicPartition> = files.iter().filter_map(claimed).collect();
            let mut publish = without(*disk, &|partition| names.contains(partition))?;
            publish.extend(files);
            disk.publish(&publish)?;
        }
    }
    let mut restored = Restored::default();
    let mut written: BTreeMap<DirectoryId, Vec<FileName>> = BTreeMap::new();
    for (disk, name, partition) in places {
        let mut one = OnePartition { disk, name: &name, restored: &mut restored, files: Vec::new() };
        one.restore(partition)?;
        written.entry(partition.directory).or_default().append(&mut one.files);
    }
    for (directory, disk) in disks {
        if let Some(files) = written.get(directory) {
            disk.sync(files)?;
        }
    }
    Ok(restored)
}

/// The partition whose directory a file claims.
fn claimed(file: &SmallFile) -> Option<TopicPartition> {
    Some(PartitionDir::parse(file.name.parent()?).ok()?.partition)
}

/// Sees to it that the directory is the partition's own: a deleted topic of the same name may have
/// left its files. Gives the file that makes it so, if it has to be made.
fn claim(
    disk: &dyn PatientDisk,
    name: &str,
    partition: &OldPartition<'_>,
    unique: &mut dyn FnMut() -> Uuid,
) -> Result<Option<SmallFile>, RestoreError> {
    let file = FileName::new(format!("{name}/{PARTITION_METADATA}"));
    match disk.read(&file, 0, 4096) {
        Ok(bytes) => {
            let found = PartitionMetadata::parse(&bytes)
                .map_err(|error| RestoreError::Metadata { name: file.clone(), error })?;
            if found.topic_id == partition.topic {
                return Ok(None);
            }
            let of = PartitionDir::parse(name).expect("it was made as such a name").partition;
            let away = PartitionDir::deleted(of, unique()).name();
            disk.rename(&FileName::new(name), &FileName::new(away))?;
        }
        Err(DiskError::NotFound { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let content = PartitionMetadata { topic_id: partition.topic }.encode();
    Ok(Some(SmallFile { name: file, content: Bytes::from(content) }))
}

/// One partition on its way into its files.
struct OnePartition<'a> {
    disk: &'a dyn PatientDisk,
    name: &'a str,
    restored: &'a mut Restored,
    files: Vec<FileName>,
}

impl OnePartition<'_> {
    fn restore(&mut self, partition: &OldPartition<'_>) -> Result<(), RestoreError> {
        let found = match self.disk.list(Some(&FileName::new(self.name))) {
            Ok(entries) => entries,
            Err(DiskError::NotFound { .. }) => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        self.remove_what_is_no_more(partition, &found)?;
        for end in &partition.segments {
            if let Some(len) = length_of(&found, end.segment_base).filter(|len| *len > end.at) {
                let file = self.log_of(end.segment_base);
                self.disk.truncate(&file, end.at)?;
                self.files.push(file);
                self.remark(format!(
                    "the segment at {} was cut from {len} to {} bytes",
                    end.segment_base, end.at
                ));
            }
        }
        let mut bytes = 0;
        for run in &partition.runs {
            let len = length_of(&found, run.segment_base);
            if len.is_none() && run.at + run.durable > 0 {
                // Without what was before it, the log would have a hole, and everything behind that
                // would be cut.
                self.remark(format!(
                    "the segment at {} is gone, of which the disk had reported {} bytes: it is left out",
                    run.segment_base,
                    run.at + run.durable
                ));
                continue;
            }
            let len = len.unwrap_or(0);
            if len < run.at + run.durable {
                self.remark(format!(
                    "the segment at {} has {len} bytes where the disk had reported {}",
                    run.segment_base,
                    run.at + run.durable
                ));
            }
            bytes += self.write(run, len)?;
        }
        if let Some(damage) = &partition.damage {
            self.remark(format!(
                "{} bytes of the tail behind byte {} of the segment at {} are damaged and were left out",
                damage.lost, damage.at, damage.segment_base
            ));
        }
        self.restored.partitions += usize::from(bytes > 0);
        self.restored.bytes += bytes;
        Ok(())
    }

    /// Writes what the file lacks: all that the disk had not reported as durable, and all that is
    /// missing for whatever reason.
    fn write(&mut self, run: &TailRun<'_>, len: u64) -> Result<u64, RestoreError> {
        let present = run.durable.min(len.saturating_sub(run.at));
        let file = self.log_of(run.segment_base);
        let (mut at, mut skip) = (run.at + present, present);
        for slice in &run.slices {
            let skipped = skip.min(slice.len() as u64);
            skip -= skipped;
            let rest = &slice[usize::try_from(skipped).expect("no longer than the slice")..];
            if !rest.is_empty() {
                self.disk.write(&file, at, rest)?;
                at += rest.len() as u64;
            }
        }
        if run.len > present {
            self.files.push(file);
        }
        Ok(run.len - present)
    }

    /// Removes files of segments that the tail knows not to be part of the log.
    fn remove_what_is_no_more(
        &mut self,
        partition: &OldPartition<'_>,
        found: &[Entry],
    ) -> Result<(), RestoreError> {
        let Some(first) = partition.segments.first() else { return Ok(()) };
        for entry in found {
            // Snapshots are named by what they cover; loading tells those that cover too much.
            let Some((kind, base, None)) = SegmentFile::parse(&entry.name) else { continue };
            let known = partition.segments.iter().any(|end| end.segment_base == base);
            if kind != SegmentFile::Snapshot && base >= first.segment_base && !known {
                self.disk.remove(&FileName::new(format!("{}/{}", self.name, entry.name)))?;
                self.remark(format!("{} was no part of the log any more and was removed", entry.name));
            }
        }
        Ok(())
    }

    fn log_of(&self, base: Offset) -> FileName {
        SegmentFile::Log.within(self.name, base)
    }

    fn remark(&mut self, text: String) {
        self.restored.remarks.push(format!("{}: {text}", self.name));
    }
}

fn length_of(found: &[Entry], base: Offset) -> Option<u64> {
    let name = SegmentFile::Log.name(base);
    found.iter().find(|entry| entry.name == name).and_then(|entry| match entry.kind {
        EntryKind::File { len, .. } => Some(len),
        EntryKind::Directory => None,
    })
}

#[cfg(test)]
mod tests {
    use aplomb_disk_api::DiskIndex;
    use aplomb_disk_api::sim::{SimDisk, SimOptions};
    use aplomb_model::batch::{BatchBuilder, BatchHeader};
    use aplomb_model::{PartitionIndex, Timestamp};

    use super::*;
    use crate::tail::{
        ArenaMemory, CrashSwitch, LogEnd, LogTail, OldTail, TailBatch, TailShare, open_shares,
    };

    const DISK: DirectoryId = Uuid::from_u128(1 << 100);
    const ORDERS: TopicId = Uuid::from_u128(2 << 100);

    struct Story {
        disk: SimDisk,
        share: Arc<TailShare>,
        tail: LogTail,
    }

    impl Story {
        fn begin(topic: TopicId) -> Self {
            let disk = SimDisk::new(DiskIndex(0), SimOptions::default());
            let memory = ArenaMemory::heap(1 << 20);
            let shares = open_shares(memory, 4096, &[DISK], 1, Some(CrashSwitch::armed())).expect("it fits");
            let start = LogEnd { segment_base: Offset::ZERO, at: 0, offset: Offset::ZERO };
            let tail = LogTail::new(Arc::clone(&shares[0]), topic, PartitionIndex(0), start);
            Self { disk, share: Arc::clone(&shares[0]), tail }
        }

        /// Appends one record and gives the bytes of its batch.
        fn append(&mut self, value: &str) -> Bytes {
            let mut builder = BatchBuilder::new(self.tail.end().offset);
            builder.append(Timestamp(7), None, Some(value.as_bytes()), &[]);
            let bytes = builder.build();
            let facts = TailBatch::of(&BatchHeader::parse(&bytes).expect("a batch"));
            self.tail.push(self.tail.end().at, &[&bytes], facts).expect("there is room");
            bytes
        }

        /// The process is killed; the next one writes what it finds into the files.
        fn killed(&self, wanted: &Wanted<'_>) -> Result<Restored, RestoreError> {
            let image = self.share.arena().image().expect("there is a switch");
            let old = OldTail::open(image).expect("an arena");
            restore(&old.recover(), &[(DISK, &self.disk)], wanted, &mut || Uuid::from_u128(9 << 100))
        }

        fn read(&self, name: &str) -> Option<Vec<u8>> {
            self.disk.file(name).map(|bytes| bytes.to_vec())
        }

        fn write(&self, name: &str, bytes: &[u8]) {
            let content = Bytes::copy_from_slice(bytes);
            let file = SmallFile { name: FileName::new(name), content };
            self.disk.publish(&[file]).expect("it can be written");
        }
    }

    fn orders(topic: TopicId) -> Option<Arc<str>> {
        (topic == ORDERS).then(|| "orders".into())
    }

    const LOG: &str = "orders-0/00000000000000000000.log";

    #[test]
    fn a_partition_that_no_disk_knew_gets_its_directory_and_its_records() {
        let mut story = Story::begin(ORDERS);
        let bytes = [story.append("one"), story.append("two")].concat();
        for _ in 0..2 {
            let restored = story.killed(&Wanted::Topics(&orders)).expect("the disk is well");
            assert!(restored.remarks.is_empty(), "{restored:?}");
            assert_eq!(story.read(LOG), Some(bytes.clone()));
            let metadata = story.read("orders-0/partition.metadata").expect("it was written");
            assert_eq!(PartitionMetadata::parse(&metadata).expect("it is right").topic_id, ORDERS);
        }
    }

    #[test]
    fn the_metadata_log_comes_first_and_deleted_topics_never() {
        let mut story = Story::begin(Uuid::ONE);
        let bytes = story.append("a record");
        let nothing = story.killed(&Wanted::Topics(&|_| Some("x".into()))).expect("the disk is well");
        assert_eq!(nothing, Restored::default());
        story.write("__cluster_metadata-0/quorum-state", b"{}");
        story.killed(&Wanted::Metadata).expect("the disk is well");
        assert_eq!(story.read("__cluster_metadata-0/00000000000000000000.log"), Some(bytes.to_vec()));

        let mut story = Story::begin(ORDERS);
        story.append("of a deleted topic");
        story.killed(&Wanted::Topics(&|_| None)).expect("the disk is well");
        assert_eq!(story.read(LOG), None);
    }

    #[test]
    fn a_deleted_topic_of_the_same_name_makes_way() {
        let mut story = Story::begin(ORDERS);
        let older = PartitionMetadata { topic_id: Uuid::from_u128(3 << 100) }.encode();
        story.write("orders-0/partition.metadata", older.as_bytes());
        story.write(LOG, b"records of the older topic");
        let bytes = story.append("one");
        story.killed(&Wanted::Topics(&orders)).expect("the disk is well");
        assert_eq!(story.read(LOG), Some(bytes.to_vec()));
        let away = PartitionDir::deleted(TopicPartition::new("orders", 0), Uuid::from_u128(9 << 100)).name();
        assert!(story.read(&format!("{away}/00000000000000000000.log")).is_some());
    }

    #[test]
    fn files_follow_what_was_cut_in_memory() {
        let mut story = Story::begin(ORDERS);
        let kept = story.append("kept");
        let cut = story.append("cut off");
        story
            .write("orders-0/partition.metadata", PartitionMetadata { topic_id: ORDERS }.encode().as_bytes());
        story.write(LOG, &[&kept[..], &cut[..]].concat());
        story.write("orders-0/00000000000000000002.log", b"a segment after the cut");
        story.write("orders-0/00000000000000000002.index", b"and its index");
        story.tail.truncate_to(Offset::new(1));
        let restored = story.killed(&Wanted::Topics(&orders)).expect("the disk is well");
        assert_eq!(story.read(LOG), Some(kept.to_vec()));
        assert_eq!(story.read("orders-0/00000000000000000002.log"), None);
        assert_eq!(story.read("orders-0/00000000000000000002.index"), None);
        assert_eq!(restored.remarks.len(), 3, "{restored:?}");
    }

    #[test]
    fn a_file_that_was_deleted_after_it_was_written_is_not_made_again() {
        let mut story = Story::begin(ORDERS);
        story.append("old");
        drop(story.tail.take_unwritten(u64::MAX));
        story.tail.on_durable(Offset::new(1));
        let behind = story.append("behind it");
        let restored = story.killed(&Wanted::Topics(&orders)).expect("the disk is well");
        assert_eq!(story.read(LOG), None, "with {} bytes it would be a log with a hole", behind.len());
        assert_eq!(restored.remarks.len(), 1, "{restored:?}");
    }

    #[test]
    fn records_of_a_log_directory_that_is_not_there_any_more_are_not_given_up() {
        let mut story = Story::begin(ORDERS);
        story.append("one");
        let image = story.share.arena().image().expect("there is a switch");
        let old = OldTail::open(image).expect("an arena");
        let other = [(Uuid::from_u128(5 << 100), &story.disk as &dyn PatientDisk)];
        let result = restore(&old.recover(), &other, &Wanted::Topics(&orders), &mut || Uuid::ONE);
        assert!(matches!(result, Err(RestoreError::UnknownDirectory { directory: DISK, .. })), "{result:?}");
    }
}
