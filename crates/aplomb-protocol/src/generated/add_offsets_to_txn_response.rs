//! `AddOffsetsToTxnResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/AddOffsetsToTxnResponse.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `AddOffsetsToTxnResponse`: response, key 25, versions 0-4, flexible 3+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct AddOffsetsToTxnResponse {
    /// `ThrottleTimeMs`: int32, versions 0+.
    pub throttle_time_ms: i32,
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
}

impl Message for AddOffsetsToTxnResponse {
    const NAME: &'static str = "AddOffsetsToTxnResponse";
    const API_KEY: Option<i16> = Some(25);
    const VERSIONS: VersionRange = VersionRange::new(0, 4);
    const FLEXIBLE_FROM: Option<i16> = Some(3);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 3;
        let throttle_time_ms = r.i32()?;
        let error_code = r.i16()?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { throttle_time_ms, error_code })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 3;
        w.throttle_time(self.throttle_time_ms);
        w.error_code(self.error_code);
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}
