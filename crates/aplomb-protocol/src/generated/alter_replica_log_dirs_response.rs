//! `AlterReplicaLogDirsResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/AlterReplicaLogDirsResponse.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `AlterReplicaLogDirsResponse`: response, key 34, versions 1-2, flexible 2+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct AlterReplicaLogDirsResponse {
    /// `ThrottleTimeMs`: int32, versions 0+.
    pub throttle_time_ms: i32,
    /// `Results`: []AlterReplicaLogDirTopicResult, versions 0+.
    pub results: Vec<AlterReplicaLogDirTopicResult>,
}

impl Message for AlterReplicaLogDirsResponse {
    const NAME: &'static str = "AlterReplicaLogDirsResponse";
    const API_KEY: Option<i16> = Some(34);
    const VERSIONS: VersionRange = VersionRange::new(1, 2);
    const FLEXIBLE_FROM: Option<i16> = Some(2);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 2;
        let throttle_time_ms = r.i32()?;
        let results = r.array(flexible, |r| AlterReplicaLogDirTopicResult::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { throttle_time_ms, results })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 2;
        w.throttle_time(self.throttle_time_ms);
        w.array(&self.results, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `AlterReplicaLogDirTopicResult` in `AlterReplicaLogDirsResponse`, versions 1-2.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct AlterReplicaLogDirTopicResult {
    /// `TopicName`: string, versions 0+.
    pub topic_name: String,
    /// `Partitions`: []AlterReplicaLogDirPartitionResult, versions 0+.
    pub partitions: Vec<AlterReplicaLogDirPartitionResult>,
}

impl AlterReplicaLogDirTopicResult {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v == 2;
        let topic_name = r.string(flexible)?;
        let partitions = r.array(flexible, |r| AlterReplicaLogDirPartitionResult::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { topic_name, partitions })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v == 2;
        w.string(&self.topic_name, flexible)?;
        w.array(&self.partitions, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `AlterReplicaLogDirPartitionResult` in `AlterReplicaLogDirsResponse`, versions 1-2.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct AlterReplicaLogDirPartitionResult {
    /// `PartitionIndex`: int32, versions 0+.
    pub partition_index: i32,
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
}

impl AlterReplicaLogDirPartitionResult {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v == 2;
        let partition_index = r.i32()?;
        let error_code = r.i16()?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { partition_index, error_code })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v == 2;
        w.i32(self.partition_index);
        w.error_code(self.error_code);
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}
