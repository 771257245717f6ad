//! Writes an old tail into the files: records that a process had only in memory when it was killed.
//!
//! What always holds: doing it twice gives the same files. Bytes go where their partition would
//! have written them; where the file does not reach as far as that (`hole`), a segment of its own
//! begins with them. A truncation that the tail knows of, and the disk does not, is carried out:
//! files are cut, segments removed. Everything is synced on return.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use aplomb_disk_api::{DiskError, Entry, EntryKind, FileName, PatientDisk, SmallFile};
use aplomb_model::{DirectoryId, Offset, TopicId, TopicPartition, Uuid};
use bytes::Bytes;

use super::forget::{ForgetError, without};
use super::hole::{INDEXES, believe_behind};
use super::scan::scan_segment;
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
    let mut holes: BTreeMap<DirectoryId, Vec<(String, Offset)>> = BTreeMap::new();
    for (disk, name, partition) in places {
        let mut one = OnePartition {
            disk,
            name: &name,
            restored: &mut restored,
            files: Vec::new(),
            behind_holes: None,
        };
        one.restore(partition)?;
        if let Some(end) = one.behind_holes {
            holes.entry(partition.directory).or_default().push((name.clone(), end));
        }
        written.entry(partition.directory).or_default().append(&mut one.files);
    }
    for (directory, disk) in disks {
        if let Some(files) = written.get(directory) {
            disk.sync(files)?;
        }
        if let Some(holes) = holes.get(directory) {
            believe_behind(*disk, holes)?;
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
    /// To be synced.
    files: Vec<FileName>,
    /// Where the last run ends that follows a gap.
    behind_holes: Option<Offset>,
}

/// Where the bytes of a segment go.
struct RunPlace {
    /// Of the segment that they go into.
    base: Offset,
    /// Where that begins in the segment that the tail means.
    origin: u64,
    /// How far its file reaches by now.
    reach: u64,
}

impl RunPlace {
    /// The place of a byte of the segment that the tail means.
    fn of(&self, at: u64) -> u64 {
        at - self.origin
    }
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
        let mut places: BTreeMap<Offset, RunPlace> = BTreeMap::new();
        for run in &partition.runs {
            let len = length_of(&found, run.segment_base);
            let place = places.entry(run.segment_base).or_insert(RunPlace {
                base: run.segment_base,
                origin: 0,
                reach: len.unwrap_or(0),
            });
            let has = len.map_or("is gone".to_owned(), |_| format!("has {} bytes", place.reach));
            if place.reach < place.of(run.at) {
                let what = format!(
                    "the segment at {} {has}, and the tail goes on at byte {} of it",
                    run.segment_base, run.at
                );
                if partition.topic == Uuid::ONE {
                    self.remark(format!("{what}: records {} to {} are left out", run.first, run.end));
                    continue;
                }
                self.remark(format!(
                    "{what}: what lies between is lost, and records {} to {} follow a gap",
                    run.first, run.end
                ));
                *place = self.begin_behind_a_hole(place, run)?;
            } else if place.reach < place.of(run.at + run.durable) {
                self.remark(format!(
                    "the segment at {} {has}, of which the disk had reported {}: the tail has what is missing",
                    run.segment_base,
                    place.of(run.at + run.durable)
                ));
            }
            bytes += self.write(run, place)?;
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
    fn write(&mut self, run: &TailRun<'_>, place: &mut RunPlace) -> Result<u64, RestoreError> {
        let begin = place.of(run.at);
        let present = run.durable.min(place.reach.saturating_sub(begin));
        let file = self.log_of(place.base);
        let (mut at, mut skip) = (begin + present, present);
        for slice in &run.slices {
            let skipped = skip.min(slice.len() as u64);
            skip -= skipped;
            let rest = &slice[usize::try_from(skipped).expect("no longer than the slice")..];
            if !rest.is_empty() {
                self.disk.write(&file, at, rest)?;
                at += rest.len() as u64;
            }
        }
        place.reach = place.reach.max(begin + run.len);
        if run.len > present {
            self.files.push(file);
        }
        Ok(run.len - present)
    }

    /// The segment before ends with its last whole batch, and `run` begins one of its own.
    fn begin_behind_a_hole(
        &mut self,
        before: &RunPlace,
        run: &TailRun<'_>,
    ) -> Result<RunPlace, RestoreError> {
        let log = self.log_of(before.base);
        let scanned = scan_segment(self.disk, &log, 0..before.reach, true, |_| true);
        let end = match scanned {
            Ok(scanned) => scanned.end,
            Err(DiskError::NotFound { .. }) => 0,
            Err(error) => return Err(error.into()),
        };
        if end == 0 {
            for kind in SegmentFile::OF_SEGMENT {
                self.disk.remove(&kind.within(self.name, before.base))?;
            }
        } else if end < before.reach {
            self.disk.truncate(&log, end)?;
            self.files.push(log);
            for kind in INDEXES {
                self.disk.remove(&kind.within(self.name, before.base))?;
            }
        }
        self.behind_holes = Some(run.end);
        Ok(RunPlace { base: run.first, origin: run.at, reach: 0 })
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
mod tests;
