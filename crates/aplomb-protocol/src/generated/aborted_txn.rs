//! `AbortedTxn` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/AbortedTxn.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `AbortedTxn`: data, versions 0, flexible none.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct AbortedTxn {
    /// `ProducerId`: int64, versions 0+.
    pub producer_id: i64,
    /// `FirstOffset`: int64, versions 0+.
    pub first_offset: i64,
    /// `LastOffset`: int64, versions 0+.
    pub last_offset: i64,
    /// `LastStableOffset`: int64, versions 0+.
    pub last_stable_offset: i64,
}

impl Message for AbortedTxn {
    const NAME: &'static str = "AbortedTxn";
    const API_KEY: Option<i16> = None;
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = None;

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let producer_id = r.i64()?;
        let first_offset = r.i64()?;
        let last_offset = r.i64()?;
        let last_stable_offset = r.i64()?;
        Ok(Self { producer_id, first_offset, last_offset, last_stable_offset })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.i64(self.producer_id);
        w.i64(self.first_offset);
        w.i64(self.last_offset);
        w.i64(self.last_stable_offset);
        Ok(())
    }
}
