//! `AlterUserScramCredentialsResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/AlterUserScramCredentialsResponse.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `AlterUserScramCredentialsResponse`: response, key 51, versions 0, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct AlterUserScramCredentialsResponse {
    /// `ThrottleTimeMs`: int32, versions 0+.
    pub throttle_time_ms: i32,
    /// `Results`: []AlterUserScramCredentialsResult, versions 0+.
    pub results: Vec<AlterUserScramCredentialsResult>,
}

impl Message for AlterUserScramCredentialsResponse {
    const NAME: &'static str = "AlterUserScramCredentialsResponse";
    const API_KEY: Option<i16> = Some(51);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let throttle_time_ms = r.i32()?;
        let results = r.array(true, |r| AlterUserScramCredentialsResult::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self { throttle_time_ms, results })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.throttle_time(self.throttle_time_ms);
        w.array(&self.results, true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `AlterUserScramCredentialsResult` in `AlterUserScramCredentialsResponse`, versions 0.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterUserScramCredentialsResult {
    /// `User`: string, versions 0+.
    pub user: String,
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `ErrorMessage`: string, versions 0+, nullable in 0+.
    pub error_message: Option<String>,
}

impl Default for AlterUserScramCredentialsResult {
    fn default() -> Self {
        Self { user: String::new(), error_code: 0, error_message: Some(String::new()) }
    }
}

impl AlterUserScramCredentialsResult {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let user = r.string(true)?;
        let error_code = r.i16()?;
        let error_message = r.nullable_string(true)?;
        r.skip_tags()?;
        Ok(Self { user, error_code, error_message })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.string(&self.user, true)?;
        w.error_code(self.error_code);
        w.nullable_string(self.error_message.as_deref(), true)?;
        w.no_tags();
        Ok(())
    }
}
