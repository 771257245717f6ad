//! `ApiVersionsRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/ApiVersionsRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `ApiVersionsRequest`: request, key 18, versions 0-5, flexible 3+.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiVersionsRequest {
    /// `ClientSoftwareName`: string, versions 3+, dropped by versions without it.
    pub client_software_name: String,
    /// `ClientSoftwareVersion`: string, versions 3+, dropped by versions without it.
    pub client_software_version: String,
    /// `ClusterId`: string, versions 5+, nullable in 5+, default null, dropped by versions without it.
    pub cluster_id: Option<String>,
    /// `NodeId`: int32, versions 5+, default -1, dropped by versions without it.
    pub node_id: i32,
}

impl Default for ApiVersionsRequest {
    fn default() -> Self {
        Self {
            client_software_name: String::new(),
            client_software_version: String::new(),
            cluster_id: None,
            node_id: -1,
        }
    }
}

impl Message for ApiVersionsRequest {
    const NAME: &'static str = "ApiVersionsRequest";
    const API_KEY: Option<i16> = Some(18);
    const VERSIONS: VersionRange = VersionRange::new(0, 5);
    const FLEXIBLE_FROM: Option<i16> = Some(3);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 3;
        let client_software_name = if v >= 3 { r.string(flexible)? } else { String::new() };
        let client_software_version = if v >= 3 { r.string(flexible)? } else { String::new() };
        let cluster_id = if v == 5 { r.nullable_string(flexible)? } else { None };
        let node_id = if v == 5 { r.i32()? } else { -1 };
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { client_software_name, client_software_version, cluster_id, node_id })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 3;
        if v >= 3 {
            w.string(&self.client_software_name, flexible)?;
        }
        if v >= 3 {
            w.string(&self.client_software_version, flexible)?;
        }
        if v == 5 {
            w.nullable_string(self.cluster_id.as_deref(), flexible)?;
        }
        if v == 5 {
            w.i32(self.node_id);
        }
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

impl Request for ApiVersionsRequest {
    const KEY: ApiKey = ApiKey::ApiVersions;
    type Response = super::ApiVersionsResponse;
}
