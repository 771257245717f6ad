//! `DescribeUserScramCredentialsResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/DescribeUserScramCredentialsResponse.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `DescribeUserScramCredentialsResponse`: response, key 50, versions 0, flexible 0+.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribeUserScramCredentialsResponse {
    /// `ThrottleTimeMs`: int32, versions 0+.
    pub throttle_time_ms: i32,
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `ErrorMessage`: string, versions 0+, nullable in 0+.
    pub error_message: Option<String>,
    /// `Results`: []DescribeUserScramCredentialsResult, versions 0+.
    pub results: Vec<DescribeUserScramCredentialsResult>,
}

impl Default for DescribeUserScramCredentialsResponse {
    fn default() -> Self {
        Self { throttle_time_ms: 0, error_code: 0, error_message: Some(String::new()), results: Vec::new() }
    }
}

impl Message for DescribeUserScramCredentialsResponse {
    const NAME: &'static str = "DescribeUserScramCredentialsResponse";
    const API_KEY: Option<i16> = Some(50);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let throttle_time_ms = r.i32()?;
        let error_code = r.i16()?;
        let error_message = r.nullable_string(true)?;
        let results = r.array(true, |r| DescribeUserScramCredentialsResult::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self { throttle_time_ms, error_code, error_message, results })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.throttle_time(self.throttle_time_ms);
        w.error_code(self.error_code);
        w.nullable_string(self.error_message.as_deref(), true)?;
        w.array(&self.results, true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `DescribeUserScramCredentialsResult` in `DescribeUserScramCredentialsResponse`, versions 0.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribeUserScramCredentialsResult {
    /// `User`: string, versions 0+.
    pub user: String,
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `ErrorMessage`: string, versions 0+, nullable in 0+.
    pub error_message: Option<String>,
    /// `CredentialInfos`: []CredentialInfo, versions 0+.
    pub credential_infos: Vec<CredentialInfo>,
}

impl Default for DescribeUserScramCredentialsResult {
    fn default() -> Self {
        Self {
            user: String::new(),
            error_code: 0,
            error_message: Some(String::new()),
            credential_infos: Vec::new(),
        }
    }
}

impl DescribeUserScramCredentialsResult {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let user = r.string(true)?;
        let error_code = r.i16()?;
        let error_message = r.nullable_string(true)?;
        let credential_infos = r.array(true, |r| CredentialInfo::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self { user, error_code, error_message, credential_infos })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        w.string(&self.user, true)?;
        w.error_code(self.error_code);
        w.nullable_string(self.error_message.as_deref(), true)?;
        w.array(&self.credential_infos, true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `CredentialInfo` in `DescribeUserScramCredentialsResponse`, versions 0.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct CredentialInfo {
    /// `Mechanism`: int8, versions 0+.
    pub mechanism: i8,
    /// `Iterations`: int32, versions 0+.
    pub iterations: i32,
}

impl CredentialInfo {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let mechanism = r.i8()?;
        let iterations = r.i32()?;
        r.skip_tags()?;
        Ok(Self { mechanism, iterations })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.i8(self.mechanism);
        w.i32(self.iterations);
        w.no_tags();
        Ok(())
    }
}
