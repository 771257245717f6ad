//! `DescribeGroupsResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/DescribeGroupsResponse.schema`; not edited by hand.

use bytes::Bytes;

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `DescribeGroupsResponse`: response, key 15, versions 0-6, flexible 5+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct DescribeGroupsResponse {
    /// `ThrottleTimeMs`: int32, versions 1+, dropped by versions without it.
    pub throttle_time_ms: i32,
    /// `Groups`: []DescribedGroup, versions 0+.
    pub groups: Vec<DescribedGroup>,
}

impl Message for DescribeGroupsResponse {
    const NAME: &'static str = "DescribeGroupsResponse";
    const API_KEY: Option<i16> = Some(15);
    const VERSIONS: VersionRange = VersionRange::new(0, 6);
    const FLEXIBLE_FROM: Option<i16> = Some(5);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 5;
        let throttle_time_ms = if v >= 1 { r.i32()? } else { 0 };
        let groups = r.array(flexible, |r| DescribedGroup::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { throttle_time_ms, groups })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 5;
        if v >= 1 {
            w.throttle_time(self.throttle_time_ms);
        }
        w.array(&self.groups, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `DescribedGroup` in `DescribeGroupsResponse`, versions 0-6.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribedGroup {
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `ErrorMessage`: string, versions 6+, nullable in 6+, default null.
    pub error_message: Option<String>,
    /// `GroupId`: string, versions 0+.
    pub group_id: String,
    /// `GroupState`: string, versions 0+.
    pub group_state: String,
    /// `ProtocolType`: string, versions 0+.
    pub protocol_type: String,
    /// `ProtocolData`: string, versions 0+.
    pub protocol_data: String,
    /// `Members`: []DescribedGroupMember, versions 0+.
    pub members: Vec<DescribedGroupMember>,
    /// `AuthorizedOperations`: int32, versions 3+, default -2147483648.
    pub authorized_operations: i32,
}

impl Default for DescribedGroup {
    fn default() -> Self {
        Self {
            error_code: 0,
            error_message: None,
            group_id: String::new(),
            group_state: String::new(),
            protocol_type: String::new(),
            protocol_data: String::new(),
            members: Vec::new(),
            authorized_operations: -2_147_483_648,
        }
    }
}

impl DescribedGroup {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 5;
        let error_code = r.i16()?;
        let error_message = if v == 6 { r.nullable_string(flexible)? } else { None };
        let group_id = r.string(flexible)?;
        let group_state = r.string(flexible)?;
        let protocol_type = r.string(flexible)?;
        let protocol_data = r.string(flexible)?;
        let members = r.array(flexible, |r| DescribedGroupMember::decode(r, v))?;
        let authorized_operations = if v >= 3 { r.i32()? } else { -2_147_483_648 };
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self {
            error_code,
            error_message,
            group_id,
            group_state,
            protocol_type,
            protocol_data,
            members,
            authorized_operations,
        })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 5;
        w.error_code(self.error_code);
        if v == 6 {
            w.nullable_string(self.error_message.as_deref(), flexible)?;
        } else if self.error_message.is_some() {
            return Err(EncodeError::FieldNotInVersion {
                message: "DescribedGroup",
                field: "ErrorMessage",
                version: v,
            });
        }
        w.string(&self.group_id, flexible)?;
        w.string(&self.group_state, flexible)?;
        w.string(&self.protocol_type, flexible)?;
        w.string(&self.protocol_data, flexible)?;
        w.array(&self.members, flexible, |w, it| it.encode(w, v))?;
        if v >= 3 {
            w.i32(self.authorized_operations);
        } else if self.authorized_operations != -2_147_483_648 {
            return Err(EncodeError::FieldNotInVersion {
                message: "DescribedGroup",
                field: "AuthorizedOperations",
                version: v,
            });
        }
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `DescribedGroupMember` in `DescribeGroupsResponse`, versions 0-6.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct DescribedGroupMember {
    /// `MemberId`: string, versions 0+.
    pub member_id: String,
    /// `GroupInstanceId`: string, versions 4+, nullable in 4+, default null, dropped by versions without it.
    pub group_instance_id: Option<String>,
    /// `ClientId`: string, versions 0+.
    pub client_id: String,
    /// `ClientHost`: string, versions 0+.
    pub client_host: String,
    /// `MemberMetadata`: bytes, versions 0+.
    pub member_metadata: Bytes,
    /// `MemberAssignment`: bytes, versions 0+.
    pub member_assignment: Bytes,
}

impl DescribedGroupMember {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 5;
        let member_id = r.string(flexible)?;
        let group_instance_id = if v >= 4 { r.nullable_string(flexible)? } else { None };
        let client_id = r.string(flexible)?;
        let client_host = r.string(flexible)?;
        let member_metadata = r.bytes(flexible)?;
        let member_assignment = r.bytes(flexible)?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { member_id, group_instance_id, client_id, client_host, member_metadata, member_assignment })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 5;
        w.string(&self.member_id, flexible)?;
        if v >= 4 {
            w.nullable_string(self.group_instance_id.as_deref(), flexible)?;
        }
        w.string(&self.client_id, flexible)?;
        w.string(&self.client_host, flexible)?;
        w.bytes(&self.member_metadata, flexible)?;
        w.bytes(&self.member_assignment, flexible)?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}
