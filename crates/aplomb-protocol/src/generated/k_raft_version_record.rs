//! `KRaftVersionRecord` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/KRaftVersionRecord.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `KRaftVersionRecord`: data, versions 0, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct KRaftVersionRecord {
    /// `Version`: int16, versions 0+.
    pub version: i16,
    /// `KRaftVersion`: int16, versions 0+.
    pub k_raft_version: i16,
}

impl Message for KRaftVersionRecord {
    const NAME: &'static str = "KRaftVersionRecord";
    const API_KEY: Option<i16> = None;
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let version = r.i16()?;
        let k_raft_version = r.i16()?;
        r.skip_tags()?;
        Ok(Self { version, k_raft_version })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.i16(self.version);
        w.i16(self.k_raft_version);
        w.no_tags();
        Ok(())
    }
}
