//! `UpdateFeaturesResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/UpdateFeaturesResponse.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `UpdateFeaturesResponse`: response, key 57, versions 0-2, flexible 0+.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateFeaturesResponse {
    /// `ThrottleTimeMs`: int32, versions 0+.
    pub throttle_time_ms: i32,
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `ErrorMessage`: string, versions 0+, nullable in 0+.
    pub error_message: Option<String>,
    /// `Results`: []UpdatableFeatureResult, versions 0-1, dropped by versions without it.
    pub results: Vec<UpdatableFeatureResult>,
}

impl Default for UpdateFeaturesResponse {
    fn default() -> Self {
        Self { throttle_time_ms: 0, error_code: 0, error_message: Some(String::new()), results: Vec::new() }
    }
}

impl Message for UpdateFeaturesResponse {
    const NAME: &'static str = "UpdateFeaturesResponse";
    const API_KEY: Option<i16> = Some(57);
    const VERSIONS: VersionRange = VersionRange::new(0, 2);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let throttle_time_ms = r.i32()?;
        let error_code = r.i16()?;
        let error_message = r.nullable_string(true)?;
        let results =
            if v <= 1 { r.array(true, |r| UpdatableFeatureResult::decode(r, v))? } else { Vec::new() };
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
        if v <= 1 {
            w.array(&self.results, true, |w, it| it.encode(w, v))?;
        }
        w.no_tags();
        Ok(())
    }
}

/// `UpdatableFeatureResult` in `UpdateFeaturesResponse`, versions 0-1.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdatableFeatureResult {
    /// `Feature`: string, versions 0+.
    pub feature: String,
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `ErrorMessage`: string, versions 0+, nullable in 0+.
    pub error_message: Option<String>,
}

impl Default for UpdatableFeatureResult {
    fn default() -> Self {
        Self { feature: String::new(), error_code: 0, error_message: Some(String::new()) }
    }
}

impl UpdatableFeatureResult {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let feature = r.string(true)?;
        let error_code = r.i16()?;
        let error_message = r.nullable_string(true)?;
        r.skip_tags()?;
        Ok(Self { feature, error_code, error_message })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.string(&self.feature, true)?;
        w.error_code(self.error_code);
        w.nullable_string(self.error_message.as_deref(), true)?;
        w.no_tags();
        Ok(())
    }
}
