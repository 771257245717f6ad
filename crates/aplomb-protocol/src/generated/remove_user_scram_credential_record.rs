//! `RemoveUserScramCredentialRecord` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/RemoveUserScramCredentialRecord.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `RemoveUserScramCredentialRecord`: metadata, key 22, versions 0, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct RemoveUserScramCredentialRecord {
    /// `Name`: string, versions 0+.
    pub name: String,
    /// `Mechanism`: int8, versions 0+.
    pub mechanism: i8,
}

impl Message for RemoveUserScramCredentialRecord {
    const NAME: &'static str = "RemoveUserScramCredentialRecord";
    const API_KEY: Option<i16> = Some(22);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let name = r.string(true)?;
        let mechanism = r.i8()?;
        r.skip_tags()?;
        Ok(Self { name, mechanism })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.string(&self.name, true)?;
        w.i8(self.mechanism);
        w.no_tags();
        Ok(())
    }
}
