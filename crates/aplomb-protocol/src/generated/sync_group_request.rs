//! `SyncGroupRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/SyncGroupRequest.schema`; not edited by hand.

use bytes::Bytes;

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `SyncGroupRequest`: request, key 14, versions 0-5, flexible 4+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct SyncGroupRequest {
    /// `GroupId`: string, versions 0+.
    pub group_id: String,
    /// `GenerationId`: int32, versions 0+.
    pub generation_id: i32,
    /// `MemberId`: string, versions 0+.
    pub member_id: String,
    /// `GroupInstanceId`: string, versions 3+, nullable in 3+, default null.
    pub group_instance_id: Option<String>,
    /// `ProtocolType`: string, versions 5+, nullable in 5+, default null, dropped by versions without it.
    pub protocol_type: Option<String>,
    /// `ProtocolName`: string, versions 5+, nullable in 5+, default null, dropped by versions without it.
    pub protocol_name: Option<String>,
    /// `Assignments`: []SyncGroupRequestAssignment, versions 0+.
    pub assignments: Vec<SyncGroupRequestAssignment>,
}

impl Message for SyncGroupRequest {
    const NAME: &'static str = "SyncGroupRequest";
    const API_KEY: Option<i16> = Some(14);
    const VERSIONS: VersionRange = VersionRange::new(0, 5);
    const FLEXIBLE_FROM: Option<i16> = Some(4);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 4;
        let group_id = r.string(flexible)?;
        let generation_id = r.i32()?;
        let member_id = r.string(flexible)?;
        let group_instance_id = if v >= 3 { r.nullable_string(flexible)? } else { None };
        let protocol_type = if v == 5 { r.nullable_string(flexible)? } else { None };
        let protocol_name = if v == 5 { r.nullable_string(flexible)? } else { None };
        let assignments = r.array(flexible, |r| SyncGroupRequestAssignment::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self {
            group_id,
            generation_id,
            member_id,
            group_instance_id,
            protocol_type,
            protocol_name,
            assignments,
        })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 4;
        w.string(&self.group_id, flexible)?;
        w.i32(self.generation_id);
        w.string(&self.member_id, flexible)?;
        if v >= 3 {
            w.nullable_string(self.group_instance_id.as_deref(), flexible)?;
        } else if self.group_instance_id.is_some() {
            return Err(EncodeError::FieldNotInVersion {
                message: "SyncGroupRequest",
                field: "GroupInstanceId",
                version: v,
            });
        }
        if v == 5 {
            w.nullable_string(self.protocol_type.as_deref(), flexible)?;
        }
        if v == 5 {
            w.nullable_string(self.protocol_name.as_deref(), flexible)?;
        }
        w.array(&self.assignments, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `SyncGroupRequestAssignment` in `SyncGroupRequest`, versions 0-5.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct SyncGroupRequestAssignment {
    /// `MemberId`: string, versions 0+.
    pub member_id: String,
    /// `Assignment`: bytes, versions 0+.
    pub assignment: Bytes,
}

impl SyncGroupRequestAssignment {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 4;
        let member_id = r.string(flexible)?;
        let assignment = r.bytes(flexible)?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { member_id, assignment })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 4;
        w.string(&self.member_id, flexible)?;
        w.bytes(&self.assignment, flexible)?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

impl Request for SyncGroupRequest {
    const KEY: ApiKey = ApiKey::SyncGroup;
    type Response = super::SyncGroupResponse;
}
