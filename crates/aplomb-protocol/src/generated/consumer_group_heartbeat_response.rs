//! `ConsumerGroupHeartbeatResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/ConsumerGroupHeartbeatResponse.schema`; not edited by hand.

use aplomb_model::Uuid;

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `ConsumerGroupHeartbeatResponse`: response, key 68, versions 0-1, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ConsumerGroupHeartbeatResponse {
    /// `ThrottleTimeMs`: int32, versions 0+.
    pub throttle_time_ms: i32,
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `ErrorMessage`: string, versions 0+, nullable in 0+, default null.
    pub error_message: Option<String>,
    /// `MemberId`: string, versions 0+, nullable in 0+, default null.
    pub member_id: Option<String>,
    /// `MemberEpoch`: int32, versions 0+.
    pub member_epoch: i32,
    /// `HeartbeatIntervalMs`: int32, versions 0+.
    pub heartbeat_interval_ms: i32,
    /// `Assignment`: Assignment, versions 0+, nullable in 0+, default null.
    pub assignment: Option<Assignment>,
}

impl Message for ConsumerGroupHeartbeatResponse {
    const NAME: &'static str = "ConsumerGroupHeartbeatResponse";
    const API_KEY: Option<i16> = Some(68);
    const VERSIONS: VersionRange = VersionRange::new(0, 1);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let throttle_time_ms = r.i32()?;
        let error_code = r.i16()?;
        let error_message = r.nullable_string(true)?;
        let member_id = r.nullable_string(true)?;
        let member_epoch = r.i32()?;
        let heartbeat_interval_ms = r.i32()?;
        let assignment = r.nullable_struct(|r| Assignment::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self {
            throttle_time_ms,
            error_code,
            error_message,
            member_id,
            member_epoch,
            heartbeat_interval_ms,
            assignment,
        })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.throttle_time(self.throttle_time_ms);
        w.error_code(self.error_code);
        w.nullable_string(self.error_message.as_deref(), true)?;
        w.nullable_string(self.member_id.as_deref(), true)?;
        w.i32(self.member_epoch);
        w.i32(self.heartbeat_interval_ms);
        w.nullable_struct(self.assignment.as_ref(), |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `Assignment` in `ConsumerGroupHeartbeatResponse`, versions 0-1.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Assignment {
    /// `TopicPartitions`: []TopicPartitions, versions 0+.
    pub topic_partitions: Vec<TopicPartitions>,
}

impl Assignment {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let topic_partitions = r.array(true, |r| TopicPartitions::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self { topic_partitions })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        w.array(&self.topic_partitions, true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `TopicPartitions` in `ConsumerGroupHeartbeatResponse`, versions 0-1.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct TopicPartitions {
    /// `TopicId`: uuid, versions 0+.
    pub topic_id: Uuid,
    /// `Partitions`: []int32, versions 0+.
    pub partitions: Vec<i32>,
}

impl TopicPartitions {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let topic_id = r.uuid()?;
        let partitions = r.array(true, Reader::i32)?;
        r.skip_tags()?;
        Ok(Self { topic_id, partitions })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.uuid(self.topic_id);
        w.array(&self.partitions, true, |w, it| {
            w.i32(*it);
            Ok(())
        })?;
        w.no_tags();
        Ok(())
    }
}
