//! `CreateAclsRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/CreateAclsRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `CreateAclsRequest`: request, key 30, versions 1-3, flexible 2+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct CreateAclsRequest {
    /// `Creations`: []AclCreation, versions 0+.
    pub creations: Vec<AclCreation>,
}

impl Message for CreateAclsRequest {
    const NAME: &'static str = "CreateAclsRequest";
    const API_KEY: Option<i16> = Some(30);
    const VERSIONS: VersionRange = VersionRange::new(1, 3);
    const FLEXIBLE_FROM: Option<i16> = Some(2);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 2;
        let creations = r.array(flexible, |r| AclCreation::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { creations })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 2;
        w.array(&self.creations, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `AclCreation` in `CreateAclsRequest`, versions 1-3.
#[derive(Clone, Debug, PartialEq)]
pub struct AclCreation {
    /// `ResourceType`: int8, versions 0+.
    pub resource_type: i8,
    /// `ResourceName`: string, versions 0+.
    pub resource_name: String,
    /// `ResourcePatternType`: int8, versions 1+, default 3.
    pub resource_pattern_type: i8,
    /// `Principal`: string, versions 0+.
    pub principal: String,
    /// `Host`: string, versions 0+.
    pub host: String,
    /// `Operation`: int8, versions 0+.
    pub operation: i8,
    /// `PermissionType`: int8, versions 0+.
    pub permission_type: i8,
}

impl Default for AclCreation {
    fn default() -> Self {
        Self {
            resource_type: 0,
            resource_name: String::new(),
            resource_pattern_type: 3,
            principal: String::new(),
            host: String::new(),
            operation: 0,
            permission_type: 0,
        }
    }
}

impl AclCreation {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 2;
        let resource_type = r.i8()?;
        let resource_name = r.string(flexible)?;
        let resource_pattern_type = r.i8()?;
        let principal = r.string(flexible)?;
        let host = r.string(flexible)?;
        let operation = r.i8()?;
        let permission_type = r.i8()?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self {
            resource_type,
            resource_name,
            resource_pattern_type,
            principal,
            host,
            operation,
            permission_type,
        })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 2;
        w.i8(self.resource_type);
        w.string(&self.resource_name, flexible)?;
        w.i8(self.resource_pattern_type);
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

impl Request for CreateAclsRequest {
    const KEY: ApiKey = ApiKey::CreateAcls;
    type Response = super::CreateAclsResponse;
}
