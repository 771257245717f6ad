//! `AlterPartitionReassignmentsResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/AlterPartitionReassignmentsResponse.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `AlterPartitionReassignmentsResponse`: response, key 45, versions 0-1, flexible 0+.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterPartitionReassignmentsResponse {
    /// `ThrottleTimeMs`: int32, versions 0+.
    pub throttle_time_ms: i32,
    /// `AllowReplicationFactorChange`: bool, versions 1+, default true, dropped by versions without it.
    pub allow_replication_factor_change: bool,
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `ErrorMessage`: string, versions 0+, nullable in 0+.
    pub error_message: Option<String>,
    /// `Responses`: []ReassignableTopicResponse, versions 0+.
    pub responses: Vec<ReassignableTopicResponse>,
}

impl Default for AlterPartitionReassignmentsResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            allow_replication_factor_change: true,
            error_code: 0,
            error_message: Some(String::new()),
            responses: Vec::new(),
        }
    }
}

impl Message for AlterPartitionReassignmentsResponse {
    const NAME: &'static str = "AlterPartitionReassignmentsResponse";
    const API_KEY: Option<i16> = Some(45);
    const VERSIONS: VersionRange = VersionRange::new(0, 1);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let throttle_time_ms = r.i32()?;
        let allow_replication_factor_change = if v == 1 { r.bool()? } else { true };
        let error_code = r.i16()?;
        let error_message = r.nullable_string(true)?;
        let responses = r.array(true, |r| ReassignableTopicResponse::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self { throttle_time_ms, allow_replication_factor_change, error_code, error_message, responses })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.throttle_time(self.throttle_time_ms);
        if v == 1 {
            w.bool(self.allow_replication_factor_change);
        }
        w.error_code(self.error_code);
        w.nullable_string(self.error_message.as_deref(), true)?;
        w.array(&self.responses, true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `ReassignableTopicResponse` in `AlterPartitionReassignmentsResponse`, versions 0-1.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ReassignableTopicResponse {
    /// `Name`: string, versions 0+.
    pub name: String,
    /// `Partitions`: []ReassignablePartitionResponse, versions 0+.
    pub partitions: Vec<ReassignablePartitionResponse>,
}

impl ReassignableTopicResponse {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let name = r.string(true)?;
        let partitions = r.array(true, |r| ReassignablePartitionResponse::decode(r, v))?;
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

/// `ReassignablePartitionResponse` in `AlterPartitionReassignmentsResponse`, versions 0-1.
#[derive(Clone, Debug, PartialEq)]
pub struct ReassignablePartitionResponse {
    /// `PartitionIndex`: int32, versions 0+.
    pub partition_index: i32,
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `ErrorMessage`: string, versions 0+, nullable in 0+.
    pub error_message: Option<String>,
}

impl Default for ReassignablePartitionResponse {
    fn default() -> Self {
        Self { partition_index: 0, error_code: 0, error_message: Some(String::new()) }
    }
}

impl ReassignablePartitionResponse {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let partition_index = r.i32()?;
        let error_code = r.i16()?;
        let error_message = r.nullable_string(true)?;
        r.skip_tags()?;
        Ok(Self { partition_index, error_code, error_message })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.i32(self.partition_index);
        w.error_code(self.error_code);
        w.nullable_string(self.error_message.as_deref(), true)?;
        w.no_tags();
        Ok(())
    }
}
