//! `CreateAclsResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/CreateAclsResponse.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `CreateAclsResponse`: response, key 30, versions 1-3, flexible 2+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct CreateAclsResponse {
    /// `ThrottleTimeMs`: int32, versions 0+.
    pub throttle_time_ms: i32,
    /// `Results`: []AclCreationResult, versions 0+.
    pub results: Vec<AclCreationResult>,
}

impl Message for CreateAclsResponse {
    const NAME: &'static str = "CreateAclsResponse";
    const API_KEY: Option<i16> = Some(30);
    const VERSIONS: VersionRange = VersionRange::new(1, 3);
    const FLEXIBLE_FROM: Option<i16> = Some(2);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 2;
        let throttle_time_ms = r.i32()?;
        let results = r.array(flexible, |r| AclCreationResult::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { throttle_time_ms, results })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 2;
        w.throttle_time(self.throttle_time_ms);
        w.array(&self.results, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `AclCreationResult` in `CreateAclsResponse`, versions 1-3.
#[derive(Clone, Debug, PartialEq)]
pub struct AclCreationResult {
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `ErrorMessage`: string, versions 0+, nullable in 0+.
    pub error_message: Option<String>,
}

impl Default for AclCreationResult {
    fn default() -> Self {
        Self { error_code: 0, error_message: Some(String::new()) }
    }
}

impl AclCreationResult {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 2;
        let error_code = r.i16()?;
        let error_message = r.nullable_string(flexible)?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { error_code, error_message })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 2;
        w.error_code(self.error_code);
        w.nullable_string(self.error_message.as_deref(), flexible)?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}
