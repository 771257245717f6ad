//! `JoinGroupResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/JoinGroupResponse.schema`; not edited by hand.

use bytes::Bytes;

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `JoinGroupResponse`: response, key 11, versions 0-9, flexible 6+.
#[derive(Clone, Debug, PartialEq)]
pub struct JoinGroupResponse {
    /// `ThrottleTimeMs`: int32, versions 2+, dropped by versions without it.
    pub throttle_time_ms: i32,
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `GenerationId`: int32, versions 0+, default -1.
    pub generation_id: i32,
    /// `ProtocolType`: string, versions 7+, nullable in 7+, default null, dropped by versions without it.
    pub protocol_type: Option<String>,
    /// `ProtocolName`: string, versions 0+, nullable in 7+.
    pub protocol_name: Option<String>,
    /// `Leader`: string, versions 0+.
    pub leader: String,
    /// `SkipAssignment`: bool, versions 9+, default false.
    pub skip_assignment: bool,
    /// `MemberId`: string, versions 0+.
    pub member_id: String,
    /// `Members`: []JoinGroupResponseMember, versions 0+.
    pub members: Vec<JoinGroupResponseMember>,
}

impl Default for JoinGroupResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: 0,
            generation_id: -1,
            protocol_type: None,
            protocol_name: Some(String::new()),
            leader: String::new(),
            skip_assignment: false,
            member_id: String::new(),
            members: Vec::new(),
        }
    }
}

impl Message for JoinGroupResponse {
    const NAME: &'static str = "JoinGroupResponse";
    const API_KEY: Option<i16> = Some(11);
    const VERSIONS: VersionRange = VersionRange::new(0, 9);
    const FLEXIBLE_FROM: Option<i16> = Some(6);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 6;
        let throttle_time_ms = if v >= 2 { r.i32()? } else { 0 };
        let error_code = r.i16()?;
        let generation_id = r.i32()?;
        let protocol_type = if v >= 7 { r.nullable_string(flexible)? } else { None };
        let protocol_name = if v >= 7 { r.nullable_string(flexible)? } else { Some(r.string(flexible)?) };
        let leader = r.string(flexible)?;
        let skip_assignment = if v == 9 { r.bool()? } else { false };
        let member_id = r.string(flexible)?;
        let members = r.array(flexible, |r| JoinGroupResponseMember::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self {
            throttle_time_ms,
            error_code,
            generation_id,
            protocol_type,
            protocol_name,
            leader,
            skip_assignment,
            member_id,
            members,
        })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 6;
        if v >= 2 {
            w.throttle_time(self.throttle_time_ms);
        }
        w.error_code(self.error_code);
        w.i32(self.generation_id);
        if v >= 7 {
            w.nullable_string(self.protocol_type.as_deref(), flexible)?;
        }
        if v >= 7 {
            w.nullable_string(self.protocol_name.as_deref(), flexible)?;
        } else {
            let it = self.protocol_name.as_ref().ok_or(EncodeError::UnexpectedNull {
                message: "JoinGroupResponse",
                field: "ProtocolName",
                version: v,
            })?;
            w.string(it, flexible)?;
        }
        w.string(&self.leader, flexible)?;
        if v == 9 {
            w.bool(self.skip_assignment);
        } else if self.skip_assignment {
            return Err(EncodeError::FieldNotInVersion {
                message: "JoinGroupResponse",
                field: "SkipAssignment",
                version: v,
            });
        }
        w.string(&self.member_id, flexible)?;
        w.array(&self.members, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `JoinGroupResponseMember` in `JoinGroupResponse`, versions 0-9.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct JoinGroupResponseMember {
    /// `MemberId`: string, versions 0+.
    pub member_id: String,
    /// `GroupInstanceId`: string, versions 5+, nullable in 5+, default null, dropped by versions without it.
    pub group_instance_id: Option<String>,
    /// `Metadata`: bytes, versions 0+.
    pub metadata: Bytes,
}

impl JoinGroupResponseMember {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 6;
        let member_id = r.string(flexible)?;
        let group_instance_id = if v >= 5 { r.nullable_string(flexible)? } else { None };
        let metadata = r.bytes(flexible)?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { member_id, group_instance_id, metadata })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 6;
        w.string(&self.member_id, flexible)?;
        if v >= 5 {
            w.nullable_string(self.group_instance_id.as_deref(), flexible)?;
        }
        w.bytes(&self.metadata, flexible)?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}
