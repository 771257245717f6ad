//! `RemoveAccessControlEntryRecord` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/RemoveAccessControlEntryRecord.schema`; not edited by hand.

use aplomb_model::Uuid;

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `RemoveAccessControlEntryRecord`: metadata, key 19, versions 0, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct RemoveAccessControlEntryRecord {
    /// `Id`: uuid, versions 0+.
    pub id: Uuid,
}

impl Message for RemoveAccessControlEntryRecord {
    const NAME: &'static str = "RemoveAccessControlEntryRecord";
    const API_KEY: Option<i16> = Some(19);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let id = r.uuid()?;
        r.skip_tags()?;
        Ok(Self { id })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.uuid(self.id);
        w.no_tags();
        Ok(())
    }
}
