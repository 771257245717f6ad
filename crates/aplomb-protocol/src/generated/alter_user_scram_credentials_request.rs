//! `AlterUserScramCredentialsRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/AlterUserScramCredentialsRequest.schema`; not edited by hand.

use bytes::Bytes;

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `AlterUserScramCredentialsRequest`: request, key 51, versions 0, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct AlterUserScramCredentialsRequest {
    /// `Deletions`: []ScramCredentialDeletion, versions 0+.
    pub deletions: Vec<ScramCredentialDeletion>,
    /// `Upsertions`: []ScramCredentialUpsertion, versions 0+.
    pub upsertions: Vec<ScramCredentialUpsertion>,
}

impl Message for AlterUserScramCredentialsRequest {
    const NAME: &'static str = "AlterUserScramCredentialsRequest";
    const API_KEY: Option<i16> = Some(51);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let deletions = r.array(true, |r| ScramCredentialDeletion::decode(r, v))?;
        let upsertions = r.array(true, |r| ScramCredentialUpsertion::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self { deletions, upsertions })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.array(&self.deletions, true, |w, it| it.encode(w, v))?;
        w.array(&self.upsertions, true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `ScramCredentialDeletion` in `AlterUserScramCredentialsRequest`, versions 0.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ScramCredentialDeletion {
    /// `Name`: string, versions 0+.
    pub name: String,
    /// `Mechanism`: int8, versions 0+.
    pub mechanism: i8,
}

impl ScramCredentialDeletion {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let name = r.string(true)?;
        let mechanism = r.i8()?;
        r.skip_tags()?;
        Ok(Self { name, mechanism })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.string(&self.name, true)?;
        w.i8(self.mechanism);
        w.no_tags();
        Ok(())
    }
}

/// `ScramCredentialUpsertion` in `AlterUserScramCredentialsRequest`, versions 0.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ScramCredentialUpsertion {
    /// `Name`: string, versions 0+.
    pub name: String,
    /// `Mechanism`: int8, versions 0+.
    pub mechanism: i8,
    /// `Iterations`: int32, versions 0+.
    pub iterations: i32,
    /// `Salt`: bytes, versions 0+.
    pub salt: Bytes,
    /// `SaltedPassword`: bytes, versions 0+.
    pub salted_password: Bytes,
}

impl ScramCredentialUpsertion {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let name = r.string(true)?;
        let mechanism = r.i8()?;
        let iterations = r.i32()?;
        let salt = r.bytes(true)?;
        let salted_password = r.bytes(true)?;
        r.skip_tags()?;
        Ok(Self { name, mechanism, iterations, salt, salted_password })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.string(&self.name, true)?;
        w.i8(self.mechanism);
        w.i32(self.iterations);
        w.bytes(&self.salt, true)?;
        w.bytes(&self.salted_password, true)?;
        w.no_tags();
        Ok(())
    }
}

impl Request for AlterUserScramCredentialsRequest {
    const KEY: ApiKey = ApiKey::AlterUserScramCredentials;
    type Response = super::AlterUserScramCredentialsResponse;
}
