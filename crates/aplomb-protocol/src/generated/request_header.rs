//! `RequestHeader` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/RequestHeader.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `RequestHeader`: header, versions 1-2, flexible 2+.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestHeader {
    /// `RequestApiKey`: int16, versions 0+.
    pub request_api_key: i16,
    /// `RequestApiVersion`: int16, versions 0+.
    pub request_api_version: i16,
    /// `CorrelationId`: int32, versions 0+.
    pub correlation_id: i32,
    /// `ClientId`: string, versions 1+, nullable in 1+.
    pub client_id: Option<String>,
}

impl Default for RequestHeader {
    fn default() -> Self {
        Self { request_api_key: 0, request_api_version: 0, correlation_id: 0, client_id: Some(String::new()) }
    }
}

impl Message for RequestHeader {
    const NAME: &'static str = "RequestHeader";
    const API_KEY: Option<i16> = None;
    const VERSIONS: VersionRange = VersionRange::new(1, 2);
    const FLEXIBLE_FROM: Option<i16> = Some(2);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 2;
        let request_api_key = r.i16()?;
        let request_api_version = r.i16()?;
        let correlation_id = r.i32()?;
        let client_id = r.nullable_string(false)?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { request_api_key, request_api_version, correlation_id, client_id })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 2;
        w.i16(self.request_api_key);
        w.i16(self.request_api_version);
        w.i32(self.correlation_id);
        w.nullable_string(self.client_id.as_deref(), false)?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}
