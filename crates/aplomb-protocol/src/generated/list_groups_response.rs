//! `ListGroupsResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/ListGroupsResponse.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `ListGroupsResponse`: response, key 16, versions 0-5, flexible 3+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ListGroupsResponse {
    /// `ThrottleTimeMs`: int32, versions 1+, dropped by versions without it.
    pub throttle_time_ms: i32,
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `Groups`: []ListedGroup, versions 0+.
    pub groups: Vec<ListedGroup>,
}

impl Message for ListGroupsResponse {
    const NAME: &'static str = "ListGroupsResponse";
    const API_KEY: Option<i16> = Some(16);
    const VERSIONS: VersionRange = VersionRange::new(0, 5);
    const FLEXIBLE_FROM: Option<i16> = Some(3);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 3;
        let throttle_time_ms = if v >= 1 { r.i32()? } else { 0 };
        let error_code = r.i16()?;
        let groups = r.array(flexible, |r| ListedGroup::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { throttle_time_ms, error_code, groups })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 3;
        if v >= 1 {
            w.throttle_time(self.throttle_time_ms);
        }
        w.error_code(self.error_code);
        w.array(&self.groups, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `ListedGroup` in `ListGroupsResponse`, versions 0-5.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ListedGroup {
    /// `GroupId`: string, versions 0+.
    pub group_id: String,
    /// `ProtocolType`: string, versions 0+.
    pub protocol_type: String,
    /// `GroupState`: string, versions 4+, dropped by versions without it.
    pub group_state: String,
    /// `GroupType`: string, versions 5+, dropped by versions without it.
    pub group_type: String,
}

impl ListedGroup {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 3;
        let group_id = r.string(flexible)?;
        let protocol_type = r.string(flexible)?;
        let group_state = if v >= 4 { r.string(flexible)? } else { String::new() };
        let group_type = if v == 5 { r.string(flexible)? } else { String::new() };
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { group_id, protocol_type, group_state, group_type })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 3;
        w.string(&self.group_id, flexible)?;
        w.string(&self.protocol_type, flexible)?;
        if v >= 4 {
            w.string(&self.group_state, flexible)?;
        }
        if v == 5 {
            w.string(&self.group_type, flexible)?;
        }
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}
