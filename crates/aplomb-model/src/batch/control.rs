//! Control records: what brokers write for each other between the producers' records.
//!
//! A control batch has one record. Its key names the kind (`int16` version 0, `int16` type), its
//! value is a message of that kind, which `aplomb-protocol` knows; only the transaction marker,
//! which every log has to understand, is read and written here.

use bytes::Bytes;

use super::builder::BatchBuilder;
use super::header::ProducerStamp;
use crate::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Timestamp};

/// The kind of a control record (`ControlRecordType`, Apache Kafka 4.4.0).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ControlKind {
    /// A producer's transaction ends, and its records never happened.
    Abort,
    /// A producer's transaction ends, and its records count.
    Commit,
    /// A metadata log has a new leader.
    LeaderChange,
    /// A metadata snapshot begins.
    SnapshotHeader,
    /// A metadata snapshot ends.
    SnapshotFooter,
    /// The metadata quorum's protocol version.
    KraftVersion,
    /// The metadata quorum's voters.
    KraftVoters,
    /// A kind of a later version, to be skipped.
    Unknown(i16),
}

impl ControlKind {
    /// The type number in the key.
    #[must_use]
    pub const fn id(self) -> i16 {
        match self {
            Self::Abort => 0,
            Self::Commit => 1,
            Self::LeaderChange => 2,
            Self::SnapshotHeader => 3,
            Self::SnapshotFooter => 4,
            Self::KraftVersion => 5,
            Self::KraftVoters => 6,
            Self::Unknown(id) => id,
        }
    }

    /// The kind with this type number.
    #[must_use]
    pub const fn from_id(id: i16) -> Self {
        match id {
            0 => Self::Abort,
            1 => Self::Commit,
            2 => Self::LeaderChange,
            3 => Self::SnapshotHeader,
            4 => Self::SnapshotFooter,
            5 => Self::KraftVersion,
            6 => Self::KraftVoters,
            other => Self::Unknown(other),
        }
    }

    /// The key of a control record of this kind.
    #[must_use]
    pub const fn key(self) -> [u8; 4] {
        let [high, low] = self.id().to_be_bytes();
        [0, 0, high, low]
    }

    /// Reads a control record's key. `None` if it is too short or of a negative version; keys of
    /// later versions begin alike.
    #[must_use]
    pub fn from_key(key: &[u8]) -> Option<Self> {
        let &[version_high, _, high, low] = key.first_chunk()?;
        (version_high < 0x80).then(|| Self::from_id(i16::from_be_bytes([high, low])))
    }
}

/// The end of a producer's transaction in one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndTxnMarker {
    /// Whether the transaction's records count.
    pub committed: bool,
    /// The epoch of the transaction coordinator that decided.
    pub coordinator_epoch: i32,
}

impl EndTxnMarker {
    /// Reads a control record's key and value. `None` if it is no transaction marker, or a broken
    /// one; values of later versions begin alike.
    #[must_use]
    pub fn from_record(key: &[u8], value: &[u8]) -> Option<Self> {
        let committed = match ControlKind::from_key(key)? {
            ControlKind::Commit => true,
            ControlKind::Abort => false,
            ControlKind::LeaderChange
            | ControlKind::SnapshotHeader
            | ControlKind::SnapshotFooter
            | ControlKind::KraftVersion
            | ControlKind::KraftVoters
            | ControlKind::Unknown(_) => return None,
        };
        let (version, rest) = value.split_first_chunk()?;
        if i16::from_be_bytes(*version) < 0 {
            return None;
        }
        Some(Self { committed, coordinator_epoch: i32::from_be_bytes(*rest.first_chunk()?) })
    }

    /// The control batch that writes this marker for a producer, to be appended at `base`.
    #[must_use]
    pub fn to_batch(
        self,
        base: Offset,
        leader_epoch: LeaderEpoch,
        producer: (ProducerId, ProducerEpoch),
        now: Timestamp,
    ) -> Bytes {
        let kind = if self.committed { ControlKind::Commit } else { ControlKind::Abort };
        let mut value = [0; 6];
        value[2..].copy_from_slice(&self.coordinator_epoch.to_be_bytes());
        BatchBuilder::new(base)
            .leader_epoch(leader_epoch)
            .producer(ProducerStamp { id: producer.0, epoch: producer.1, base_sequence: -1 })
            .transactional()
            .control()
            .append(now, Some(&kind.key()), Some(&value), &[])
            .build()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Batches;

    #[test]
    fn a_key_reads_back_as_what_was_written() {
        for id in -1..9 {
            let kind = ControlKind::from_id(id);
            assert_eq!(kind.id(), id);
            assert_eq!(ControlKind::from_key(&kind.key()), Some(kind));
        }
        assert_eq!(ControlKind::from_key(&[0, 0, 1]), None);
        assert_eq!(ControlKind::from_key(&[0xff, 0xff, 0, 1]), None);
    }

    #[test]
    fn a_marker_reads_back_from_its_batch() {
        for committed in [true, false] {
            let marker = EndTxnMarker { committed, coordinator_epoch: 7 };
            let id = ProducerId::from_wire(4000).expect("an id");
            let batch =
                marker.to_batch(Offset::new(9), LeaderEpoch::new(2), (id, ProducerEpoch(3)), Timestamp(5));
            let view = Batches::new(&batch).checked().next().expect("a batch");
            assert!(view.header.is_control() && view.header.is_transactional());
            assert_eq!(view.header.last_sequence(), None);
            let bytes = view.record_bytes();
            let record = view.records(&bytes).next().expect("a record").expect("a whole one");
            let (key, value) = (record.key.expect("a key"), record.value.expect("a value"));
            assert_eq!(EndTxnMarker::from_record(key, value), Some(marker));
        }
    }
}
