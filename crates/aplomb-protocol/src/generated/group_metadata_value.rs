//! `GroupMetadataValue` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/GroupMetadataValue.schema`; not edited by hand.

use bytes::Bytes;

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `GroupMetadataValue`: coordinator-value, key 2, versions 0-4, flexible 4+.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupMetadataValue {
    /// `protocolType`: string, versions 0+.
    pub protocol_type: String,
    /// `generation`: int32, versions 0+.
    pub generation: i32,
    /// `protocol`: string, versions 0+, nullable in 0+.
    pub protocol: Option<String>,
    /// `leader`: string, versions 0+, nullable in 0+.
    pub leader: Option<String>,
    /// `currentStateTimestamp`: int64, versions 2+, default -1, dropped by versions without it.
    pub current_state_timestamp: i64,
    /// `members`: []MemberMetadata, versions 0+.
    pub members: Vec<MemberMetadata>,
}

impl Default for GroupMetadataValue {
    fn default() -> Self {
        Self {
            protocol_type: String::new(),
            generation: 0,
            protocol: Some(String::new()),
            leader: Some(String::new()),
            current_state_timestamp: -1,
            members: Vec::new(),
        }
    }
}

impl Message for GroupMetadataValue {
    const NAME: &'static str = "GroupMetadataValue";
    const API_KEY: Option<i16> = Some(2);
    const VERSIONS: VersionRange = VersionRange::new(0, 4);
    const FLEXIBLE_FROM: Option<i16> = Some(4);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 4;
        let protocol_type = r.string(flexible)?;
        let generation = r.i32()?;
        let protocol = r.nullable_string(flexible)?;
        let leader = r.nullable_string(flexible)?;
        let current_state_timestamp = if v >= 2 { r.i64()? } else { -1 };
        let members = r.array(flexible, |r| MemberMetadata::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { protocol_type, generation, protocol, leader, current_state_timestamp, members })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 4;
        w.string(&self.protocol_type, flexible)?;
        w.i32(self.generation);
        w.nullable_string(self.protocol.as_deref(), flexible)?;
        w.nullable_string(self.leader.as_deref(), flexible)?;
        if v >= 2 {
            w.i64(self.current_state_timestamp);
        }
        w.array(&self.members, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `MemberMetadata` in `GroupMetadataValue`, versions 0-4.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberMetadata {
    /// `memberId`: string, versions 0+.
    pub member_id: String,
    /// `groupInstanceId`: string, versions 3+, nullable in 3+, default null, dropped by versions without it.
    pub group_instance_id: Option<String>,
    /// `clientId`: string, versions 0+.
    pub client_id: String,
    /// `clientHost`: string, versions 0+.
    pub client_host: String,
    /// `rebalanceTimeout`: int32, versions 1+, default -1, dropped by versions without it.
    pub rebalance_timeout: i32,
    /// `sessionTimeout`: int32, versions 0+.
    pub session_timeout: i32,
    /// `subscription`: bytes, versions 0+.
    pub subscription: Bytes,
    /// `assignment`: bytes, versions 0+.
    pub assignment: Bytes,
}

impl Default for MemberMetadata {
    fn default() -> Self {
        Self {
            member_id: String::new(),
            group_instance_id: None,
            client_id: String::new(),
            client_host: String::new(),
            rebalance_timeout: -1,
            session_timeout: 0,
            subscription: Bytes::new(),
            assignment: Bytes::new(),
        }
    }
}

impl MemberMetadata {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v == 4;
        let member_id = r.string(flexible)?;
        let group_instance_id = if v >= 3 { r.nullable_string(flexible)? } else { None };
        let client_id = r.string(flexible)?;
        let client_host = r.string(flexible)?;
        let rebalance_timeout = if v >= 1 { r.i32()? } else { -1 };
        let session_timeout = r.i32()?;
        let subscription = r.bytes(flexible)?;
        let assignment = r.bytes(flexible)?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self {
            member_id,
            group_instance_id,
            client_id,
            client_host,
            rebalance_timeout,
            session_timeout,
            subscription,
            assignment,
        })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v == 4;
        w.string(&self.member_id, flexible)?;
        if v >= 3 {
            w.nullable_string(self.group_instance_id.as_deref(), flexible)?;
        }
        w.string(&self.client_id, flexible)?;
        w.string(&self.client_host, flexible)?;
        if v >= 1 {
            w.i32(self.rebalance_timeout);
        }
        w.i32(self.session_timeout);
        w.bytes(&self.subscription, flexible)?;
        w.bytes(&self.assignment, flexible)?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}
