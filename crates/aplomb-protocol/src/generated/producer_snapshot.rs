//! `ProducerSnapshot` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/ProducerSnapshot.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `ProducerSnapshot`: data, versions 1, flexible none.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ProducerSnapshot {
    /// `Crc`: uint32, versions 1.
    pub crc: u32,
    /// `ProducerEntries`: []ProducerEntry, versions 1.
    pub producer_entries: Vec<ProducerEntry>,
}

impl Message for ProducerSnapshot {
    const NAME: &'static str = "ProducerSnapshot";
    const API_KEY: Option<i16> = None;
    const VERSIONS: VersionRange = VersionRange::new(1, 1);
    const FLEXIBLE_FROM: Option<i16> = None;

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let crc = r.u32()?;
        let producer_entries = r.array(false, |r| ProducerEntry::decode(r, v))?;
        Ok(Self { crc, producer_entries })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.u32(self.crc);
        w.array(&self.producer_entries, false, |w, it| it.encode(w, v))?;
        Ok(())
    }
}

/// `ProducerEntry` in `ProducerSnapshot`, versions 1.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ProducerEntry {
    /// `ProducerId`: int64, versions 1.
    pub producer_id: i64,
    /// `Epoch`: int16, versions 1.
    pub epoch: i16,
    /// `LastSequence`: int32, versions 1.
    pub last_sequence: i32,
    /// `LastOffset`: int64, versions 1.
    pub last_offset: i64,
    /// `OffsetDelta`: int32, versions 1.
    pub offset_delta: i32,
    /// `Timestamp`: int64, versions 1.
    pub timestamp: i64,
    /// `CoordinatorEpoch`: int32, versions 1.
    pub coordinator_epoch: i32,
    /// `CurrentTxnFirstOffset`: int64, versions 1.
    pub current_txn_first_offset: i64,
}

impl ProducerEntry {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let producer_id = r.i64()?;
        let epoch = r.i16()?;
        let last_sequence = r.i32()?;
        let last_offset = r.i64()?;
        let offset_delta = r.i32()?;
        let timestamp = r.i64()?;
        let coordinator_epoch = r.i32()?;
        let current_txn_first_offset = r.i64()?;
        Ok(Self {
            producer_id,
            epoch,
            last_sequence,
            last_offset,
            offset_delta,
            timestamp,
            coordinator_epoch,
            current_txn_first_offset,
        })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.i64(self.producer_id);
        w.i16(self.epoch);
        w.i32(self.last_sequence);
        w.i64(self.last_offset);
        w.i32(self.offset_delta);
        w.i64(self.timestamp);
        w.i32(self.coordinator_epoch);
        w.i64(self.current_txn_first_offset);
        Ok(())
    }
}
