//! `UnregisterControllerRecord` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/UnregisterControllerRecord.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `UnregisterControllerRecord`: metadata, key 29, versions 0, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct UnregisterControllerRecord {
    /// `ControllerId`: int32, versions 0+.
    pub controller_id: i32,
}

impl Message for UnregisterControllerRecord {
    const NAME: &'static str = "UnregisterControllerRecord";
    const API_KEY: Option<i16> = Some(29);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let controller_id = r.i32()?;
        r.skip_tags()?;
        Ok(Self { controller_id })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.i32(self.controller_id);
        w.no_tags();
        Ok(())
    }
}
