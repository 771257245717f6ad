//! `FindCoordinatorResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/FindCoordinatorResponse.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `FindCoordinatorResponse`: response, key 10, versions 0-6, flexible 3+.
#[derive(Clone, Debug, PartialEq)]
pub struct FindCoordinatorResponse {
    /// `ThrottleTimeMs`: int32, versions 1+, dropped by versions without it.
    pub throttle_time_ms: i32,
    /// `ErrorCode`: int16, versions 0-3.
    pub error_code: i16,
    /// `ErrorMessage`: string, versions 1-3, nullable in 1-3, dropped by versions without it.
    pub error_message: Option<String>,
    /// `NodeId`: int32, versions 0-3.
    pub node_id: i32,
    /// `Host`: string, versions 0-3.
    pub host: String,
    /// `Port`: int32, versions 0-3.
    pub port: i32,
    /// `Coordinators`: []Coordinator, versions 4+.
    pub coordinators: Vec<Coordinator>,
}

impl Default for FindCoordinatorResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: 0,
            error_message: Some(String::new()),
            node_id: 0,
            host: String::new(),
            port: 0,
            coordinators: Vec::new(),
        }
    }
}

impl Message for FindCoordinatorResponse {
    const NAME: &'static str = "FindCoordinatorResponse";
    const API_KEY: Option<i16> = Some(10);
    const VERSIONS: VersionRange = VersionRange::new(0, 6);
    const FLEXIBLE_FROM: Option<i16> = Some(3);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 3;
        let throttle_time_ms = if v >= 1 { r.i32()? } else { 0 };
        let error_code = if v <= 3 { r.i16()? } else { 0 };
        let error_message =
            if (1..=3).contains(&v) { r.nullable_string(flexible)? } else { Some(String::new()) };
        let node_id = if v <= 3 { r.i32()? } else { 0 };
        let host = if v <= 3 { r.string(flexible)? } else { String::new() };
        let port = if v <= 3 { r.i32()? } else { 0 };
        let coordinators =
            if v >= 4 { r.array(flexible, |r| Coordinator::decode(r, v))? } else { Vec::new() };
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { throttle_time_ms, error_code, error_message, node_id, host, port, coordinators })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 3;
        if v >= 1 {
            w.throttle_time(self.throttle_time_ms);
        }
        if v <= 3 {
            w.error_code(self.error_code);
        } else if self.error_code != 0 {
            return Err(EncodeError::FieldNotInVersion {
                message: "FindCoordinatorResponse",
                field: "ErrorCode",
                version: v,
            });
        }
        if (1..=3).contains(&v) {
            w.nullable_string(self.error_message.as_deref(), flexible)?;
        }
        if v <= 3 {
            w.i32(self.node_id);
        } else if self.node_id != 0 {
            return Err(EncodeError::FieldNotInVersion {
                message: "FindCoordinatorResponse",
                field: "NodeId",
                version: v,
            });
        }
        if v <= 3 {
            w.string(&self.host, flexible)?;
        } else if !self.host.is_empty() {
            return Err(EncodeError::FieldNotInVersion {
                message: "FindCoordinatorResponse",
                field: "Host",
                version: v,
            });
        }
        if v <= 3 {
            w.i32(self.port);
        } else if self.port != 0 {
            return Err(EncodeError::FieldNotInVersion {
                message: "FindCoordinatorResponse",
                field: "Port",
                version: v,
            });
        }
        if v >= 4 {
            w.array(&self.coordinators, flexible, |w, it| it.encode(w, v))?;
        } else if !self.coordinators.is_empty() {
            return Err(EncodeError::FieldNotInVersion {
                message: "FindCoordinatorResponse",
                field: "Coordinators",
                version: v,
            });
        }
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `Coordinator` in `FindCoordinatorResponse`, versions 4-6.
#[derive(Clone, Debug, PartialEq)]
pub struct Coordinator {
    /// `Key`: string, versions 4+.
    pub key: String,
    /// `NodeId`: int32, versions 4+.
    pub node_id: i32,
    /// `Host`: string, versions 4+.
    pub host: String,
    /// `Port`: int32, versions 4+.
    pub port: i32,
    /// `ErrorCode`: int16, versions 4+.
    pub error_code: i16,
    /// `ErrorMessage`: string, versions 4+, nullable in 4+, dropped by versions without it.
    pub error_message: Option<String>,
}

impl Default for Coordinator {
    fn default() -> Self {
        Self {
            key: String::new(),
            node_id: 0,
            host: String::new(),
            port: 0,
            error_code: 0,
            error_message: Some(String::new()),
        }
    }
}

impl Coordinator {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let key = r.string(true)?;
        let node_id = r.i32()?;
        let host = r.string(true)?;
        let port = r.i32()?;
        let error_code = r.i16()?;
        let error_message = r.nullable_string(true)?;
        r.skip_tags()?;
        Ok(Self { key, node_id, host, port, error_code, error_message })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.string(&self.key, true)?;
        w.i32(self.node_id);
        w.string(&self.host, true)?;
        w.i32(self.port);
        w.error_code(self.error_code);
        w.nullable_string(self.error_message.as_deref(), true)?;
        w.no_tags();
        Ok(())
    }
}
