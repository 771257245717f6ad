//! `SaslHandshakeResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/SaslHandshakeResponse.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `SaslHandshakeResponse`: response, key 17, versions 0-1, flexible none.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct SaslHandshakeResponse {
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `Mechanisms`: []string, versions 0+.
    pub mechanisms: Vec<String>,
}

impl Message for SaslHandshakeResponse {
    const NAME: &'static str = "SaslHandshakeResponse";
    const API_KEY: Option<i16> = Some(17);
    const VERSIONS: VersionRange = VersionRange::new(0, 1);
    const FLEXIBLE_FROM: Option<i16> = None;

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let error_code = r.i16()?;
        let mechanisms = r.array(false, |r| r.string(false))?;
        Ok(Self { error_code, mechanisms })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.error_code(self.error_code);
        w.array(&self.mechanisms, false, |w, it| w.string(it, false))?;
        Ok(())
    }
}
