//! `RemoveDelegationTokenRecord` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/RemoveDelegationTokenRecord.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `RemoveDelegationTokenRecord`: metadata, key 26, versions 0, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct RemoveDelegationTokenRecord {
    /// `TokenId`: string, versions 0+.
    pub token_id: String,
}

impl Message for RemoveDelegationTokenRecord {
    const NAME: &'static str = "RemoveDelegationTokenRecord";
    const API_KEY: Option<i16> = Some(26);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let token_id = r.string(true)?;
        r.skip_tags()?;
        Ok(Self { token_id })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.string(&self.token_id, true)?;
        w.no_tags();
        Ok(())
    }
}
