//! `AlterConfigsResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/AlterConfigsResponse.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `AlterConfigsResponse`: response, key 33, versions 0-2, flexible 2+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct AlterConfigsResponse {
    /// `ThrottleTimeMs`: int32, versions 0+.
    pub throttle_time_ms: i32,
    /// `Responses`: []AlterConfigsResourceResponse, versions 0+.
    pub responses: Vec<AlterConfigsResourceResponse>,
}

impl Message for AlterConfigsResponse {
    const NAME: &'static str = "AlterConfigsResponse";
    const API_KEY: Option<i16> = Some(33);
    const VERSIONS: VersionRange = VersionRange::new(0, 2);
    const FLEXIBLE_FROM: Option<i16> = Some(2);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 2;
        let throttle_time_ms = r.i32()?;
        let responses = r.array(flexible, |r| AlterConfigsResourceResponse::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { throttle_time_ms, responses })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 2;
        w.throttle_time(self.throttle_time_ms);
        w.array(&self.responses, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `AlterConfigsResourceResponse` in `AlterConfigsResponse`, versions 0-2.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterConfigsResourceResponse {
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `ErrorMessage`: string, versions 0+, nullable in 0+.
    pub error_message: Option<String>,
    /// `ResourceType`: int8, versions 0+.
    pub resource_type: i8,
    /// `ResourceName`: string, versions 0+.
    pub resource_name: String,
}

impl Default for AlterConfigsResourceResponse {
    fn default() -> Self {
        Self {
            error_code: 0,
            error_message: Some(String::new()),
            resource_type: 0,
            resource_name: String::new(),
        }
    }
}

impl AlterConfigsResourceResponse {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v == 2;
        let error_code = r.i16()?;
        let error_message = r.nullable_string(flexible)?;
        let resource_type = r.i8()?;
        let resource_name = r.string(flexible)?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { error_code, error_message, resource_type, resource_name })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v == 2;
        w.error_code(self.error_code);
        w.nullable_string(self.error_message.as_deref(), flexible)?;
        w.i8(self.resource_type);
        w.string(&self.resource_name, flexible)?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}
