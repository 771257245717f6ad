//! `TopicRecord` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/TopicRecord.schema`; not edited by hand.

use aplomb_model::Uuid;

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `TopicRecord`: metadata, key 2, versions 0, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct TopicRecord {
    /// `Name`: string, versions 0+.
    pub name: String,
    /// `TopicId`: uuid, versions 0+.
    pub topic_id: Uuid,
}

impl Message for TopicRecord {
    const NAME: &'static str = "TopicRecord";
    const API_KEY: Option<i16> = Some(2);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let name = r.string(true)?;
        let topic_id = r.uuid()?;
        r.skip_tags()?;
        Ok(Self { name, topic_id })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.string(&self.name, true)?;
        w.uuid(self.topic_id);
        w.no_tags();
        Ok(())
    }
}
