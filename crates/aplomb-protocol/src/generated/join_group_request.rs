//! `JoinGroupRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/JoinGroupRequest.schema`; not edited by hand.

use bytes::Bytes;

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `JoinGroupRequest`: request, key 11, versions 0-9, flexible 6+.
#[derive(Clone, Debug, PartialEq)]
pub struct JoinGroupRequest {
    /// `GroupId`: string, versions 0+.
    pub group_id: String,
    /// `SessionTimeoutMs`: int32, versions 0+.
    pub session_timeout_ms: i32,
    /// `RebalanceTimeoutMs`: int32, versions 1+, default -1, dropped by versions without it.
    pub rebalance_timeout_ms: i32,
    /// `MemberId`: string, versions 0+.
    pub member_id: String,
    /// `GroupInstanceId`: string, versions 5+, nullable in 5+, default null.
    pub group_instance_id: Option<String>,
    /// `ProtocolType`: string, versions 0+.
    pub protocol_type: String,
    /// `Protocols`: []JoinGroupRequestProtocol, versions 0+.
    pub protocols: Vec<JoinGroupRequestProtocol>,
    /// `Reason`: string, versions 8+, nullable in 8+, default null, dropped by versions without it.
    pub reason: Option<String>,
}

impl Default for JoinGroupRequest {
    fn default() -> Self {
        Self {
            group_id: String::new(),
            session_timeout_ms: 0,
            rebalance_timeout_ms: -1,
            member_id: String::new(),
            group_instance_id: None,
            protocol_type: String::new(),
            protocols: Vec::new(),
            reason: None,
        }
    }
}

impl Message for JoinGroupRequest {
    const NAME: &'static str = "JoinGroupRequest";
    const API_KEY: Option<i16> = Some(11);
    const VERSIONS: VersionRange = VersionRange::new(0, 9);
    const FLEXIBLE_FROM: Option<i16> = Some(6);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 6;
        let group_id = r.string(flexible)?;
        let session_timeout_ms = r.i32()?;
        let rebalance_timeout_ms = if v >= 1 { r.i32()? } else { -1 };
        let member_id = r.string(flexible)?;
        let group_instance_id = if v >= 5 { r.nullable_string(flexible)? } else { None };
        let protocol_type = r.string(flexible)?;
        let protocols = r.array(flexible, |r| JoinGroupRequestProtocol::decode(r, v))?;
        let reason = if v >= 8 { r.nullable_string(flexible)? } else { None };
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self {
            group_id,
            session_timeout_ms,
            rebalance_timeout_ms,
            member_id,
            group_instance_id,
            protocol_type,
            protocols,
            reason,
        })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 6;
        w.string(&self.group_id, flexible)?;
        w.i32(self.session_timeout_ms);
        if v >= 1 {
            w.i32(self.rebalance_timeout_ms);
        }
        w.string(&self.member_id, flexible)?;
        if v >= 5 {
            w.nullable_string(self.group_instance_id.as_deref(), flexible)?;
        } else if self.group_instance_id.is_some() {
            return Err(EncodeError::FieldNotInVersion {
                message: "JoinGroupRequest",
                field: "GroupInstanceId",
                version: v,
            });
        }
        w.string(&self.protocol_type, flexible)?;
        w.array(&self.protocols, flexible, |w, it| it.encode(w, v))?;
        if v >= 8 {
            w.nullable_string(self.reason.as_deref(), flexible)?;
        }
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `JoinGroupRequestProtocol` in `JoinGroupRequest`, versions 0-9.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct JoinGroupRequestProtocol {
    /// `Name`: string, versions 0+.
    pub name: String,
    /// `Metadata`: bytes, versions 0+.
    pub metadata: Bytes,
}

impl JoinGroupRequestProtocol {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 6;
        let name = r.string(flexible)?;
        let metadata = r.bytes(flexible)?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { name, metadata })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 6;
        w.string(&self.name, flexible)?;
        w.bytes(&self.metadata, flexible)?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

impl Request for JoinGroupRequest {
    const KEY: ApiKey = ApiKey::JoinGroup;
    type Response = super::JoinGroupResponse;
}
