//! `DescribeGroupsRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/DescribeGroupsRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `DescribeGroupsRequest`: request, key 15, versions 0-6, flexible 5+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct DescribeGroupsRequest {
    /// `Groups`: []string, versions 0+.
    pub groups: Vec<String>,
    /// `IncludeAuthorizedOperations`: bool, versions 3+.
    pub include_authorized_operations: bool,
}

impl Message for DescribeGroupsRequest {
    const NAME: &'static str = "DescribeGroupsRequest";
    const API_KEY: Option<i16> = Some(15);
    const VERSIONS: VersionRange = VersionRange::new(0, 6);
    const FLEXIBLE_FROM: Option<i16> = Some(5);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 5;
        let groups = r.array(flexible, |r| r.string(flexible))?;
        let include_authorized_operations = if v >= 3 { r.bool()? } else { false };
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { groups, include_authorized_operations })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 5;
        w.array(&self.groups, flexible, |w, it| w.string(it, flexible))?;
        if v >= 3 {
            w.bool(self.include_authorized_operations);
        } else if self.include_authorized_operations {
            return Err(EncodeError::FieldNotInVersion {
                message: "DescribeGroupsRequest",
                field: "IncludeAuthorizedOperations",
                version: v,
            });
        }
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

impl Request for DescribeGroupsRequest {
    const KEY: ApiKey = ApiKey::DescribeGroups;
    type Response = super::DescribeGroupsResponse;
}
