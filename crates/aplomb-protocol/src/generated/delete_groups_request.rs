//! `DeleteGroupsRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/DeleteGroupsRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `DeleteGroupsRequest`: request, key 42, versions 0-3, flexible 2+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct DeleteGroupsRequest {
    /// `GroupsNames`: []string, versions 0+.
    pub groups_names: Vec<String>,
}

impl Message for DeleteGroupsRequest {
    const NAME: &'static str = "DeleteGroupsRequest";
    const API_KEY: Option<i16> = Some(42);
    const VERSIONS: VersionRange = VersionRange::new(0, 3);
    const FLEXIBLE_FROM: Option<i16> = Some(2);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 2;
        let groups_names = r.array(flexible, |r| r.string(flexible))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { groups_names })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 2;
        w.array(&self.groups_names, flexible, |w, it| w.string(it, flexible))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

impl Request for DeleteGroupsRequest {
    const KEY: ApiKey = ApiKey::DeleteGroups;
    type Response = super::DeleteGroupsResponse;
}
