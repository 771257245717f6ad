//! `ListOffsetsResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/ListOffsetsResponse.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `ListOffsetsResponse`: response, key 2, versions 1-11, flexible 6+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ListOffsetsResponse {
    /// `ThrottleTimeMs`: int32, versions 2+, dropped by versions without it.
    pub throttle_time_ms: i32,
    /// `Topics`: []ListOffsetsTopicResponse, versions 0+.
    pub topics: Vec<ListOffsetsTopicResponse>,
}

impl Message for ListOffsetsResponse {
    const NAME: &'static str = "ListOffsetsResponse";
    const API_KEY: Option<i16> = Some(2);
    const VERSIONS: VersionRange = VersionRange::new(1, 11);
    const FLEXIBLE_FROM: Option<i16> = Some(6);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 6;
        let throttle_time_ms = if v >= 2 { r.i32()? } else { 0 };
        let topics = r.array(flexible, |r| ListOffsetsTopicResponse::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { throttle_time_ms, topics })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 6;
        if v >= 2 {
            w.throttle_time(self.throttle_time_ms);
        }
        w.array(&self.topics, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `ListOffsetsTopicResponse` in `ListOffsetsResponse`, versions 1-11.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ListOffsetsTopicResponse {
    /// `Name`: string, versions 0+.
    pub name: String,
    /// `Partitions`: []ListOffsetsPartitionResponse, versions 0+.
    pub partitions: Vec<ListOffsetsPartitionResponse>,
}

impl ListOffsetsTopicResponse {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 6;
        let name = r.string(flexible)?;
        let partitions = r.array(flexible, |r| ListOffsetsPartitionResponse::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { name, partitions })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 6;
        w.string(&self.name, flexible)?;
        w.array(&self.partitions, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `ListOffsetsPartitionResponse` in `ListOffsetsResponse`, versions 1-11.
#[derive(Clone, Debug, PartialEq)]
pub struct ListOffsetsPartitionResponse {
    /// `PartitionIndex`: int32, versions 0+.
    pub partition_index: i32,
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `Timestamp`: int64, versions 1+, default -1.
    pub timestamp: i64,
    /// `Offset`: int64, versions 1+, default -1.
    pub offset: i64,
    /// `LeaderEpoch`: int32, versions 4+, default -1.
    pub leader_epoch: i32,
}

impl Default for ListOffsetsPartitionResponse {
    fn default() -> Self {
        Self { partition_index: 0, error_code: 0, timestamp: -1, offset: -1, leader_epoch: -1 }
    }
}

impl ListOffsetsPartitionResponse {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 6;
        let partition_index = r.i32()?;
        let error_code = r.i16()?;
        let timestamp = r.i64()?;
        let offset = r.i64()?;
        let leader_epoch = if v >= 4 { r.i32()? } else { -1 };
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { partition_index, error_code, timestamp, offset, leader_epoch })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 6;
        w.i32(self.partition_index);
        w.error_code(self.error_code);
        w.i64(self.timestamp);
        w.i64(self.offset);
        if v >= 4 {
            w.i32(self.leader_epoch);
        } else if self.leader_epoch != -1 {
            return Err(EncodeError::FieldNotInVersion {
                message: "ListOffsetsPartitionResponse",
                field: "LeaderEpoch",
                version: v,
            });
        }
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}
