//! `DescribeClusterRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/DescribeClusterRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `DescribeClusterRequest`: request, key 60, versions 0-2, flexible 0+.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribeClusterRequest {
    /// `IncludeClusterAuthorizedOperations`: bool, versions 0+.
    pub include_cluster_authorized_operations: bool,
    /// `EndpointType`: int8, versions 1+, default 1.
    pub endpoint_type: i8,
    /// `IncludeFencedBrokers`: bool, versions 2+.
    pub include_fenced_brokers: bool,
}

impl Default for DescribeClusterRequest {
    fn default() -> Self {
        Self { include_cluster_authorized_operations: false, endpoint_type: 1, include_fenced_brokers: false }
    }
}

impl Message for DescribeClusterRequest {
    const NAME: &'static str = "DescribeClusterRequest";
    const API_KEY: Option<i16> = Some(60);
    const VERSIONS: VersionRange = VersionRange::new(0, 2);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let include_cluster_authorized_operations = r.bool()?;
        let endpoint_type = if v >= 1 { r.i8()? } else { 1 };
        let include_fenced_brokers = if v == 2 { r.bool()? } else { false };
        r.skip_tags()?;
        Ok(Self { include_cluster_authorized_operations, endpoint_type, include_fenced_brokers })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.bool(self.include_cluster_authorized_operations);
        if v >= 1 {
            w.i8(self.endpoint_type);
        } else if self.endpoint_type != 1 {
            return Err(EncodeError::FieldNotInVersion {
                message: "DescribeClusterRequest",
                field: "EndpointType",
                version: v,
            });
        }
        if v == 2 {
            w.bool(self.include_fenced_brokers);
        } else if self.include_fenced_brokers {
            return Err(EncodeError::FieldNotInVersion {
                message: "DescribeClusterRequest",
                field: "IncludeFencedBrokers",
                version: v,
            });
        }
        w.no_tags();
        Ok(())
    }
}

impl Request for DescribeClusterRequest {
    const KEY: ApiKey = ApiKey::DescribeCluster;
    type Response = super::DescribeClusterResponse;
}
