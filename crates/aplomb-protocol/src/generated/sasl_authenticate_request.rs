//! `SaslAuthenticateRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/SaslAuthenticateRequest.schema`; not edited by hand.

use bytes::Bytes;

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `SaslAuthenticateRequest`: request, key 36, versions 0-2, flexible 2+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct SaslAuthenticateRequest {
    /// `AuthBytes`: bytes, versions 0+.
    pub auth_bytes: Bytes,
}

impl Message for SaslAuthenticateRequest {
    const NAME: &'static str = "SaslAuthenticateRequest";
    const API_KEY: Option<i16> = Some(36);
    const VERSIONS: VersionRange = VersionRange::new(0, 2);
    const FLEXIBLE_FROM: Option<i16> = Some(2);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 2;
        let auth_bytes = r.bytes(flexible)?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { auth_bytes })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 2;
        w.bytes(&self.auth_bytes, flexible)?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

impl Request for SaslAuthenticateRequest {
    const KEY: ApiKey = ApiKey::SaslAuthenticate;
    type Response = super::SaslAuthenticateResponse;
}
