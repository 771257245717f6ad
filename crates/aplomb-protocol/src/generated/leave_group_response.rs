//! `LeaveGroupResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/LeaveGroupResponse.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `LeaveGroupResponse`: response, key 13, versions 0-5, flexible 4+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct LeaveGroupResponse {
    /// `ThrottleTimeMs`: int32, versions 1+, dropped by versions without it.
    pub throttle_time_ms: i32,
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `Members`: []MemberResponse, versions 3+.
    pub members: Vec<MemberResponse>,
}

impl Message for LeaveGroupResponse {
    const NAME: &'static str = "LeaveGroupResponse";
    const API_KEY: Option<i16> = Some(13);
    const VERSIONS: VersionRange = VersionRange::new(0, 5);
    const FLEXIBLE_FROM: Option<i16> = Some(4);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 4;
        let throttle_time_ms = if v >= 1 { r.i32()? } else { 0 };
        let error_code = r.i16()?;
        let members = if v >= 3 { r.array(flexible, |r| MemberResponse::decode(r, v))? } else { Vec::new() };
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { throttle_time_ms, error_code, members })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 4;
        if v >= 1 {
            w.throttle_time(self.throttle_time_ms);
        }
        w.error_code(self.error_code);
        if v >= 3 {
            w.array(&self.members, flexible, |w, it| it.encode(w, v))?;
        } else if !self.members.is_empty() {
            return Err(EncodeError::FieldNotInVersion {
                message: "LeaveGroupResponse",
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

/// `MemberResponse` in `LeaveGroupResponse`, versions 3-5.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberResponse {
    /// `MemberId`: string, versions 3+.
    pub member_id: String,
    /// `GroupInstanceId`: string, versions 3+, nullable in 3+.
    pub group_instance_id: Option<String>,
    /// `ErrorCode`: int16, versions 3+.
    pub error_code: i16,
}

impl Default for MemberResponse {
    fn default() -> Self {
        Self { member_id: String::new(), group_instance_id: Some(String::new()), error_code: 0 }
    }
}

impl MemberResponse {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 4;
        let member_id = r.string(flexible)?;
        let group_instance_id = r.nullable_string(flexible)?;
        let error_code = r.i16()?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { member_id, group_instance_id, error_code })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 4;
        w.string(&self.member_id, flexible)?;
        w.nullable_string(self.group_instance_id.as_deref(), flexible)?;
        w.error_code(self.error_code);
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}
