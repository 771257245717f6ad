//! `ListPartitionReassignmentsResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/ListPartitionReassignmentsResponse.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `ListPartitionReassignmentsResponse`: response, key 46, versions 0, flexible 0+.
#[derive(Clone, Debug, PartialEq)]
pub struct ListPartitionReassignmentsResponse {
    /// `ThrottleTimeMs`: int32, versions 0+.
    pub throttle_time_ms: i32,
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `ErrorMessage`: string, versions 0+, nullable in 0+.
    pub error_message: Option<String>,
    /// `Topics`: []OngoingTopicReassignment, versions 0+.
    pub topics: Vec<OngoingTopicReassignment>,
}

impl Default for ListPartitionReassignmentsResponse {
    fn default() -> Self {
        Self { throttle_time_ms: 0, error_code: 0, error_message: Some(String::new()), topics: Vec::new() }
    }
}

impl Message for ListPartitionReassignmentsResponse {
    const NAME: &'static str = "ListPartitionReassignmentsResponse";
    const API_KEY: Option<i16> = Some(46);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let throttle_time_ms = r.i32()?;
        let error_code = r.i16()?;
        let error_message = r.nullable_string(true)?;
        let topics = r.array(true, |r| OngoingTopicReassignment::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self { throttle_time_ms, error_code, error_message, topics })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.throttle_time(self.throttle_time_ms);
        w.error_code(self.error_code);
        w.nullable_string(self.error_message.as_deref(), true)?;
        w.array(&self.topics, true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `OngoingTopicReassignment` in `ListPartitionReassignmentsResponse`, versions 0.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct OngoingTopicReassignment {
    /// `Name`: string, versions 0+.
    pub name: String,
    /// `Partitions`: []OngoingPartitionReassignment, versions 0+.
    pub partitions: Vec<OngoingPartitionReassignment>,
}

impl OngoingTopicReassignment {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let name = r.string(true)?;
        let partitions = r.array(true, |r| OngoingPartitionReassignment::decode(r, v))?;
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

/// `OngoingPartitionReassignment` in `ListPartitionReassignmentsResponse`, versions 0.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct OngoingPartitionReassignment {
    /// `PartitionIndex`: int32, versions 0+.
    pub partition_index: i32,
    /// `Replicas`: []int32, versions 0+.
    pub replicas: Vec<i32>,
    /// `AddingReplicas`: []int32, versions 0+.
    pub adding_replicas: Vec<i32>,
    /// `RemovingReplicas`: []int32, versions 0+.
    pub removing_replicas: Vec<i32>,
}

impl OngoingPartitionReassignment {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let partition_index = r.i32()?;
        let replicas = r.array(true, Reader::i32)?;
        let adding_replicas = r.array(true, Reader::i32)?;
        let removing_replicas = r.array(true, Reader::i32)?;
        r.skip_tags()?;
        Ok(Self { partition_index, replicas, adding_replicas, removing_replicas })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.i32(self.partition_index);
        w.array(&self.replicas, true, |w, it| {
            w.i32(*it);
            Ok(())
        })?;
        w.array(&self.adding_replicas, true, |w, it| {
            w.i32(*it);
            Ok(())
        })?;
        w.array(&self.removing_replicas, true, |w, it| {
            w.i32(*it);
            Ok(())
        })?;
        w.no_tags();
        Ok(())
    }
}
