//! `OffsetCommitKey` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/OffsetCommitKey.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `OffsetCommitKey`: coordinator-key, key 1, versions 0, flexible none.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct OffsetCommitKey {
    /// `group`: string, versions 0.
    pub group: String,
    /// `topic`: string, versions 0.
    pub topic: String,
    /// `partition`: int32, versions 0.
    pub partition: i32,
}

impl Message for OffsetCommitKey {
    const NAME: &'static str = "OffsetCommitKey";
    const API_KEY: Option<i16> = Some(1);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = None;

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let group = r.string(false)?;
        let topic = r.string(false)?;
        let partition = r.i32()?;
        Ok(Self { group, topic, partition })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.string(&self.group, false)?;
        w.string(&self.topic, false)?;
        w.i32(self.partition);
        Ok(())
    }
}
