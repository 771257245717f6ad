//! `EndTxnMarker` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/EndTxnMarker.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `EndTxnMarker`: data, versions 0, flexible none.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct EndTxnMarker {
    /// `CoordinatorEpoch`: int32, versions 0+.
    pub coordinator_epoch: i32,
}

impl Message for EndTxnMarker {
    const NAME: &'static str = "EndTxnMarker";
    const API_KEY: Option<i16> = None;
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = None;

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let coordinator_epoch = r.i32()?;
        Ok(Self { coordinator_epoch })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.i32(self.coordinator_epoch);
        Ok(())
    }
}
