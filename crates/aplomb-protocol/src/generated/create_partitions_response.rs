//! `CreatePartitionsResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/CreatePartitionsResponse.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `CreatePartitionsResponse`: response, key 37, versions 0-3, flexible 2+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct CreatePartitionsResponse {
    /// `ThrottleTimeMs`: int32, versions 0+.
    pub throttle_time_ms: i32,
    /// `Results`: []CreatePartitionsTopicResult, versions 0+.
    pub results: Vec<CreatePartitionsTopicResult>,
}

impl Message for CreatePartitionsResponse {
    const NAME: &'static str = "CreatePartitionsResponse";
    const API_KEY: Option<i16> = Some(37);
    const VERSIONS: VersionRange = VersionRange::new(0, 3);
    const FLEXIBLE_FROM: Option<i16> = Some(2);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 2;
        let throttle_time_ms = r.i32()?;
        let results = r.array(flexible, |r| CreatePartitionsTopicResult::decode(r, v))?;
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

/// `CreatePartitionsTopicResult` in `CreatePartitionsResponse`, versions 0-3.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct CreatePartitionsTopicResult {
    /// `Name`: string, versions 0+.
    pub name: String,
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `ErrorMessage`: string, versions 0+, nullable in 0+, default null.
    pub error_message: Option<String>,
}

impl CreatePartitionsTopicResult {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 2;
        let name = r.string(flexible)?;
        let error_code = r.i16()?;
        let error_message = r.nullable_string(flexible)?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { name, error_code, error_message })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 2;
        w.string(&self.name, flexible)?;
        w.error_code(self.error_code);
        w.nullable_string(self.error_message.as_deref(), flexible)?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}
