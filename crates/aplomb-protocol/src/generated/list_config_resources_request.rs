//! `ListConfigResourcesRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/ListConfigResourcesRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `ListConfigResourcesRequest`: request, key 74, versions 0-1, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ListConfigResourcesRequest {
    /// `ResourceTypes`: []int8, versions 1+.
    pub resource_types: Vec<i8>,
}

impl Message for ListConfigResourcesRequest {
    const NAME: &'static str = "ListConfigResourcesRequest";
    const API_KEY: Option<i16> = Some(74);
    const VERSIONS: VersionRange = VersionRange::new(0, 1);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let resource_types = if v == 1 { r.array(true, Reader::i8)? } else { Vec::new() };
        r.skip_tags()?;
        Ok(Self { resource_types })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        if v == 1 {
            w.array(&self.resource_types, true, |w, it| {
                w.i8(*it);
                Ok(())
            })?;
        } else if !self.resource_types.is_empty() {
            return Err(EncodeError::FieldNotInVersion {
                message: "ListConfigResourcesRequest",
                field: "ResourceTypes",
                version: v,
            });
        }
        w.no_tags();
        Ok(())
    }
}

impl Request for ListConfigResourcesRequest {
    const KEY: ApiKey = ApiKey::ListConfigResources;
    type Response = super::ListConfigResourcesResponse;
}
