//! `LeaveGroupRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/LeaveGroupRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `LeaveGroupRequest`: request, key 13, versions 0-5, flexible 4+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct LeaveGroupRequest {
    /// `GroupId`: string, versions 0+.
    pub group_id: String,
    /// `MemberId`: string, versions 0-2.
    pub member_id: String,
    /// `Members`: []MemberIdentity, versions 3+.
    pub members: Vec<MemberIdentity>,
}

impl Message for LeaveGroupRequest {
    const NAME: &'static str = "LeaveGroupRequest";
    const API_KEY: Option<i16> = Some(13);
    const VERSIONS: VersionRange = VersionRange::new(0, 5);
    const FLEXIBLE_FROM: Option<i16> = Some(4);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 4;
        let group_id = r.string(flexible)?;
        let member_id = if v <= 2 { r.string(flexible)? } else { String::new() };
        let members = if v >= 3 { r.array(flexible, |r| MemberIdentity::decode(r, v))? } else { Vec::new() };
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { group_id, member_id, members })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 4;
        w.string(&self.group_id, flexible)?;
        if v <= 2 {
            w.string(&self.member_id, flexible)?;
        } else if !self.member_id.is_empty() {
            return Err(EncodeError::FieldNotInVersion {
                message: "LeaveGroupRequest",
                field: "MemberId",
                version: v,
            });
        }
        if v >= 3 {
            w.array(&self.members, flexible, |w, it| it.encode(w, v))?;
        } else if !self.members.is_empty() {
            return Err(EncodeError::FieldNotInVersion {
                message: "LeaveGroupRequest",
                field: "Members",
                version: v,
            });
        }
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `MemberIdentity` in `LeaveGroupRequest`, versions 3-5.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct MemberIdentity {
    /// `MemberId`: string, versions 3+.
    pub member_id: String,
    /// `GroupInstanceId`: string, versions 3+, nullable in 3+, default null.
    pub group_instance_id: Option<String>,
    /// `Reason`: string, versions 5+, nullable in 5+, default null, dropped by versions without it.
    pub reason: Option<String>,
}

impl MemberIdentity {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 4;
        let member_id = r.string(flexible)?;
        let group_instance_id = r.nullable_string(flexible)?;
        let reason = if v == 5 { r.nullable_string(flexible)? } else { None };
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { member_id, group_instance_id, reason })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 4;
        w.string(&self.member_id, flexible)?;
        w.nullable_string(self.group_instance_id.as_deref(), flexible)?;
        if v == 5 {
            w.nullable_string(self.reason.as_deref(), flexible)?;
        }
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

impl Request for LeaveGroupRequest {
    const KEY: ApiKey = ApiKey::LeaveGroup;
    type Response = super::LeaveGroupResponse;
}
