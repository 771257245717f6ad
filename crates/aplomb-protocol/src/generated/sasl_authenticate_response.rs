//! `SaslAuthenticateResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/SaslAuthenticateResponse.schema`; not edited by hand.

use bytes::Bytes;

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `SaslAuthenticateResponse`: response, key 36, versions 0-2, flexible 2+.
#[derive(Clone, Debug, PartialEq)]
pub struct SaslAuthenticateResponse {
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `ErrorMessage`: string, versions 0+, nullable in 0+.
    pub error_message: Option<String>,
    /// `AuthBytes`: bytes, versions 0+.
    pub auth_bytes: Bytes,
    /// `SessionLifetimeMs`: int64, versions 1+, default 0, dropped by versions without it.
    pub session_lifetime_ms: i64,
}

impl Default for SaslAuthenticateResponse {
    fn default() -> Self {
        Self {
            error_code: 0,
            error_message: Some(String::new()),
            auth_bytes: Bytes::new(),
            session_lifetime_ms: 0,
        }
    }
}

impl Message for SaslAuthenticateResponse {
    const NAME: &'static str = "SaslAuthenticateResponse";
    const API_KEY: Option<i16> = Some(36);
    const VERSIONS: VersionRange = VersionRange::new(0, 2);
    const FLEXIBLE_FROM: Option<i16> = Some(2);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 2;
        let error_code = r.i16()?;
        let error_message = r.nullable_string(flexible)?;
        let auth_bytes = r.bytes(flexible)?;
        let session_lifetime_ms = if v >= 1 { r.i64()? } else { 0 };
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { error_code, error_message, auth_bytes, session_lifetime_ms })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 2;
        w.error_code(self.error_code);
        w.nullable_string(self.error_message.as_deref(), flexible)?;
        w.bytes(&self.auth_bytes, flexible)?;
        if v >= 1 {
            w.i64(self.session_lifetime_ms);
        }
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}
