//! `UserScramCredentialRecord` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/UserScramCredentialRecord.schema`; not edited by hand.

use bytes::Bytes;

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `UserScramCredentialRecord`: metadata, key 11, versions 0, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct UserScramCredentialRecord {
    /// `Name`: string, versions 0+.
    pub name: String,
    /// `Mechanism`: int8, versions 0+.
    pub mechanism: i8,
    /// `Salt`: bytes, versions 0+.
    pub salt: Bytes,
    /// `StoredKey`: bytes, versions 0+.
    pub stored_key: Bytes,
    /// `ServerKey`: bytes, versions 0+.
    pub server_key: Bytes,
    /// `Iterations`: int32, versions 0+.
    pub iterations: i32,
}

impl Message for UserScramCredentialRecord {
    const NAME: &'static str = "UserScramCredentialRecord";
    const API_KEY: Option<i16> = Some(11);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let name = r.string(true)?;
        let mechanism = r.i8()?;
        let salt = r.bytes(true)?;
        let stored_key = r.bytes(true)?;
        let server_key = r.bytes(true)?;
        let iterations = r.i32()?;
        r.skip_tags()?;
        Ok(Self { name, mechanism, salt, stored_key, server_key, iterations })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.string(&self.name, true)?;
        w.i8(self.mechanism);
        w.bytes(&self.salt, true)?;
        w.bytes(&self.stored_key, true)?;
        w.bytes(&self.server_key, true)?;
        w.i32(self.iterations);
        w.no_tags();
        Ok(())
    }
}
