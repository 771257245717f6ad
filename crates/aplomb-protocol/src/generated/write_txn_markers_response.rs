//! `WriteTxnMarkersResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/WriteTxnMarkersResponse.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `WriteTxnMarkersResponse`: response, key 27, versions 1-2, flexible 1+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct WriteTxnMarkersResponse {
    /// `Markers`: []WritableTxnMarkerResult, versions 0+.
    pub markers: Vec<WritableTxnMarkerResult>,
}

impl Message for WriteTxnMarkersResponse {
    const NAME: &'static str = "WriteTxnMarkersResponse";
    const API_KEY: Option<i16> = Some(27);
    const VERSIONS: VersionRange = VersionRange::new(1, 2);
    const FLEXIBLE_FROM: Option<i16> = Some(1);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let markers = r.array(true, |r| WritableTxnMarkerResult::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self { markers })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.array(&self.markers, true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `WritableTxnMarkerResult` in `WriteTxnMarkersResponse`, versions 1-2.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct WritableTxnMarkerResult {
    /// `ProducerId`: int64, versions 0+.
    pub producer_id: i64,
    /// `Topics`: []WritableTxnMarkerTopicResult, versions 0+.
    pub topics: Vec<WritableTxnMarkerTopicResult>,
}

impl WritableTxnMarkerResult {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let producer_id = r.i64()?;
        let topics = r.array(true, |r| WritableTxnMarkerTopicResult::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self { producer_id, topics })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        w.i64(self.producer_id);
        w.array(&self.topics, true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `WritableTxnMarkerTopicResult` in `WriteTxnMarkersResponse`, versions 1-2.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct WritableTxnMarkerTopicResult {
    /// `Name`: string, versions 0+.
    pub name: String,
    /// `Partitions`: []WritableTxnMarkerPartitionResult, versions 0+.
    pub partitions: Vec<WritableTxnMarkerPartitionResult>,
}

impl WritableTxnMarkerTopicResult {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let name = r.string(true)?;
        let partitions = r.array(true, |r| WritableTxnMarkerPartitionResult::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self { name, partitions })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        w.string(&self.name, true)?;
        w.array(&self.partitions, true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `WritableTxnMarkerPartitionResult` in `WriteTxnMarkersResponse`, versions 1-2.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct WritableTxnMarkerPartitionResult {
    /// `PartitionIndex`: int32, versions 0+.
    pub partition_index: i32,
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
}

impl WritableTxnMarkerPartitionResult {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let partition_index = r.i32()?;
        let error_code = r.i16()?;
        r.skip_tags()?;
        Ok(Self { partition_index, error_code })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.i32(self.partition_index);
        w.error_code(self.error_code);
        w.no_tags();
        Ok(())
    }
}
