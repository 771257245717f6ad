//! `ClearElrRecord` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/ClearElrRecord.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `ClearElrRecord`: metadata, key 28, versions 0, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ClearElrRecord {
    /// `TopicName`: string, versions 0+.
    pub topic_name: String,
}

impl Message for ClearElrRecord {
    const NAME: &'static str = "ClearElrRecord";
    const API_KEY: Option<i16> = Some(28);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let topic_name = r.string(true)?;
        r.skip_tags()?;
        Ok(Self { topic_name })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.string(&self.topic_name, true)?;
        w.no_tags();
        Ok(())
    }
}
