//! `DeleteAclsRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/DeleteAclsRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `DeleteAclsRequest`: request, key 31, versions 1-3, flexible 2+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct DeleteAclsRequest {
    /// `Filters`: []DeleteAclsFilter, versions 0+.
    pub filters: Vec<DeleteAclsFilter>,
}

impl Message for DeleteAclsRequest {
    const NAME: &'static str = "DeleteAclsRequest";
    const API_KEY: Option<i16> = Some(31);
    const VERSIONS: VersionRange = VersionRange::new(1, 3);
    const FLEXIBLE_FROM: Option<i16> = Some(2);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 2;
        let filters = r.array(flexible, |r| DeleteAclsFilter::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { filters })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 2;
        w.array(&self.filters, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `DeleteAclsFilter` in `DeleteAclsRequest`, versions 1-3.
#[derive(Clone, Debug, PartialEq)]
pub struct DeleteAclsFilter {
    /// `ResourceTypeFilter`: int8, versions 0+.
    pub resource_type_filter: i8,
    /// `ResourceNameFilter`: string, versions 0+, nullable in 0+.
    pub resource_name_filter: Option<String>,
    /// `PatternTypeFilter`: int8, versions 1+, default 3.
    pub pattern_type_filter: i8,
    /// `PrincipalFilter`: string, versions 0+, nullable in 0+.
    pub principal_filter: Option<String>,
    /// `HostFilter`: string, versions 0+, nullable in 0+.
    pub host_filter: Option<String>,
    /// `Operation`: int8, versions 0+.
    pub operation: i8,
    /// `PermissionType`: int8, versions 0+.
    pub permission_type: i8,
}

impl Default for DeleteAclsFilter {
    fn default() -> Self {
        Self {
            resource_type_filter: 0,
            resource_name_filter: Some(String::new()),
            pattern_type_filter: 3,
            principal_filter: Some(String::new()),
            host_filter: Some(String::new()),
            operation: 0,
            permission_type: 0,
        }
    }
}

impl DeleteAclsFilter {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 2;
        let resource_type_filter = r.i8()?;
        let resource_name_filter = r.nullable_string(flexible)?;
        let pattern_type_filter = r.i8()?;
        let principal_filter = r.nullable_string(flexible)?;
        let host_filter = r.nullable_string(flexible)?;
        let operation = r.i8()?;
        let permission_type = r.i8()?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self {
            resource_type_filter,
            resource_name_filter,
            pattern_type_filter,
            principal_filter,
            host_filter,
            operation,
            permission_type,
        })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 2;
        w.i8(self.resource_type_filter);
        w.nullable_string(self.resource_name_filter.as_deref(), flexible)?;
        w.i8(self.pattern_type_filter);
        w.nullable_string(self.principal_filter.as_deref(), flexible)?;
        w.nullable_string(self.host_filter.as_deref(), flexible)?;
        w.i8(self.operation);
        w.i8(self.permission_type);
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

impl Request for DeleteAclsRequest {
    const KEY: ApiKey = ApiKey::DeleteAcls;
    type Response = super::DeleteAclsResponse;
}
