//! `FeatureLevelRecord` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/FeatureLevelRecord.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `FeatureLevelRecord`: metadata, key 12, versions 0, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct FeatureLevelRecord {
    /// `Name`: string, versions 0+.
    pub name: String,
    /// `FeatureLevel`: int16, versions 0+.
    pub feature_level: i16,
}

impl Message for FeatureLevelRecord {
    const NAME: &'static str = "FeatureLevelRecord";
    const API_KEY: Option<i16> = Some(12);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let name = r.string(true)?;
        let feature_level = r.i16()?;
        r.skip_tags()?;
        Ok(Self { name, feature_level })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.string(&self.name, true)?;
        w.i16(self.feature_level);
        w.no_tags();
        Ok(())
    }
}
