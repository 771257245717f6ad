//! `HeartbeatRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/HeartbeatRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `HeartbeatRequest`: request, key 12, versions 0-4, flexible 4+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct HeartbeatRequest {
    /// `GroupId`: string, versions 0+.
    pub group_id: String,
    /// `GenerationId`: int32, versions 0+.
    pub generation_id: i32,
    /// `MemberId`: string, versions 0+.
    pub member_id: String,
    /// `GroupInstanceId`: string, versions 3+, nullable in 3+, default null.
    pub group_instance_id: Option<String>,
}

impl Message for HeartbeatRequest {
    const NAME: &'static str = "HeartbeatRequest";
    const API_KEY: Option<i16> = Some(12);
    const VERSIONS: VersionRange = VersionRange::new(0, 4);
    const FLEXIBLE_FROM: Option<i16> = Some(4);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 4;
        let group_id = r.string(flexible)?;
        let generation_id = r.i32()?;
        let member_id = r.string(flexible)?;
        let group_instance_id = if v >= 3 { r.nullable_string(flexible)? } else { None };
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { group_id, generation_id, member_id, group_instance_id })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 4;
        w.string(&self.group_id, flexible)?;
        w.i32(self.generation_id);
        w.string(&self.member_id, flexible)?;
        if v >= 3 {
            w.nullable_string(self.group_instance_id.as_deref(), flexible)?;
        } else if self.group_instance_id.is_some() {
            return Err(EncodeError::FieldNotInVersion {
                message: "HeartbeatRequest",
                field: "GroupInstanceId",
                version: v,
            });
        }
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

impl Request for HeartbeatRequest {
    const KEY: ApiKey = ApiKey::Heartbeat;
    type Response = super::HeartbeatResponse;
}
