//! `TxnOffsetCommitResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/TxnOffsetCommitResponse.schema`; not edited by hand.

use aplomb_model::Uuid;

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `TxnOffsetCommitResponse`: response, key 28, versions 0-6, flexible 3+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct TxnOffsetCommitResponse {
    /// `ThrottleTimeMs`: int32, versions 0+.
    pub throttle_time_ms: i32,
    /// `Topics`: []TxnOffsetCommitResponseTopic, versions 0+.
    pub topics: Vec<TxnOffsetCommitResponseTopic>,
}

impl Message for TxnOffsetCommitResponse {
    const NAME: &'static str = "TxnOffsetCommitResponse";
    const API_KEY: Option<i16> = Some(28);
    const VERSIONS: VersionRange = VersionRange::new(0, 6);
    const FLEXIBLE_FROM: Option<i16> = Some(3);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 3;
        let throttle_time_ms = r.i32()?;
        let topics = r.array(flexible, |r| TxnOffsetCommitResponseTopic::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { throttle_time_ms, topics })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 3;
        w.throttle_time(self.throttle_time_ms);
        w.array(&self.topics, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `TxnOffsetCommitResponseTopic` in `TxnOffsetCommitResponse`, versions 0-6.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct TxnOffsetCommitResponseTopic {
    /// `Name`: string, versions 0-5, dropped by versions without it.
    pub name: String,
    /// `TopicId`: uuid, versions 6+, dropped by versions without it.
    pub topic_id: Uuid,
    /// `Partitions`: []TxnOffsetCommitResponsePartition, versions 0+.
    pub partitions: Vec<TxnOffsetCommitResponsePartition>,
}

impl TxnOffsetCommitResponseTopic {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 3;
        let name = if v <= 5 { r.string(flexible)? } else { String::new() };
        let topic_id = if v == 6 { r.uuid()? } else { Uuid::ZERO };
        let partitions = r.array(flexible, |r| TxnOffsetCommitResponsePartition::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { name, topic_id, partitions })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 3;
        if v <= 5 {
            w.string(&self.name, flexible)?;
        }
        if v == 6 {
            w.uuid(self.topic_id);
        }
        w.array(&self.partitions, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `TxnOffsetCommitResponsePartition` in `TxnOffsetCommitResponse`, versions 0-6.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct TxnOffsetCommitResponsePartition {
    /// `PartitionIndex`: int32, versions 0+.
    pub partition_index: i32,
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
}

impl TxnOffsetCommitResponsePartition {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 3;
        let partition_index = r.i32()?;
        let error_code = r.i16()?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { partition_index, error_code })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 3;
        w.i32(self.partition_index);
        w.error_code(self.error_code);
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}
