//! `ConsumerGroupRegularExpressionValue` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/ConsumerGroupRegularExpressionValue.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `ConsumerGroupRegularExpressionValue`: coordinator-value, key 16, versions 0, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ConsumerGroupRegularExpressionValue {
    /// `Topics`: []string, versions 0+.
    pub topics: Vec<String>,
    /// `Version`: int64, versions 0+.
    pub version: i64,
    /// `Timestamp`: int64, versions 0+.
    pub timestamp: i64,
}

impl Message for ConsumerGroupRegularExpressionValue {
    const NAME: &'static str = "ConsumerGroupRegularExpressionValue";
    const API_KEY: Option<i16> = Some(16);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let topics = r.array(true, |r| r.string(true))?;
        let version = r.i64()?;
        let timestamp = r.i64()?;
        r.skip_tags()?;
        Ok(Self { topics, version, timestamp })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.array(&self.topics, true, |w, it| w.string(it, true))?;
        w.i64(self.version);
        w.i64(self.timestamp);
        w.no_tags();
        Ok(())
    }
}
