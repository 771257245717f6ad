//! `DeleteAclsResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/DeleteAclsResponse.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `DeleteAclsResponse`: response, key 31, versions 1-3, flexible 2+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct DeleteAclsResponse {
    /// `ThrottleTimeMs`: int32, versions 0+.
    pub throttle_time_ms: i32,
    /// `FilterResults`: []DeleteAclsFilterResult, versions 0+.
    pub filter_results: Vec<DeleteAclsFilterResult>,
}

impl Message for DeleteAclsResponse {
    const NAME: &'static str = "DeleteAclsResponse";
    const API_KEY: Option<i16> = Some(31);
    const VERSIONS: VersionRange = VersionRange::new(1, 3);
    const FLEXIBLE_FROM: Option<i16> = Some(2);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 2;
        let throttle_time_ms = r.i32()?;
        let filter_results = r.array(flexible, |r| DeleteAclsFilterResult::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { throttle_time_ms, filter_results })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 2;
        w.throttle_time(self.throttle_time_ms);
        w.array(&self.filter_results, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `DeleteAclsFilterResult` in `DeleteAclsResponse`, versions 1-3.
#[derive(Clone, Debug, PartialEq)]
pub struct DeleteAclsFilterResult {
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `ErrorMessage`: string, versions 0+, nullable in 0+.
    pub error_message: Option<String>,
    /// `MatchingAcls`: []DeleteAclsMatchingAcl, versions 0+.
    pub matching_acls: Vec<DeleteAclsMatchingAcl>,
}

impl Default for DeleteAclsFilterResult {
    fn default() -> Self {
        Self { error_code: 0, error_message: Some(String::new()), matching_acls: Vec::new() }
    }
}

impl DeleteAclsFilterResult {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 2;
        let error_code = r.i16()?;
        let error_message = r.nullable_string(flexible)?;
        let matching_acls = r.array(flexible, |r| DeleteAclsMatchingAcl::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { error_code, error_message, matching_acls })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 2;
        w.error_code(self.error_code);
        w.nullable_string(self.error_message.as_deref(), flexible)?;
        w.array(&self.matching_acls, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `DeleteAclsMatchingAcl` in `DeleteAclsResponse`, versions 1-3.
#[derive(Clone, Debug, PartialEq)]
pub struct DeleteAclsMatchingAcl {
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `ErrorMessage`: string, versions 0+, nullable in 0+.
    pub error_message: Option<String>,
    /// `ResourceType`: int8, versions 0+.
    pub resource_type: i8,
    /// `ResourceName`: string, versions 0+.
    pub resource_name: String,
    /// `PatternType`: int8, versions 1+, default 3.
    pub pattern_type: i8,
    /// `Principal`: string, versions 0+.
    pub principal: String,
    /// `Host`: string, versions 0+.
    pub host: String,
    /// `Operation`: int8, versions 0+.
    pub operation: i8,
    /// `PermissionType`: int8, versions 0+.
    pub permission_type: i8,
}

impl Default for DeleteAclsMatchingAcl {
    fn default() -> Self {
        Self {
            error_code: 0,
            error_message: Some(String::new()),
            resource_type: 0,
            resource_name: String::new(),
            pattern_type: 3,
            principal: String::new(),
            host: String::new(),
            operation: 0,
            permission_type: 0,
        }
    }
}

impl DeleteAclsMatchingAcl {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 2;
        let error_code = r.i16()?;
        let error_message = r.nullable_string(flexible)?;
        let resource_type = r.i8()?;
        let resource_name = r.string(flexible)?;
        let pattern_type = r.i8()?;
        let principal = r.string(flexible)?;
        let host = r.string(flexible)?;
        let operation = r.i8()?;
        let permission_type = r.i8()?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self {
            error_code,
            error_message,
            resource_type,
            resource_name,
            pattern_type,
            principal,
            host,
            operation,
            permission_type,
        })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 2;
        w.error_code(self.error_code);
        w.nullable_string(self.error_message.as_deref(), flexible)?;
        w.i8(self.resource_type);
        w.string(&self.resource_name, flexible)?;
        w.i8(self.pattern_type);
        w.string(&self.principal, flexible)?;
        w.string(&self.host, flexible)?;
        w.i8(self.operation);
        w.i8(self.permission_type);
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}
