//! `RenewDelegationTokenResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/RenewDelegationTokenResponse.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `RenewDelegationTokenResponse`: response, key 39, versions 1-2, flexible 2+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct RenewDelegationTokenResponse {
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `ExpiryTimestampMs`: int64, versions 0+.
    pub expiry_timestamp_ms: i64,
    /// `ThrottleTimeMs`: int32, versions 0+.
    pub throttle_time_ms: i32,
}

impl Message for RenewDelegationTokenResponse {
    const NAME: &'static str = "RenewDelegationTokenResponse";
    const API_KEY: Option<i16> = Some(39);
    const VERSIONS: VersionRange = VersionRange::new(1, 2);
    const FLEXIBLE_FROM: Option<i16> = Some(2);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 2;
        let error_code = r.i16()?;
        let expiry_timestamp_ms = r.i64()?;
        let throttle_time_ms = r.i32()?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { error_code, expiry_timestamp_ms, throttle_time_ms })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 2;
        w.error_code(self.error_code);
        w.i64(self.expiry_timestamp_ms);
        w.throttle_time(self.throttle_time_ms);
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}
