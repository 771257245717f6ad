//! `ExpireDelegationTokenRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/ExpireDelegationTokenRequest.schema`; not edited by hand.

use bytes::Bytes;

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `ExpireDelegationTokenRequest`: request, key 40, versions 1-2, flexible 2+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ExpireDelegationTokenRequest {
    /// `Hmac`: bytes, versions 0+.
    pub hmac: Bytes,
    /// `ExpiryTimePeriodMs`: int64, versions 0+.
    pub expiry_time_period_ms: i64,
}

impl Message for ExpireDelegationTokenRequest {
    const NAME: &'static str = "ExpireDelegationTokenRequest";
    const API_KEY: Option<i16> = Some(40);
    const VERSIONS: VersionRange = VersionRange::new(1, 2);
    const FLEXIBLE_FROM: Option<i16> = Some(2);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 2;
        let hmac = r.bytes(flexible)?;
        let expiry_time_period_ms = r.i64()?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { hmac, expiry_time_period_ms })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 2;
        w.bytes(&self.hmac, flexible)?;
        w.i64(self.expiry_time_period_ms);
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

impl Request for ExpireDelegationTokenRequest {
    const KEY: ApiKey = ApiKey::ExpireDelegationToken;
    type Response = super::ExpireDelegationTokenResponse;
}
