//! `OffsetDeleteResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/OffsetDeleteResponse.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `OffsetDeleteResponse`: response, key 47, versions 0, flexible none.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct OffsetDeleteResponse {
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `ThrottleTimeMs`: int32, versions 0+, dropped by versions without it.
    pub throttle_time_ms: i32,
    /// `Topics`: []OffsetDeleteResponseTopic, versions 0+.
    pub topics: Vec<OffsetDeleteResponseTopic>,
}

impl Message for OffsetDeleteResponse {
    const NAME: &'static str = "OffsetDeleteResponse";
    const API_KEY: Option<i16> = Some(47);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = None;

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let error_code = r.i16()?;
        let throttle_time_ms = r.i32()?;
        let topics = r.array(false, |r| OffsetDeleteResponseTopic::decode(r, v))?;
        Ok(Self { error_code, throttle_time_ms, topics })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.error_code(self.error_code);
        w.throttle_time(self.throttle_time_ms);
        w.array(&self.topics, false, |w, it| it.encode(w, v))?;
        Ok(())
    }
}

/// `OffsetDeleteResponseTopic` in `OffsetDeleteResponse`, versions 0.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct OffsetDeleteResponseTopic {
    /// `Name`: string, versions 0+.
    pub name: String,
    /// `Partitions`: []OffsetDeleteResponsePartition, versions 0+.
    pub partitions: Vec<OffsetDeleteResponsePartition>,
}

impl OffsetDeleteResponseTopic {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let name = r.string(false)?;
        let partitions = r.array(false, |r| OffsetDeleteResponsePartition::decode(r, v))?;
        Ok(Self { name, partitions })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        w.string(&self.name, false)?;
        w.array(&self.partitions, false, |w, it| it.encode(w, v))?;
        Ok(())
    }
}

/// `OffsetDeleteResponsePartition` in `OffsetDeleteResponse`, versions 0.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct OffsetDeleteResponsePartition {
    /// `PartitionIndex`: int32, versions 0+.
    pub partition_index: i32,
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
}

impl OffsetDeleteResponsePartition {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let partition_index = r.i32()?;
        let error_code = r.i16()?;
        Ok(Self { partition_index, error_code })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.i32(self.partition_index);
        w.error_code(self.error_code);
        Ok(())
    }
}
