//! The metadata log in bytes: batches of framed records, control batches, snapshots. What a batch
//! holds is applied as a whole.
//!
//! Framing is [`MetadataRecord`]'s; batches are `aplomb_model::batch`'s. A snapshot is a file of
//! batches of its own: a header, the voters where they are dynamic, the records of an image, a
//! footer (`RecordsSnapshotWriter`).

use aplomb_model::batch::{BatchBuilder, BatchError, BatchView, ControlKind};
use aplomb_model::{LeaderEpoch, Offset, Timestamp};
use aplomb_protocol::messages as m;
use aplomb_protocol::{DecodeError, EncodeError, Message, MetadataRecord};
use bytes::{Bytes, BytesMut};

use super::features::MetadataVersion;
use super::image::MetadataImage;

/// The most that a compressed batch of the metadata log may stand for, in bytes. Apache Kafka
/// writes at most 8 MiB and does not compress.
const BATCH_LIMIT: usize = 64 << 20;
/// Records of a snapshot's batch (`RecordsSnapshotWriter`, `MetadataBatchLoader` have no limit;
/// Apache Kafka writes 1024 at a time).
const SNAPSHOT_BATCH: usize = 1024;

/// One record of the metadata log, understood.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// A change of the image.
    Record(MetadataRecord),
    /// A leader begins its epoch.
    LeaderChange(m::LeaderChangeMessage),
    /// The level of `kraft.version`.
    KraftVersion(i16),
    /// The quorum's voters from here on.
    Voters(m::VotersRecord),
    /// A snapshot begins; the time is that of the last record that it stands for.
    SnapshotHeader(Timestamp),
    /// A snapshot is complete.
    SnapshotFooter,
    /// A control record of a later version, which says nothing about the image.
    UnknownControl(i16),
}

/// Bytes that are no metadata log of ours or of Apache Kafka's up to 4.4.
#[derive(Debug, thiserror::Error)]
pub enum MetadataLogError {
    /// A batch cannot be read.
    #[error("batch at offset {at}: {error}")]
    Batch {
        /// The batch's base offset.
        at: Offset,
        /// What is wrong with it.
        error: BatchError,
    },
    /// A record in it: not a message, or of a type or a version that only a later
    /// `metadata.version` has.
    #[error("metadata record in the batch at offset {at}: {error}")]
    Record {
        /// The batch's offset.
        at: Offset,
        /// What is wrong with it.
        error: DecodeError,
    },
    /// A record without a value, or a control record without a key.
    #[error("record without {what} in the batch at offset {at}")]
    Missing {
        /// The batch's offset.
        at: Offset,
        /// "a value" or "a key".
        what: &'static str,
    },
}

/// Reads the records of a batch.
///
/// # Errors
/// When the batch cannot be read, or one of its records cannot be understood: nothing of the batch
/// may be applied then.
pub fn decode_batch(batch: &BatchView<'_>) -> Result<Vec<Entry>, MetadataLogError> {
    let at = batch.header.base_offset();
    let bytes = batch.uncompressed(BATCH_LIMIT).map_err(|error| MetadataLogError::Batch { at, error })?;
    let is_control = batch.header.is_control();
    batch
        .records(&bytes)
        .map(|record| {
            let record = record.map_err(|error| MetadataLogError::Batch { at, error })?;
            let value = record.value.ok_or(MetadataLogError::Missing { at, what: "a value" })?;
            let value = Bytes::copy_from_slice(value);
            let entry = if is_control {
                let key = record.key.ok_or(MetadataLogError::Missing { at, what: "a key" })?;
                decode_control(key, value)
            } else {
                MetadataRecord::decode(value).map(|(record, _)| Entry::Record(record))
            };
            entry.map_err(|error| MetadataLogError::Record { at, error })
        })
        .collect()
}

/// Control records begin with their own version, which is read first to know how to read the rest.
fn decode_control(key: &[u8], value: Bytes) -> Result<Entry, DecodeError> {
    let version = value.first_chunk().map_or(0, |raw| i16::from_be_bytes(*raw));
    Ok(match ControlKind::from_key(key).unwrap_or(ControlKind::Unknown(-1)) {
        ControlKind::LeaderChange => Entry::LeaderChange(m::LeaderChangeMessage::from_bytes(value, version)?),
        ControlKind::KraftVersion => {
            Entry::KraftVersion(m::KRaftVersionRecord::from_bytes(value, version)?.k_raft_version)
        }
        ControlKind::KraftVoters => Entry::Voters(m::VotersRecord::from_bytes(value, version)?),
        ControlKind::SnapshotHeader => {
            let header = m::SnapshotHeaderRecord::from_bytes(value, version)?;
            Entry::SnapshotHeader(Timestamp(header.last_contained_log_timestamp))
        }
        ControlKind::SnapshotFooter => Entry::SnapshotFooter,
        other @ (ControlKind::Abort | ControlKind::Commit | ControlKind::Unknown(_)) => {
            Entry::UnknownControl(other.id())
        }
    })
}

/// The version in which a record is written in a cluster of this `metadata.version`.
fn record_version(record: &MetadataRecord, version: MetadataVersion) -> i16 {
    match record {
        MetadataRecord::RegisterBroker(_) => version.register_broker(),
        MetadataRecord::Partition(_) | MetadataRecord::PartitionChange(_) => version.partition(),
        // The lowest that has all the fields that are set.
        MetadataRecord::BrokerRegistrationChange(change) => match change {
            change if change.cordoned_log_dirs.is_some() => 3,
            change if !change.log_dirs.is_empty() => 2,
            change if change.in_controlled_shutdown != 0 => 1,
            _ => 0,
        },
        _ => 0,
    }
}

/// Makes a batch of records, to be appended at `base` by the leader of `epoch`. It is applied as a
/// whole.
///
/// # Errors
/// When a record says something that this `metadata.version` has no words for.
pub fn encode_batch(
    records: &[MetadataRecord],
    version: MetadataVersion,
    base: Offset,
    epoch: LeaderEpoch,
    now: Timestamp,
) -> Result<Bytes, EncodeError> {
    let mut builder = BatchBuilder::new(base).leader_epoch(epoch);
    for record in records {
        let value = record.to_bytes(record_version(record, version))?;
        builder.append(now, None, Some(&value), &[]);
    }
    Ok(builder.build())
}

/// Makes a control batch.
///
/// # Errors
/// When an entry says something that its message has no room for.
///
/// # Panics
/// If an entry is no control record.
pub fn encode_control_batch(
    entries: &[Entry],
    base: Offset,
    epoch: LeaderEpoch,
    now: Timestamp,
) -> Result<Bytes, EncodeError> {
    let mut builder = BatchBuilder::new(base).leader_epoch(epoch).control();
    for entry in entries {
        let (kind, value) = match entry {
            Entry::LeaderChange(change) => (ControlKind::LeaderChange, change.to_bytes(change.version)?),
            Entry::KraftVersion(level) => {
                let record = m::KRaftVersionRecord { version: 0, k_raft_version: *level };
                (ControlKind::KraftVersion, record.to_bytes(0)?)
            }
            Entry::Voters(voters) => (ControlKind::KraftVoters, voters.to_bytes(voters.version)?),
            Entry::SnapshotHeader(last) => {
                let record = m::SnapshotHeaderRecord { version: 0, last_contained_log_timestamp: last.0 };
                (ControlKind::SnapshotHeader, record.to_bytes(0)?)
            }
            Entry::SnapshotFooter => {
                (ControlKind::SnapshotFooter, m::SnapshotFooterRecord { version: 0 }.to_bytes(0)?)
            }
            Entry::Record(_) | Entry::UnknownControl(_) => panic!("{entry:?} is no control record of ours"),
        };
        builder.append(now, Some(&kind.key()), Some(&value), &[]);
    }
    Ok(builder.build())
}

/// The name of a snapshot that stands for everything below `end`, the last of it written in
/// `epoch`.
#[must_use]
pub fn snapshot_name(end: Offset, epoch: LeaderEpoch) -> String {
    format!("{:020}-{:010}.checkpoint", end.get(), epoch.to_wire())
}

/// What a file name says about a snapshot; `None` if it is no snapshot's.
#[must_use]
pub fn parse_snapshot_name(name: &str) -> Option<(Offset, LeaderEpoch)> {
    let (end, epoch) = name.strip_suffix(".checkpoint")?.split_once('-')?;
    let all_digits =
        |text: &str, len: usize| text.len() == len && text.bytes().all(|byte| byte.is_ascii_digit());
    if !all_digits(end, 20) || !all_digits(epoch, 10) {
        return None;
    }
    Some((Offset::from_wire(end.parse().ok()?)?, LeaderEpoch::from_wire(epoch.parse().ok()?)?))
}

/// The content of a snapshot of an image. `voters` is there where voters are dynamic
/// (`kraft.version` 1); `last` is the time of the last record that the image reflects.
///
/// # Errors
/// When the image holds something that cannot be written, which a log could not have said either.
pub fn snapshot_bytes(
    image: &MetadataImage,
    voters: Option<&m::VotersRecord>,
    last: Timestamp,
    now: Timestamp,
) -> Result<Bytes, EncodeError> {
    let (version, epoch) = (image.features.metadata_version(), image.provenance.epoch);
    let mut bytes = BytesMut::new();
    let mut next = Offset::ZERO;
    let mut header = vec![Entry::SnapshotHeader(last)];
    if image.features.kraft_version() > 0 {
        header.push(Entry::KraftVersion(image.features.kraft_version()));
        header.extend(voters.cloned().map(Entry::Voters));
    }
    bytes.extend_from_slice(&encode_control_batch(&header, next, epoch, now)?);
    next = next.plus(header.len() as u64);
    for records in image.to_records().chunks(SNAPSHOT_BATCH) {
        bytes.extend_from_slice(&encode_batch(records, version, next, epoch, now)?);
        next = next.plus(records.len() as u64);
    }
    bytes.extend_from_slice(&encode_control_batch(&[Entry::SnapshotFooter], next, epoch, now)?);
    Ok(bytes.freeze())
}

#[cfg(test)]
mod tests {
    use aplomb_model::Uuid;
    use aplomb_model::batch::Batches;

    use super::*;

    fn entries(bytes: &[u8]) -> Vec<Entry> {
        Batches::new(bytes).checked().flat_map(|batch| decode_batch(&batch).expect("readable")).collect()
    }

    #[test]
    fn a_batch_reads_back_as_what_was_written() {
        let records: Vec<MetadataRecord> = vec![
            m::TopicRecord { name: "t".to_owned(), topic_id: Uuid::from_u128(500) }.into(),
            m::NoOpRecord::default().into(),
        ];
        let epoch = LeaderEpoch::new(3);
        let bytes =
            encode_batch(&records, MetadataVersion::LATEST, Offset::new(7), epoch, Timestamp(1)).unwrap();
        let batch = Batches::new(&bytes).checked().next().expect("a batch");
        assert_eq!((batch.header.base_offset(), batch.header.leader_epoch()), (Offset::new(7), Some(epoch)));
        let expected: Vec<_> = records.into_iter().map(Entry::Record).collect();
        assert_eq!(decode_batch(&batch).expect("readable"), expected);
    }

    #[test]
    fn control_records_read_back_as_what_was_written() {
        let voter = m::leader_change_message::Voter { voter_id: 1, voter_directory_id: Uuid::ZERO };
        let written = vec![
            Entry::LeaderChange(m::LeaderChangeMessage {
                version: 0,
                leader_id: 1,
                voters: vec![voter.clone()],
                granting_voters: vec![voter],
            }),
            Entry::KraftVersion(1),
            Entry::Voters(m::VotersRecord::default()),
            Entry::SnapshotHeader(Timestamp(9)),
            Entry::SnapshotFooter,
        ];
        let bytes = encode_control_batch(&written, Offset::ZERO, LeaderEpoch::ZERO, Timestamp(2)).unwrap();
        assert_eq!(entries(&bytes), written);
    }

    #[test]
    fn a_record_of_a_later_version_is_named() {
        let value = [1, 2, 9];
        let mut builder = BatchBuilder::new(Offset::new(4));
        builder.append(Timestamp(0), None, Some(&value), &[]);
        let bytes = builder.build();
        let batch = Batches::new(&bytes).next().expect("a batch");
        let error = decode_batch(&batch).expect_err("not readable").to_string();
        assert!(error.contains("offset 4") && error.contains("TopicRecord"), "{error}");
    }

    #[test]
    fn a_snapshots_name_reads_back_as_what_was_written() {
        let (end, epoch) = (Offset::new(24), LeaderEpoch::new(1));
        assert_eq!(snapshot_name(end, epoch), "00000000000000000024-0000000001.checkpoint");
        assert_eq!(parse_snapshot_name(&snapshot_name(end, epoch)), Some((end, epoch)));
        for other in ["24-1.checkpoint", "00000000000000000024-0000000001.checkpoint.part", "quorum-state"] {
            assert_eq!(parse_snapshot_name(other), None);
        }
    }
}
