//! `DescribeClusterResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/DescribeClusterResponse.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `DescribeClusterResponse`: response, key 60, versions 0-2, flexible 0+.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribeClusterResponse {
    /// `ThrottleTimeMs`: int32, versions 0+.
    pub throttle_time_ms: i32,
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `ErrorMessage`: string, versions 0+, nullable in 0+, default null.
    pub error_message: Option<String>,
    /// `EndpointType`: int8, versions 1+, default 1.
    pub endpoint_type: i8,
    /// `ClusterId`: string, versions 0+.
    pub cluster_id: String,
    /// `ControllerId`: int32, versions 0+, default -1.
    pub controller_id: i32,
    /// `Brokers`: []DescribeClusterBroker, versions 0+.
    pub brokers: Vec<DescribeClusterBroker>,
    /// `ClusterAuthorizedOperations`: int32, versions 0+, default -2147483648.
    pub cluster_authorized_operations: i32,
}

impl Default for DescribeClusterResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: 0,
            error_message: None,
            endpoint_type: 1,
            cluster_id: String::new(),
            controller_id: -1,
            brokers: Vec::new(),
            cluster_authorized_operations: -2_147_483_648,
        }
    }
}

impl Message for DescribeClusterResponse {
    const NAME: &'static str = "DescribeClusterResponse";
    const API_KEY: Option<i16> = Some(60);
    const VERSIONS: VersionRange = VersionRange::new(0, 2);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let throttle_time_ms = r.i32()?;
        let error_code = r.i16()?;
        let error_message = r.nullable_string(true)?;
        let endpoint_type = if v >= 1 { r.i8()? } else { 1 };
        let cluster_id = r.string(true)?;
        let controller_id = r.i32()?;
        let brokers = r.array(true, |r| DescribeClusterBroker::decode(r, v))?;
        let cluster_authorized_operations = r.i32()?;
        r.skip_tags()?;
        Ok(Self {
            throttle_time_ms,
            error_code,
            error_message,
            endpoint_type,
            cluster_id,
            controller_id,
            brokers,
            cluster_authorized_operations,
        })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.throttle_time(self.throttle_time_ms);
        w.error_code(self.error_code);
        w.nullable_string(self.error_message.as_deref(), true)?;
        if v >= 1 {
            w.i8(self.endpoint_type);
        } else if self.endpoint_type != 1 {
            return Err(EncodeError::FieldNotInVersion {
                message: "DescribeClusterResponse",
                field: "EndpointType",
                version: v,
            });
        }
        w.string(&self.cluster_id, true)?;
        w.i32(self.controller_id);
        w.array(&self.brokers, true, |w, it| it.encode(w, v))?;
        w.i32(self.cluster_authorized_operations);
        w.no_tags();
        Ok(())
    }
}

/// `DescribeClusterBroker` in `DescribeClusterResponse`, versions 0-2.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct DescribeClusterBroker {
    /// `BrokerId`: int32, versions 0+.
    pub broker_id: i32,
    /// `Host`: string, versions 0+.
    pub host: String,
    /// `Port`: int32, versions 0+.
    pub port: i32,
    /// `Rack`: string, versions 0+, nullable in 0+, default null.
    pub rack: Option<String>,
    /// `IsFenced`: bool, versions 2+.
    pub is_fenced: bool,
}

impl DescribeClusterBroker {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let broker_id = r.i32()?;
        let host = r.string(true)?;
        let port = r.i32()?;
        let rack = r.nullable_string(true)?;
        let is_fenced = if v == 2 { r.bool()? } else { false };
        r.skip_tags()?;
        Ok(Self { broker_id, host, port, rack, is_fenced })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        w.i32(self.broker_id);
        w.string(&self.host, true)?;
        w.i32(self.port);
        w.nullable_string(self.rack.as_deref(), true)?;
        if v == 2 {
            w.bool(self.is_fenced);
        } else if self.is_fenced {
            return Err(EncodeError::FieldNotInVersion {
                message: "DescribeClusterBroker",
                field: "IsFenced",
                version: v,
            });
        }
        w.no_tags();
        Ok(())
    }
}
