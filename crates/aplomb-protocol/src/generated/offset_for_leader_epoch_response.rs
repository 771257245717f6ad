//! `OffsetForLeaderEpochResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/OffsetForLeaderEpochResponse.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `OffsetForLeaderEpochResponse`: response, key 23, versions 2-4, flexible 4+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct OffsetForLeaderEpochResponse {
    /// `ThrottleTimeMs`: int32, versions 2+, dropped by versions without it.
    pub throttle_time_ms: i32,
    /// `Topics`: []OffsetForLeaderTopicResult, versions 0+.
    pub topics: Vec<OffsetForLeaderTopicResult>,
}

impl Message for OffsetForLeaderEpochResponse {
    const NAME: &'static str = "OffsetForLeaderEpochResponse";
    const API_KEY: Option<i16> = Some(23);
    const VERSIONS: VersionRange = VersionRange::new(2, 4);
    const FLEXIBLE_FROM: Option<i16> = Some(4);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 4;
        let throttle_time_ms = r.i32()?;
        let topics = r.array(flexible, |r| OffsetForLeaderTopicResult::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { throttle_time_ms, topics })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 4;
        w.throttle_time(self.throttle_time_ms);
        w.array(&self.topics, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `OffsetForLeaderTopicResult` in `OffsetForLeaderEpochResponse`, versions 2-4.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct OffsetForLeaderTopicResult {
    /// `Topic`: string, versions 0+.
    pub topic: String,
    /// `Partitions`: []EpochEndOffset, versions 0+.
    pub partitions: Vec<EpochEndOffset>,
}

impl OffsetForLeaderTopicResult {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v == 4;
        let topic = r.string(flexible)?;
        let partitions = r.array(flexible, |r| EpochEndOffset::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { topic, partitions })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v == 4;
        w.string(&self.topic, flexible)?;
        w.array(&self.partitions, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `EpochEndOffset` in `OffsetForLeaderEpochResponse`, versions 2-4.
#[derive(Clone, Debug, PartialEq)]
pub struct EpochEndOffset {
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `Partition`: int32, versions 0+.
    pub partition: i32,
    /// `LeaderEpoch`: int32, versions 1+, default -1, dropped by versions without it.
    pub leader_epoch: i32,
    /// `EndOffset`: int64, versions 0+, default -1.
    pub end_offset: i64,
}

impl Default for EpochEndOffset {
    fn default() -> Self {
        Self { error_code: 0, partition: 0, leader_epoch: -1, end_offset: -1 }
    }
}

impl EpochEndOffset {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v == 4;
        let error_code = r.i16()?;
        let partition = r.i32()?;
        let leader_epoch = r.i32()?;
        let end_offset = r.i64()?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { error_code, partition, leader_epoch, end_offset })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v == 4;
        w.error_code(self.error_code);
        w.i32(self.partition);
        w.i32(self.leader_epoch);
        w.i64(self.end_offset);
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}
