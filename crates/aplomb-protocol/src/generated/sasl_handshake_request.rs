//! `SaslHandshakeRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/SaslHandshakeRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `SaslHandshakeRequest`: request, key 17, versions 0-1, flexible none.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct SaslHandshakeRequest {
    /// `Mechanism`: string, versions 0+.
    pub mechanism: String,
}

impl Message for SaslHandshakeRequest {
    const NAME: &'static str = "SaslHandshakeRequest";
    const API_KEY: Option<i16> = Some(17);
    const VERSIONS: VersionRange = VersionRange::new(0, 1);
    const FLEXIBLE_FROM: Option<i16> = None;

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let mechanism = r.string(false)?;
        Ok(Self { mechanism })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.string(&self.mechanism, false)?;
        Ok(())
    }
}

impl Request for SaslHandshakeRequest {
    const KEY: ApiKey = ApiKey::SaslHandshake;
    type Response = super::SaslHandshakeResponse;
}
