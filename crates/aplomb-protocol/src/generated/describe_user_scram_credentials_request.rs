//! `DescribeUserScramCredentialsRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/DescribeUserScramCredentialsRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `DescribeUserScramCredentialsRequest`: request, key 50, versions 0, flexible 0+.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribeUserScramCredentialsRequest {
    /// `Users`: []UserName, versions 0+, nullable in 0+.
    pub users: Option<Vec<UserName>>,
}

impl Default for DescribeUserScramCredentialsRequest {
    fn default() -> Self {
        Self { users: Some(Vec::new()) }
    }
}

impl Message for DescribeUserScramCredentialsRequest {
    const NAME: &'static str = "DescribeUserScramCredentialsRequest";
    const API_KEY: Option<i16> = Some(50);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let users = r.nullable_array(true, |r| UserName::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self { users })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.nullable_array(self.users.as_deref(), true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `UserName` in `DescribeUserScramCredentialsRequest`, versions 0.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct UserName {
    /// `Name`: string, versions 0+.
    pub name: String,
}

impl UserName {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let name = r.string(true)?;
        r.skip_tags()?;
        Ok(Self { name })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.string(&self.name, true)?;
        w.no_tags();
        Ok(())
    }
}

impl Request for DescribeUserScramCredentialsRequest {
    const KEY: ApiKey = ApiKey::DescribeUserScramCredentials;
    type Response = super::DescribeUserScramCredentialsResponse;
}
