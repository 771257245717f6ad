//! `OffsetCommitResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/OffsetCommitResponse.schema`; not edited by hand.

use aplomb_model::Uuid;

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `OffsetCommitResponse`: response, key 8, versions 2-10, flexible 8+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct OffsetCommitResponse {
    /// `ThrottleTimeMs`: int32, versions 3+, dropped by versions without it.
    pub throttle_time_ms: i32,
    /// `Topics`: []OffsetCommitResponseTopic, versions 0+.
    pub topics: Vec<OffsetCommitResponseTopic>,
}

impl Message for OffsetCommitResponse {
    const NAME: &'static str = "OffsetCommitResponse";
    const API_KEY: Option<i16> = Some(8);
    const VERSIONS: VersionRange = VersionRange::new(2, 10);
    const FLEXIBLE_FROM: Option<i16> = Some(8);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 8;
        let throttle_time_ms = if v >= 3 { r.i32()? } else { 0 };
        let topics = r.array(flexible, |r| OffsetCommitResponseTopic::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { throttle_time_ms, topics })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 8;
        if v >= 3 {
            w.throttle_time(self.throttle_time_ms);
        }
        w.array(&self.topics, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `OffsetCommitResponseTopic` in `OffsetCommitResponse`, versions 2-10.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct OffsetCommitResponseTopic {
    /// `Name`: string, versions 0-9, dropped by versions without it.
    pub name: String,
    /// `TopicId`: uuid, versions 10+, dropped by versions without it.
    pub topic_id: Uuid,
    /// `Partitions`: []OffsetCommitResponsePartition, versions 0+.
    pub partitions: Vec<OffsetCommitResponsePartition>,
}

impl OffsetCommitResponseTopic {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 8;
        let name = if v <= 9 { r.string(flexible)? } else { String::new() };
        let topic_id = if v == 10 { r.uuid()? } else { Uuid::ZERO };
        let partitions = r.array(flexible, |r| OffsetCommitResponsePartition::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { name, topic_id, partitions })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 8;
        if v <= 9 {
            w.string(&self.name, flexible)?;
        }
        if v == 10 {
            w.uuid(self.topic_id);
        }
        w.array(&self.partitions, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `OffsetCommitResponsePartition` in `OffsetCommitResponse`, versions 2-10.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct OffsetCommitResponsePartition {
    /// `PartitionIndex`: int32, versions 0+.
    pub partition_index: i32,
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
}

impl OffsetCommitResponsePartition {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 8;
        let partition_index = r.i32()?;
        let error_code = r.i16()?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { partition_index, error_code })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 8;
        w.i32(self.partition_index);
        w.error_code(self.error_code);
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}
