//! `GroupMetadataKey` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/GroupMetadataKey.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `GroupMetadataKey`: coordinator-key, key 2, versions 0, flexible none.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct GroupMetadataKey {
    /// `group`: string, versions 0.
    pub group: String,
}

impl Message for GroupMetadataKey {
    const NAME: &'static str = "GroupMetadataKey";
    const API_KEY: Option<i16> = Some(2);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = None;

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let group = r.string(false)?;
        Ok(Self { group })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.string(&self.group, false)?;
        Ok(())
    }
}
