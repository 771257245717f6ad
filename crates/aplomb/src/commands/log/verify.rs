//! `aplomb log verify`: one line on the standard output for everything in a log directory that is
//! not in order.
//!
//! What is checked is what a broker relies on and does not look at when it starts after a clean
//! stop: batches' checksums, offsets and epochs that rise, indexes that lead to the batches they
//! name, checkpoints that do not reach beyond their logs.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use aplomb_log::checkpoint::parse_offsets;
use aplomb_log::epochs::LeaderEpochs;
use aplomb_log::index::{IndexTail, OffsetIndex, TimeIndex, parse_aborted};
use aplomb_log::layout::top_level::{CLEAN_SHUTDOWN, CLUSTER_METADATA_DIR, META_PROPERTIES, QUORUM_STATE};
use aplomb_log::layout::top_level::{
    LOG_START_CHECKPOINT, RECOVERY_POINT_CHECKPOINT, REPLICATION_CHECKPOINT,
};
use aplomb_log::layout::{
    DirectoryRole, LEADER_EPOCH_CHECKPOINT, LogDirEntry, PARTITION_METADATA, SegmentFile,
};
use aplomb_log::producers::parse_snapshot;
use aplomb_log::state_files::{MetaProperties, PartitionMetadata, QuorumState};
use aplomb_model::batch::{BatchHeader, Batches};
use aplomb_model::{LeaderEpoch, Offset, Timestamp, TopicPartition};

use super::batches::{BatchFile, Found};
use super::dump::{LARGEST_BATCH, named};
use super::kind::{OFFSET_CHECKPOINTS, is_metadata_snapshot};
use super::{VerifyArgs, finish};

/// Checks the directories. 1 says that something was found.
pub(super) fn run(args: &VerifyArgs, out: impl Write) -> ExitCode {
    let mut check = Check { deep: args.deep, out, seen: Seen::default() };
    let result = check.all(&args.directories);
    let code = result.map(|()| if check.seen.findings == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    finish(code, check.out)
}

#[derive(Default)]
struct Seen {
    logs: u64,
    segments: u64,
    batches: u64,
    findings: u64,
}

struct Check<W> {
    deep: bool,
    out: W,
    seen: Seen,
}

/// What a batch is to the indexes.
struct Place {
    position: u64,
    first: Offset,
    last: Offset,
    greatest: Timestamp,
}

/// A log as far as it has been read.
#[derive(Default)]
struct Walk {
    /// The offset after the last batch.
    end: Offset,
    epoch: Option<LeaderEpoch>,
    epochs: LeaderEpochs,
}

impl<W: Write> Check<W> {
    fn all(&mut self, directories: &[PathBuf]) -> io::Result<()> {
        for directory in directories {
            let entries = names_in(directory)?;
            let holds_segments = entries.iter().any(|name| SegmentFile::parse(name).is_some());
            if holds_segments {
                let clean = directory.parent().is_some_and(|parent| parent.join(CLEAN_SHUTDOWN).exists());
                self.log(directory, clean)?;
            } else {
                self.log_directory(directory, &entries)?;
            }
        }
        let Seen { logs, segments, batches, findings } = self.seen;
        writeln!(self.out, "{logs} logs, {segments} segments, {batches} batches, {findings} findings")
    }

    fn found(&mut self, path: &Path, what: impl Display) -> io::Result<()> {
        self.seen.findings += 1;
        writeln!(self.out, "{}: {what}", path.display())
    }

    fn log_directory(&mut self, directory: &Path, entries: &[String]) -> io::Result<()> {
        let clean = entries.iter().any(|name| name == CLEAN_SHUTDOWN);
        let meta = directory.join(META_PROPERTIES);
        self.parsed(&meta, MetaProperties::parse)?;
        let mut ends = BTreeMap::new();
        for name in entries {
            let path = directory.join(name);
            if !path.is_dir() || name == "lost+found" {
                continue;
            }
            match LogDirEntry::of_directory(name) {
                Ok(LogDirEntry::Partition(partition)) if partition.role == DirectoryRole::Serving => {
                    let end = self.log(&path, clean)?;
                    ends.insert(partition.partition, end);
                }
                Ok(LogDirEntry::ClusterMetadata) => drop(self.log(&path, clean)?),
                // On their way out, or nobody's, or tiered storage's.
                Ok(LogDirEntry::Partition(_) | LogDirEntry::RemoteIndexCache) => {}
                Err(error) => self.found(&path, error)?,
            }
        }
        for name in OFFSET_CHECKPOINTS {
            let path = directory.join(name);
            if let Some(offsets) = self.parsed(&path, parse_offsets)? {
                self.offsets(&path, name, &offsets, &ends)?;
            }
        }
        Ok(())
    }

    fn offsets(
        &mut self,
        path: &Path,
        name: &str,
        offsets: &BTreeMap<TopicPartition, Offset>,
        ends: &BTreeMap<TopicPartition, Offset>,
    ) -> io::Result<()> {
        if ![RECOVERY_POINT_CHECKPOINT, LOG_START_CHECKPOINT, REPLICATION_CHECKPOINT].contains(&name) {
            return Ok(());
        }
        for (partition, offset) in offsets {
            // A line of a partition that is not here is left over from one that was.
            if let Some(end) = ends.get(partition).filter(|end| *end < offset) {
                self.found(path, format_args!("{partition} has {offset} and its log ends at {end}"))?;
            }
        }
        Ok(())
    }

    /// Reads a file that need not be there, and reports one that cannot be parsed.
    fn parsed<T, E: Display>(
        &mut self,
        path: &Path,
        parse: impl FnOnce(&[u8]) -> Result<T, E>,
    ) -> io::Result<Option<T>> {
        let Some(bytes) = read_if_there(path)? else { return Ok(None) };
        match parse(&bytes) {
            Ok(value) => Ok(Some(value)),
            Err(error) => {
                self.found(path, error)?;
                Ok(None)
            }
        }
    }

    /// Checks one log and returns its end.
    fn log(&mut self, directory: &Path, clean: bool) -> io::Result<Offset> {
        self.seen.logs += 1;
        let names = names_in(directory)?;
        let mut bases: Vec<Offset> = Vec::new();
        let mut snapshots: Vec<Offset> = Vec::new();
        for name in &names {
            match SegmentFile::parse(name) {
                Some((SegmentFile::Log, base, None)) => bases.push(base),
                Some((SegmentFile::Snapshot, offset, None)) => snapshots.push(offset),
                _ => {}
            }
        }
        bases.sort();
        self.parsed(&directory.join(PARTITION_METADATA), PartitionMetadata::parse)?;
        self.parsed(&directory.join(QUORUM_STATE), QuorumState::parse)?;
        let epochs_path = directory.join(LEADER_EPOCH_CHECKPOINT);
        let epochs = self.parsed(&epochs_path, LeaderEpochs::parse)?.unwrap_or_default();
        let mut walk = Walk { epochs, ..Walk::default() };
        for (number, base) in bases.iter().enumerate() {
            let last = number + 1 == bases.len();
            self.segment(directory, *base, last, clean, &mut walk)?;
        }
        if let Some(latest) = walk.epochs.latest().filter(|latest| latest.start > walk.end) {
            let (epoch, start, end) = (latest.epoch.to_wire(), latest.start, walk.end);
            self.found(
                &epochs_path,
                format_args!("epoch {epoch} starts at {start} and the log ends at {end}"),
            )?;
        }
        for offset in snapshots {
            let path = directory.join(SegmentFile::Snapshot.name(offset));
            self.parsed(&path, parse_snapshot)?;
            if offset > walk.end {
                self.found(&path, format_args!("the log ends at {}", walk.end))?;
            }
        }
        for name in names.iter().filter(|name| is_metadata_snapshot(name)) {
            // A snapshot of the metadata is a log of its own, whose offsets begin anywhere.
            self.batches(&directory.join(name), Offset::ZERO, &mut Walk::default(), false)?;
        }
        Ok(walk.end)
    }

    fn segment(
        &mut self,
        directory: &Path,
        base: Offset,
        last: bool,
        clean: bool,
        walk: &mut Walk,
    ) -> io::Result<()> {
        self.seen.segments += 1;
        let path = directory.join(SegmentFile::Log.name(base));
        if base < walk.end {
            self.found(&path, format_args!("begins below {}, the end of the segment before it", walk.end))?;
        }
        walk.end = walk.end.max(base);
        let places = self.batches(&path, base, walk, last)?;
        // The active segment's index has reserved space until it is closed, which Apache Kafka
        // never does with those of the metadata log.
        let metadata = directory.file_name().is_some_and(|name| name == CLUSTER_METADATA_DIR);
        let tail =
            if last && (metadata || !clean) { IndexTail::MaybePreallocated } else { IndexTail::Trimmed };
        self.offset_index(&directory.join(SegmentFile::OffsetIndex.name(base)), base, tail, &places)?;
        self.time_index(&directory.join(SegmentFile::TimeIndex.name(base)), base, tail, &places)?;
        self.parsed(&directory.join(SegmentFile::TxnIndex.name(base)), |bytes| parse_aborted(bytes, base))?;
        Ok(())
    }

    fn batches(&mut self, path: &Path, base: Offset, walk: &mut Walk, last: bool) -> io::Result<Vec<Place>> {
        let mut file = BatchFile::open(path).map_err(|error| named(path, &error))?;
        let mut places = Vec::new();
        let mut next = base;
        loop {
            match file.next().map_err(|error| named(path, &error))? {
                Found::Batch { position, header, bytes } => {
                    self.seen.batches += 1;
                    let first = header.base_offset();
                    if first < next {
                        self.found(
                            path,
                            format_args!("batch at position {position} begins at offset {first}, not at {next} or above"),
                        )?;
                    }
                    self.batch(path, position, &header, &bytes)?;
                    self.epoch(path, position, &header, walk)?;
                    next = header.last_offset().plus(1);
                    let greatest = header.max_timestamp();
                    places.push(Place { position, first, last: header.last_offset(), greatest });
                }
                // Apache Kafka reserves space with log.preallocate.
                Found::Zeros { .. } if last => break,
                Found::Zeros { from, len } => {
                    self.found(path, format_args!("{len} zeros from position {from} on"))?;
                    break;
                }
                Found::Damage { position, why } => {
                    self.found(path, format_args!("no batch at position {position}: {why}"))?;
                    break;
                }
                Found::End => break,
            }
        }
        walk.end = walk.end.max(next);
        Ok(places)
    }

    fn batch(&mut self, path: &Path, position: u64, header: &BatchHeader, bytes: &[u8]) -> io::Result<()> {
        let view = Batches::new(bytes).next().expect("the header was read from these bytes");
        if let Err(why) = view.check_crc() {
            return self.found(path, format_args!("batch at position {position}: {why}"));
        }
        if let Err(why) = header.codec() {
            return self.found(path, format_args!("batch at position {position}: {why}"));
        }
        if !self.deep {
            return Ok(());
        }
        let unpacked = match view.uncompressed(LARGEST_BATCH) {
            Ok(unpacked) => unpacked,
            Err(why) => return self.found(path, format_args!("batch at position {position}: {why}")),
        };
        let mut before = -1;
        for record in view.records(&unpacked) {
            match record {
                Ok(record) if record.offset_delta <= before => {
                    return self.found(
                        path,
                        format_args!("records of the batch at position {position} do not rise"),
                    );
                }
                Ok(record) => before = record.offset_delta,
                Err(why) => return self.found(path, format_args!("batch at position {position}: {why}")),
            }
        }
        if i64::from(before) > i64::from(header.last_offset_delta()) {
            return self
                .found(path, format_args!("the batch at position {position} has a record beyond its end"));
        }
        Ok(())
    }

    fn epoch(&mut self, path: &Path, position: u64, header: &BatchHeader, walk: &mut Walk) -> io::Result<()> {
        let Some(epoch) = header.leader_epoch() else { return Ok(()) };
        if let Some(before) = walk.epoch.filter(|before| *before > epoch) {
            let (epoch, before) = (epoch.to_wire(), before.to_wire());
            self.found(path, format_args!("batch at position {position} has epoch {epoch} after {before}"))?;
        }
        walk.epoch = Some(epoch);
        if let Some(listed) = walk.epochs.epoch_of(header.base_offset()).filter(|listed| *listed != epoch) {
            let (epoch, listed) = (epoch.to_wire(), listed.to_wire());
            self.found(
                path,
                format_args!(
                    "batch at position {position} has epoch {epoch}; {LEADER_EPOCH_CHECKPOINT} says {listed}"
                ),
            )?;
        }
        Ok(())
    }

    fn offset_index(
        &mut self,
        path: &Path,
        base: Offset,
        tail: IndexTail,
        places: &[Place],
    ) -> io::Result<()> {
        let Some(bytes) = read_if_there(path)? else { return Ok(()) };
        let index = match OffsetIndex::new(&bytes, base, tail).and_then(|index| index.check().map(|()| index))
        {
            Ok(index) => index,
            Err(error) => return self.found(path, error),
        };
        for entry in index.iter().flatten() {
            let position = u64::from(entry.position);
            let place = places.binary_search_by_key(&position, |place| place.position);
            // A reader begins at the position and has to meet the offset there or behind it.
            let leads = place.is_ok_and(|place| places[place].first <= entry.offset)
                && places.last().is_some_and(|last| entry.offset <= last.last);
            if !leads {
                self.found(
                    path,
                    format_args!("offset {} is not met from position {position} on", entry.offset),
                )?;
            }
        }
        Ok(())
    }

    fn time_index(&mut self, path: &Path, base: Offset, tail: IndexTail, places: &[Place]) -> io::Result<()> {
        let Some(bytes) = read_if_there(path)? else { return Ok(()) };
        let index = match TimeIndex::new(&bytes, base, tail).and_then(|index| index.check().map(|()| index)) {
            Ok(index) => index,
            Err(error) => return self.found(path, error),
        };
        let mut later = places.iter().peekable();
        let mut greatest = Timestamp::NONE;
        for entry in index.iter().flatten() {
            if places.last().is_none_or(|last| last.last < entry.offset) {
                self.found(path, format_args!("offset {} is beyond the segment", entry.offset))?;
                continue;
            }
            while let Some(place) = later.next_if(|place| place.last <= entry.offset) {
                greatest = greatest.max(place.greatest);
            }
            if greatest > entry.timestamp {
                let (listed, there, offset) = (entry.timestamp.0, greatest.0, entry.offset);
                self.found(
                    path,
                    format_args!("up to offset {offset} it has {listed}, and there is {there}"),
                )?;
            }
        }
        Ok(())
    }
}

fn names_in(directory: &Path) -> io::Result<Vec<String>> {
    let entries = fs::read_dir(directory).map_err(|error| named(directory, &error))?;
    let mut names = Vec::new();
    for entry in entries {
        // A name that is no text is none of a log's.
        names.extend(entry?.file_name().into_string());
    }
    names.sort();
    Ok(names)
}

fn read_if_there(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(named(path, &error)),
    }
}
