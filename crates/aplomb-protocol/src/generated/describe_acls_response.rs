//! `DescribeAclsResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/DescribeAclsResponse.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `DescribeAclsResponse`: response, key 29, versions 1-3, flexible 2+.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribeAclsResponse {
    /// `ThrottleTimeMs`: int32, versions 0+.
    pub throttle_time_ms: i32,
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `ErrorMessage`: string, versions 0+, nullable in 0+.
    pub error_message: Option<String>,
    /// `Resources`: []DescribeAclsResource, versions 0+.
    pub resources: Vec<DescribeAclsResource>,
}

impl Default for DescribeAclsResponse {
    fn default() -> Self {
        Self { throttle_time_ms: 0, error_code: 0, error_message: Some(String::new()), resources: Vec::new() }
    }
}

impl Message for DescribeAclsResponse {
    const NAME: &'static str = "DescribeAclsResponse";
    const API_KEY: Option<i16> = Some(29);
    const VERSIONS: VersionRange = VersionRange::new(1, 3);
    const FLEXIBLE_FROM: Option<i16> = Some(2);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 2;
        let throttle_time_ms = r.i32()?;
        let error_code = r.i16()?;
        let error_message = r.nullable_string(flexible)?;
        let resources = r.array(flexible, |r| DescribeAclsResource::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { throttle_time_ms, error_code, error_message, resources })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 2;
        w.throttle_time(self.throttle_time_ms);
        w.error_code(self.error_code);
        w.nullable_string(self.error_message.as_deref(), flexible)?;
        w.array(&self.resources, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `DescribeAclsResource` in `DescribeAclsResponse`, versions 1-3.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribeAclsResource {
    /// `ResourceType`: int8, versions 0+.
    pub resource_type: i8,
    /// `ResourceName`: string, versions 0+.
    pub resource_name: String,
    /// `PatternType`: int8, versions 1+, default 3.
    pub pattern_type: i8,
    /// `Acls`: []AclDescription, versions 0+.
    pub acls: Vec<AclDescription>,
}

impl Default for DescribeAclsResource {
    fn default() -> Self {
        Self { resource_type: 0, resource_name: String::new(), pattern_type: 3, acls: Vec::new() }
    }
}

impl DescribeAclsResource {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 2;
        let resource_type = r.i8()?;
        let resource_name = r.string(flexible)?;
        let pattern_type = r.i8()?;
        let acls = r.array(flexible, |r| AclDescription::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { resource_type, resource_name, pattern_type, acls })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 2;
        w.i8(self.resource_type);
        w.string(&self.resource_name, flexible)?;
        w.i8(self.pattern_type);
        w.array(&self.acls, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `AclDescription` in `DescribeAclsResponse`, versions 1-3.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct AclDescription {
    /// `Principal`: string, versions 0+.
    pub principal: String,
    /// `Host`: string, versions 0+.
    pub host: String,
    /// `Operation`: int8, versions 0+.
    pub operation: i8,
    /// `PermissionType`: int8, versions 0+.
    pub permission_type: i8,
}

impl AclDescription {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 2;
        let principal = r.string(flexible)?;
        let host = r.string(flexible)?;
        let operation = r.i8()?;
        let permission_type = r.i8()?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { principal, host, operation, permission_type })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 2;
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
