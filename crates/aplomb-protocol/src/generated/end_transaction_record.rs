//! `EndTransactionRecord` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/EndTransactionRecord.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `EndTransactionRecord`: metadata, key 24, versions 0, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct EndTransactionRecord {}

impl Message for EndTransactionRecord {
    const NAME: &'static str = "EndTransactionRecord";
    const API_KEY: Option<i16> = Some(24);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        r.skip_tags()?;
        Ok(Self {})
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.no_tags();
        Ok(())
    }
}
