//! `ConsumerGroupTargetAssignmentMemberKey` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/ConsumerGroupTargetAssignmentMemberKey.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `ConsumerGroupTargetAssignmentMemberKey`: coordinator-key, key 7, versions 0, flexible none.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ConsumerGroupTargetAssignmentMemberKey {
    /// `GroupId`: string, versions 0.
    pub group_id: String,
    /// `MemberId`: string, versions 0.
    pub member_id: String,
}

impl Message for ConsumerGroupTargetAssignmentMemberKey {
    const NAME: &'static str = "ConsumerGroupTargetAssignmentMemberKey";
    const API_KEY: Option<i16> = Some(7);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = None;

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let group_id = r.string(false)?;
        let member_id = r.string(false)?;
        Ok(Self { group_id, member_id })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.string(&self.group_id, false)?;
        w.string(&self.member_id, false)?;
        Ok(())
    }
}
