//! `ListGroupsRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/ListGroupsRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `ListGroupsRequest`: request, key 16, versions 0-5, flexible 3+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ListGroupsRequest {
    /// `StatesFilter`: []string, versions 4+.
    pub states_filter: Vec<String>,
    /// `TypesFilter`: []string, versions 5+.
    pub types_filter: Vec<String>,
}

impl Message for ListGroupsRequest {
    const NAME: &'static str = "ListGroupsRequest";
    const API_KEY: Option<i16> = Some(16);
    const VERSIONS: VersionRange = VersionRange::new(0, 5);
    const FLEXIBLE_FROM: Option<i16> = Some(3);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 3;
        let states_filter = if v >= 4 { r.array(flexible, |r| r.string(flexible))? } else { Vec::new() };
        let types_filter = if v == 5 { r.array(flexible, |r| r.string(flexible))? } else { Vec::new() };
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { states_filter, types_filter })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 3;
        if v >= 4 {
            w.array(&self.states_filter, flexible, |w, it| w.string(it, flexible))?;
        } else if !self.states_filter.is_empty() {
            return Err(EncodeError::FieldNotInVersion {
                message: "ListGroupsRequest",
                field: "StatesFilter",
                version: v,
            });
        }
        if v == 5 {
            w.array(&self.types_filter, flexible, |w, it| w.string(it, flexible))?;
        } else if !self.types_filter.is_empty() {
            return Err(EncodeError::FieldNotInVersion {
                message: "ListGroupsRequest",
                field: "TypesFilter",
                version: v,
            });
        }
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

impl Request for ListGroupsRequest {
    const KEY: ApiKey = ApiKey::ListGroups;
    type Response = super::ListGroupsResponse;
}
