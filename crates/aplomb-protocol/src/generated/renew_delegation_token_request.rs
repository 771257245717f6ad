//! `RenewDelegationTokenRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/RenewDelegationTokenRequest.schema`; not edited by hand.

use bytes::Bytes;

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `RenewDelegationTokenRequest`: request, key 39, versions 1-2, flexible 2+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct RenewDelegationTokenRequest {
    /// `Hmac`: bytes, versions 0+.
    pub hmac: Bytes,
    /// `RenewPeriodMs`: int64, versions 0+.
    pub renew_period_ms: i64,
}

impl Message for RenewDelegationTokenRequest {
    const NAME: &'static str = "RenewDelegationTokenRequest";
    const API_KEY: Option<i16> = Some(39);
    const VERSIONS: VersionRange = VersionRange::new(1, 2);
    const FLEXIBLE_FROM: Option<i16> = Some(2);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 2;
        let hmac = r.bytes(flexible)?;
        let renew_period_ms = r.i64()?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { hmac, renew_period_ms })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 2;
        w.bytes(&self.hmac, flexible)?;
        w.i64(self.renew_period_ms);
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

impl Request for RenewDelegationTokenRequest {
    const KEY: ApiKey = ApiKey::RenewDelegationToken;
    type Response = super::RenewDelegationTokenResponse;
}
