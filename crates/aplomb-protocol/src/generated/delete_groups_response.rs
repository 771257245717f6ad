//! `DeleteGroupsResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/DeleteGroupsResponse.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `DeleteGroupsResponse`: response, key 42, versions 0-3, flexible 2+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct DeleteGroupsResponse {
    /// `ThrottleTimeMs`: int32, versions 0+.
    pub throttle_time_ms: i32,
    /// `Results`: []DeletableGroupResult, versions 0+.
    pub results: Vec<DeletableGroupResult>,
}

impl Message for DeleteGroupsResponse {
    const NAME: &'static str = "DeleteGroupsResponse";
    const API_KEY: Option<i16> = Some(42);
    const VERSIONS: VersionRange = VersionRange::new(0, 3);
    const FLEXIBLE_FROM: Option<i16> = Some(2);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 2;
        let throttle_time_ms = r.i32()?;
        let results = r.array(flexible, |r| DeletableGroupResult::decode(r, v))?;
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

/// `DeletableGroupResult` in `DeleteGroupsResponse`, versions 0-3.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct DeletableGroupResult {
    /// `GroupId`: string, versions 0+.
    pub group_id: String,
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `ErrorMessage`: string, versions 3+, nullable in 3+, default null, dropped by versions without it.
    pub error_message: Option<String>,
}

impl DeletableGroupResult {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 2;
        let group_id = r.string(flexible)?;
        let error_code = r.i16()?;
        let error_message = if v == 3 { r.nullable_string(flexible)? } else { None };
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { group_id, error_code, error_message })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 2;
        w.string(&self.group_id, flexible)?;
        w.error_code(self.error_code);
        if v == 3 {
            w.nullable_string(self.error_message.as_deref(), flexible)?;
        }
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}
