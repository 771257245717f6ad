//! `EndTxnResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/EndTxnResponse.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `EndTxnResponse`: response, key 26, versions 0-5, flexible 3+.
#[derive(Clone, Debug, PartialEq)]
pub struct EndTxnResponse {
    /// `ThrottleTimeMs`: int32, versions 0+.
    pub throttle_time_ms: i32,
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `ProducerId`: int64, versions 5+, default -1, dropped by versions without it.
    pub producer_id: i64,
    /// `ProducerEpoch`: int16, versions 5+, default -1, dropped by versions without it.
    pub producer_epoch: i16,
}

impl Default for EndTxnResponse {
    fn default() -> Self {
        Self { throttle_time_ms: 0, error_code: 0, producer_id: -1, producer_epoch: -1 }
    }
}

impl Message for EndTxnResponse {
    const NAME: &'static str = "EndTxnResponse";
    const API_KEY: Option<i16> = Some(26);
    const VERSIONS: VersionRange = VersionRange::new(0, 5);
    const FLEXIBLE_FROM: Option<i16> = Some(3);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 3;
        let throttle_time_ms = r.i32()?;
        let error_code = r.i16()?;
        let producer_id = if v == 5 { r.i64()? } else { -1 };
        let producer_epoch = if v == 5 { r.i16()? } else { -1 };
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { throttle_time_ms, error_code, producer_id, producer_epoch })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 3;
        w.throttle_time(self.throttle_time_ms);
        w.error_code(self.error_code);
        if v == 5 {
            w.i64(self.producer_id);
        }
        if v == 5 {
            w.i16(self.producer_epoch);
        }
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}
