//! `FenceBrokerRecord` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/FenceBrokerRecord.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `FenceBrokerRecord`: metadata, key 7, versions 0, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct FenceBrokerRecord {
    /// `Id`: int32, versions 0+.
    pub id: i32,
    /// `Epoch`: int64, versions 0+.
    pub epoch: i64,
}

impl Message for FenceBrokerRecord {
    const NAME: &'static str = "FenceBrokerRecord";
    const API_KEY: Option<i16> = Some(7);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let id = r.i32()?;
        let epoch = r.i64()?;
        r.skip_tags()?;
        Ok(Self { id, epoch })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.i32(self.id);
        w.i64(self.epoch);
        w.no_tags();
        Ok(())
    }
}
