//! `SyncGroupResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/SyncGroupResponse.schema`; not edited by hand.

use bytes::Bytes;

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `SyncGroupResponse`: response, key 14, versions 0-5, flexible 4+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct SyncGroupResponse {
    /// `ThrottleTimeMs`: int32, versions 1+, dropped by versions without it.
    pub throttle_time_ms: i32,
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `ProtocolType`: string, versions 5+, nullable in 5+, default null, dropped by versions without it.
    pub protocol_type: Option<String>,
    /// `ProtocolName`: string, versions 5+, nullable in 5+, default null, dropped by versions without it.
    pub protocol_name: Option<String>,
    /// `Assignment`: bytes, versions 0+.
    pub assignment: Bytes,
}

impl Message for SyncGroupResponse {
    const NAME: &'static str = "SyncGroupResponse";
    const API_KEY: Option<i16> = Some(14);
    const VERSIONS: VersionRange = VersionRange::new(0, 5);
    const FLEXIBLE_FROM: Option<i16> = Some(4);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 4;
        let throttle_time_ms = if v >= 1 { r.i32()? } else { 0 };
        let error_code = r.i16()?;
        let protocol_type = if v == 5 { r.nullable_string(flexible)? } else { None };
        let protocol_name = if v == 5 { r.nullable_string(flexible)? } else { None };
        let assignment = r.bytes(flexible)?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { throttle_time_ms, error_code, protocol_type, protocol_name, assignment })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 4;
        if v >= 1 {
            w.throttle_time(self.throttle_time_ms);
        }
        w.error_code(self.error_code);
        if v == 5 {
            w.nullable_string(self.protocol_type.as_deref(), flexible)?;
        }
        if v == 5 {
            w.nullable_string(self.protocol_name.as_deref(), flexible)?;
        }
        w.bytes(&self.assignment, flexible)?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}
