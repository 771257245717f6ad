//! `aplomb log dump`: files as lines, in the form and with the names of `kafka-dump-log`.

use std::fmt::Debug;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use aplomb_log::checkpoint::parse_offsets;
use aplomb_log::epochs::LeaderEpochs;
use aplomb_log::index::{IndexTail, OffsetIndex, TimeIndex, parse_aborted};
use aplomb_log::producers::parse_snapshot;
use aplomb_log::state_files::{CleanShutdown, PartitionMetadata, PropertiesText, QuorumState};
use aplomb_model::Offset;
use aplomb_model::batch::{BatchHeader, Batches, ControlKind, EndTxnMarker, RecordRef, TimestampType};
use aplomb_protocol::messages::{
    KRaftVersionRecord, LeaderChangeMessage, SnapshotFooterRecord, SnapshotHeaderRecord, VotersRecord,
};
use aplomb_protocol::{Message, MetadataRecord, Reader};
use bytes::Bytes;
use serde_json::Value;

use super::batches::{BatchFile, Found};
use super::kind::Kind;
use super::line::Line;
use super::{DumpArgs, finish};

/// The largest batch that is unpacked, in bytes.
pub(super) const LARGEST_BATCH: usize = 1 << 30;

/// Dumps the files. 1 says that one of them was damaged.
pub(super) fn run(args: &DumpArgs, out: impl Write) -> ExitCode {
    let mut dump = Dump { args, out, file: String::new(), damaged: false };
    let result = dump.all().map(|()| if dump.damaged { ExitCode::FAILURE } else { ExitCode::SUCCESS });
    finish(result, dump.out)
}

struct Dump<'a, W> {
    args: &'a DumpArgs,
    out: W,
    file: String,
    damaged: bool,
}

/// The files in a directory, by name.
fn files_in(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory).map_err(|error| named(directory, &error))?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    files.sort();
    Ok(files)
}

/// An error with the file that it is about.
pub(super) fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

impl<W: Write> Dump<'_, W> {
    fn all(&mut self) -> io::Result<()> {
        for path in &self.args.paths {
            if path.is_dir() {
                for file in files_in(path)? {
                    if file.is_file() && Kind::of(&file).is_some() {
                        self.file(&file)?;
                    }
                }
            } else {
                self.file(path)?;
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path) -> io::Result<()> {
        self.file = path.display().to_string();
        if !self.args.json {
            writeln!(self.out, "Dumping {}", self.file)?;
        }
        let result = match Kind::of(path) {
            Some(Kind::Batches { metadata }) => return self.batches(path, metadata || self.args.metadata),
            None => Err("no file of a log by its name".to_owned()),
            Some(kind) => {
                let bytes = fs::read(path).map_err(|error| named(path, &error))?;
                self.small(kind, &bytes)?
            }
        };
        if let Err(why) = result {
            self.damage(&why)?;
        }
        Ok(())
    }

    /// Says on the standard error what is wrong, after what was right.
    fn damage(&mut self, why: &str) -> io::Result<()> {
        self.damaged = true;
        self.out.flush()?;
        writeln!(io::stderr(), "aplomb: {}: {why}", self.file)
    }

    fn print(&mut self, line: &Line) -> io::Result<()> {
        line.write(self.args.json, &self.file, &mut self.out)
    }

    fn wants(&self, offset: u64) -> bool {
        self.args.offsets.as_ref().is_none_or(|range| range.contains(&offset))
    }

    /// Everything but batches. The inner error says what is damaged.
    fn small(&mut self, kind: Kind, bytes: &[u8]) -> io::Result<Result<(), String>> {
        // An index of a running or killed Apache Kafka ends in zeros.
        let tail = IndexTail::MaybePreallocated;
        let mut lines = Vec::new();
        let result = match kind {
            Kind::OffsetIndex(base) => OffsetIndex::new(bytes, base, tail)
                .and_then(|index| {
                    for entry in index.iter() {
                        let entry = entry?;
                        if self.wants(entry.offset.get()) {
                            lines.push(
                                Line::new()
                                    .with("offset", entry.offset.get())
                                    .with("position", entry.position),
                            );
                        }
                    }
                    index.check()
                })
                .map_err(|error| error.to_string()),
            Kind::TimeIndex(base) => TimeIndex::new(bytes, base, tail)
                .and_then(|index| {
                    for entry in index.iter() {
                        let entry = entry?;
                        if self.wants(entry.offset.get()) {
                            lines.push(
                                Line::new()
                                    .with("timestamp", entry.timestamp.0)
                                    .with("offset", entry.offset.get()),
                            );
                        }
                    }
                    index.check()
                })
                .map_err(|error| error.to_string()),
            Kind::TxnIndex(base) => parse_aborted(bytes, base)
                .map(|entries| {
                    lines.extend(entries.iter().filter(|entry| self.wants(entry.last_offset.get())).map(
                        |entry| {
                            Line::new()
                                .with("version", 0)
                                .with("producerId", entry.producer.to_wire())
                                .with("firstOffset", entry.first_offset.get())
                                .with("lastOffset", entry.last_offset.get())
                                .with("lastStableOffset", entry.last_stable_offset.get())
                        },
                    ));
                })
                .map_err(|error| error.to_string()),
            Kind::Producers => parse_snapshot(bytes)
                .map(|producers| {
                    lines.extend(producers.iter().map(|(id, entry)| {
                        let open = optional(entry.open_transaction().map(Offset::to_wire));
                        let line = Line::new()
                            .with("producerId", id.to_wire())
                            .with("producerEpoch", entry.epoch().0)
                            .with("coordinatorEpoch", entry.coordinator_epoch())
                            .with("currentTxnFirstOffset", open)
                            .with("lastTimestamp", entry.last_timestamp().0);
                        match entry.last_batch() {
                            Some(batch) => line
                                .with("firstSequence", batch.first_sequence())
                                .with("lastSequence", batch.last_sequence)
                                .with("lastOffset", batch.last_offset.get())
                                .with("offsetDelta", batch.offset_delta)
                                .with("timestamp", batch.timestamp.0),
                            None => line,
                        }
                    }));
                })
                .map_err(|error| error.to_string()),
            Kind::Epochs => LeaderEpochs::parse(bytes)
                .map(|epochs| {
                    lines.extend(epochs.entries().iter().map(|entry| {
                        Line::new()
                            .with("epoch", entry.epoch.to_wire())
                            .with("startOffset", entry.start.get())
                    }));
                })
                .map_err(|error| error.to_string()),
            Kind::Offsets => parse_offsets(bytes)
                .map(|offsets| {
                    lines.extend(offsets.iter().map(|(partition, offset)| {
                        Line::new()
                            .with("topic", &*partition.topic)
                            .with("partition", partition.partition.0)
                            .with("offset", offset.get())
                    }));
                })
                .map_err(|error| error.to_string()),
            Kind::PartitionMetadata => PartitionMetadata::parse(bytes)
                .map(|metadata| lines.push(Line::new().with("topicId", metadata.topic_id.to_string())))
                .map_err(|error| error.to_string()),
            Kind::MetaProperties => PropertiesText::parse(bytes)
                .map(|text| {
                    lines.extend(
                        text.entries().map(|(key, value)| Line::new().with("key", key).with("value", value)),
                    );
                })
                .map_err(|error| error.to_string()),
            Kind::QuorumState => QuorumState::parse(bytes)
                .map(|state| {
                    let nobody = -1;
                    lines.push(
                        Line::new()
                            .with("leaderId", state.leader.map_or(nobody, |leader| leader.0))
                            .with("leaderEpoch", state.epoch.to_wire())
                            .with("votedId", state.vote.map_or(nobody, |vote| vote.candidate.0)),
                    );
                })
                .map_err(|error| error.to_string()),
            Kind::CleanShutdown => {
                let epoch = CleanShutdown::parse(bytes).broker_epoch;
                lines.push(Line::new().with("brokerEpoch", epoch));
                Ok(())
            }
            Kind::Batches { .. } => Ok(()),
        };
        for line in &lines {
            self.print(line)?;
        }
        Ok(result)
    }

    fn batches(&mut self, path: &Path, metadata: bool) -> io::Result<()> {
        let mut file = BatchFile::open(path).map_err(|error| named(path, &error))?;
        loop {
            match file.next().map_err(|error| named(path, &error))? {
                Found::Batch { position, header, bytes } => {
                    self.batch(position, &header, &bytes, metadata)?
                }
                Found::Zeros { from, len } => {
                    if !self.args.json {
                        writeln!(self.out, "{len} zeros from position {from} on")?;
                    }
                    return Ok(());
                }
                Found::Damage { position, why } => {
                    return self.damage(&format!("no batch at position {position}: {why}"));
                }
                Found::End => return Ok(()),
            }
        }
    }

    fn batch(&mut self, position: u64, header: &BatchHeader, bytes: &[u8], metadata: bool) -> io::Result<()> {
        let (first, last) = (header.base_offset().get(), header.last_offset().get());
        if self.args.offsets.as_ref().is_some_and(|range| last < *range.start() || first > *range.end()) {
            return Ok(());
        }
        let view = Batches::new(bytes).next().expect("the header was read from these bytes");
        let crc = view.check_crc();
        let producer = header.producer();
        let codec = header.codec().map_or_else(|error| error.to_string(), |codec| codec.name().to_owned());
        let horizon = header.delete_horizon();
        let line = Line::new()
            .with("baseOffset", first)
            .with("lastOffset", last)
            .with("count", header.count())
            .with("baseSequence", producer.map_or(-1, |producer| producer.base_sequence))
            .with("lastSequence", producer.and(header.last_sequence()).unwrap_or(-1))
            .with("producerId", producer.map_or(-1, |producer| producer.id.to_wire()))
            .with("producerEpoch", producer.map_or(-1, |producer| producer.epoch.0))
            .with("partitionLeaderEpoch", header.leader_epoch().map_or(-1, |epoch| epoch.to_wire()))
            .with("isTransactional", header.is_transactional())
            .with("isControl", header.is_control())
            .with("deleteHorizonMs", optional(horizon.map(|at| at.0)))
            .with("position", position)
            .with(time_name(header), header.max_timestamp().0)
            .with("size", header.size())
            .with("magic", 2)
            .with("compresscodec", codec)
            .with("crc", header.crc())
            .with("isvalid", crc.is_ok());
        self.print(&line)?;
        if let Err(why) = crc {
            return self.damage(&format!("batch at position {position}: {why}"));
        }
        if self.args.deep || self.args.metadata {
            let unpacked = match view.uncompressed(LARGEST_BATCH) {
                Ok(unpacked) => unpacked,
                Err(why) => return self.damage(&format!("batch at position {position}: {why}")),
            };
            for record in view.records(&unpacked) {
                match record {
                    Ok(record) => self.record(header, &record, metadata)?,
                    Err(why) => return self.damage(&format!("batch at position {position}: {why}")),
                }
            }
        }
        Ok(())
    }

    fn record(&mut self, header: &BatchHeader, record: &RecordRef<'_>, metadata: bool) -> io::Result<()> {
        let offset = header.record_offset(record.offset_delta).map_or(0, |offset| offset.get());
        if !self.wants(offset) {
            return Ok(());
        }
        let size = |bytes: Option<&[u8]>| bytes.map_or(-1, |bytes| bytes.len() as i64);
        let sequence = match header.producer() {
            Some(producer) if producer.base_sequence >= 0 => {
                (i64::from(producer.base_sequence) + i64::from(record.offset_delta)) & i64::from(i32::MAX)
            }
            _ => -1,
        };
        let keys: Vec<_> =
            record.headers.iter().map(|header| String::from_utf8_lossy(header.key).into_owned()).collect();
        let line = Line::below()
            .with("offset", offset)
            .with(time_name(header), header.record_timestamp(record.timestamp_delta).0)
            .with("keySize", size(record.key))
            .with("valueSize", size(record.value))
            .with("sequence", sequence)
            .with(
                "headerKeys",
                if self.args.json { Value::from(keys) } else { format!("[{}]", keys.join(",")).into() },
            );
        let line = if header.is_control() {
            control(line, record)
        } else if metadata {
            metadata_record(line, record)
        } else {
            line.with_bytes("key", record.key).with_bytes("payload", record.value)
        };
        self.print(&line)
    }
}

/// A number that need not be there, as `kafka-dump-log` shows it.
fn optional(number: Option<i64>) -> String {
    number.map_or("OptionalLong.empty".to_owned(), |number| format!("OptionalLong[{number}]"))
}

fn time_name(header: &BatchHeader) -> &'static str {
    match header.timestamp_type() {
        TimestampType::CreateTime => "CreateTime",
        TimestampType::LogAppendTime => "LogAppendTime",
    }
}

fn control(line: Line, record: &RecordRef<'_>) -> Line {
    let (key, value) = (record.key.unwrap_or_default(), record.value.unwrap_or_default());
    match ControlKind::from_key(key) {
        Some(ControlKind::Abort | ControlKind::Commit) => match EndTxnMarker::from_record(key, value) {
            Some(marker) => line
                .with("endTxnMarker", if marker.committed { "COMMIT" } else { "ABORT" })
                .with("coordinatorEpoch", marker.coordinator_epoch),
            None => line.with_bytes("payload", record.value),
        },
        Some(ControlKind::LeaderChange) => line.with("LeaderChange", shown::<LeaderChangeMessage>(value)),
        Some(ControlKind::SnapshotHeader) => {
            line.with("SnapshotHeader", shown::<SnapshotHeaderRecord>(value))
        }
        Some(ControlKind::SnapshotFooter) => {
            line.with("SnapshotFooter", shown::<SnapshotFooterRecord>(value))
        }
        Some(ControlKind::KraftVersion) => line.with("KRaftVersion", shown::<KRaftVersionRecord>(value)),
        Some(ControlKind::KraftVoters) => line.with("KRaftVoters", shown::<VotersRecord>(value)),
        Some(ControlKind::Unknown(kind)) => {
            line.with("controlType", kind).with_bytes("payload", record.value)
        }
        None => line.with_bytes("key", record.key).with_bytes("payload", record.value),
    }
}

/// A control record's message, which begins with its version.
fn shown<T: Message>(value: &[u8]) -> String {
    let version = value.first_chunk().map_or(0, |raw| i16::from_be_bytes(*raw));
    let version = version.clamp(T::VERSIONS.min, T::VERSIONS.max);
    match T::decode(&mut Reader::new(Bytes::copy_from_slice(value)), version) {
        Ok(message) => fields(&message),
        Err(error) => format!("not understood: {error}"),
    }
}

fn metadata_record(line: Line, record: &RecordRef<'_>) -> Line {
    let Some(value) = record.value else { return line };
    match MetadataRecord::decode(Bytes::copy_from_slice(value)) {
        Ok((decoded, version)) => {
            line.with("type", decoded.name()).with("version", version).with("data", fields(&decoded))
        }
        Err(error) => line.with("error", error.to_string()).with_bytes("payload", Some(value)),
    }
}

fn fields(message: &impl Debug) -> String {
    format!("{message:?}")
}
