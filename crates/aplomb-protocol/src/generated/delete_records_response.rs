//! `DeleteRecordsResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/DeleteRecordsResponse.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `DeleteRecordsResponse`: response, key 21, versions 0-2, flexible 2+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct DeleteRecordsResponse {
    /// `ThrottleTimeMs`: int32, versions 0+.
    pub throttle_time_ms: i32,
    /// `Topics`: []DeleteRecordsTopicResult, versions 0+.
    pub topics: Vec<DeleteRecordsTopicResult>,
}

impl Message for DeleteRecordsResponse {
    const NAME: &'static str = "DeleteRecordsResponse";
    const API_KEY: Option<i16> = Some(21);
    const VERSIONS: VersionRange = VersionRange::new(0, 2);
    const FLEXIBLE_FROM: Option<i16> = Some(2);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 2;
        let throttle_time_ms = r.i32()?;
        let topics = r.array(flexible, |r| DeleteRecordsTopicResult::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { throttle_time_ms, topics })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 2;
        w.throttle_time(self.throttle_time_ms);
        w.array(&self.topics, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `DeleteRecordsTopicResult` in `DeleteRecordsResponse`, versions 0-2.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct DeleteRecordsTopicResult {
    /// `Name`: string, versions 0+.
    pub name: String,
    /// `Partitions`: []DeleteRecordsPartitionResult, versions 0+.
    pub partitions: Vec<DeleteRecordsPartitionResult>,
}

impl DeleteRecordsTopicResult {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v == 2;
        let name = r.string(flexible)?;
        let partitions = r.array(flexible, |r| DeleteRecordsPartitionResult::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { name, partitions })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v == 2;
        w.string(&self.name, flexible)?;
        w.array(&self.partitions, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `DeleteRecordsPartitionResult` in `DeleteRecordsResponse`, versions 0-2.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct DeleteRecordsPartitionResult {
    /// `PartitionIndex`: int32, versions 0+.
    pub partition_index: i32,
    /// `LowWatermark`: int64, versions 0+.
    pub low_watermark: i64,
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
}

impl DeleteRecordsPartitionResult {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v == 2;
        let partition_index = r.i32()?;
        let low_watermark = r.i64()?;
        let error_code = r.i16()?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { partition_index, low_watermark, error_code })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v == 2;
        w.i32(self.partition_index);
        w.i64(self.low_watermark);
        w.error_code(self.error_code);
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}
