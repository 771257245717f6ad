//! `ElectLeadersResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/ElectLeadersResponse.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `ElectLeadersResponse`: response, key 43, versions 0-2, flexible 2+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ElectLeadersResponse {
    /// `ThrottleTimeMs`: int32, versions 0+.
    pub throttle_time_ms: i32,
    /// `ErrorCode`: int16, versions 1+.
    pub error_code: i16,
    /// `ReplicaElectionResults`: []ReplicaElectionResult, versions 0+.
    pub replica_election_results: Vec<ReplicaElectionResult>,
}

impl Message for ElectLeadersResponse {
    const NAME: &'static str = "ElectLeadersResponse";
    const API_KEY: Option<i16> = Some(43);
    const VERSIONS: VersionRange = VersionRange::new(0, 2);
    const FLEXIBLE_FROM: Option<i16> = Some(2);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 2;
        let throttle_time_ms = r.i32()?;
        let error_code = if v >= 1 { r.i16()? } else { 0 };
        let replica_election_results = r.array(flexible, |r| ReplicaElectionResult::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { throttle_time_ms, error_code, replica_election_results })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 2;
        w.throttle_time(self.throttle_time_ms);
        if v >= 1 {
            w.error_code(self.error_code);
        } else if self.error_code != 0 {
            return Err(EncodeError::FieldNotInVersion {
                message: "ElectLeadersResponse",
                field: "ErrorCode",
                version: v,
            });
        }
        w.array(&self.replica_election_results, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `ReplicaElectionResult` in `ElectLeadersResponse`, versions 0-2.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ReplicaElectionResult {
    /// `Topic`: string, versions 0+.
    pub topic: String,
    /// `PartitionResult`: []PartitionResult, versions 0+.
    pub partition_result: Vec<PartitionResult>,
}

impl ReplicaElectionResult {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v == 2;
        let topic = r.string(flexible)?;
        let partition_result = r.array(flexible, |r| PartitionResult::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { topic, partition_result })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v == 2;
        w.string(&self.topic, flexible)?;
        w.array(&self.partition_result, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `PartitionResult` in `ElectLeadersResponse`, versions 0-2.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionResult {
    /// `PartitionId`: int32, versions 0+.
    pub partition_id: i32,
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `ErrorMessage`: string, versions 0+, nullable in 0+.
    pub error_message: Option<String>,
}

impl Default for PartitionResult {
    fn default() -> Self {
        Self { partition_id: 0, error_code: 0, error_message: Some(String::new()) }
    }
}

impl PartitionResult {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v == 2;
        let partition_id = r.i32()?;
        let error_code = r.i16()?;
        let error_message = r.nullable_string(flexible)?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { partition_id, error_code, error_message })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v == 2;
        w.i32(self.partition_id);
        w.error_code(self.error_code);
        w.nullable_string(self.error_message.as_deref(), flexible)?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}
