//! `DescribeDelegationTokenRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/DescribeDelegationTokenRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `DescribeDelegationTokenRequest`: request, key 41, versions 1-3, flexible 2+.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribeDelegationTokenRequest {
    /// `Owners`: []DescribeDelegationTokenOwner, versions 0+, nullable in 0+.
    pub owners: Option<Vec<DescribeDelegationTokenOwner>>,
}

impl Default for DescribeDelegationTokenRequest {
    fn default() -> Self {
        Self { owners: Some(Vec::new()) }
    }
}

impl Message for DescribeDelegationTokenRequest {
    const NAME: &'static str = "DescribeDelegationTokenRequest";
    const API_KEY: Option<i16> = Some(41);
    const VERSIONS: VersionRange = VersionRange::new(1, 3);
    const FLEXIBLE_FROM: Option<i16> = Some(2);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 2;
        let owners = r.nullable_array(flexible, |r| DescribeDelegationTokenOwner::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { owners })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 2;
        w.nullable_array(self.owners.as_deref(), flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `DescribeDelegationTokenOwner` in `DescribeDelegationTokenRequest`, versions 1-3.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct DescribeDelegationTokenOwner {
    /// `PrincipalType`: string, versions 0+.
    pub principal_type: String,
    /// `PrincipalName`: string, versions 0+.
    pub principal_name: String,
}

impl DescribeDelegationTokenOwner {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 2;
        let principal_type = r.string(flexible)?;
        let principal_name = r.string(flexible)?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { principal_type, principal_name })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 2;
        w.string(&self.principal_type, flexible)?;
        w.string(&self.principal_name, flexible)?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

impl Request for DescribeDelegationTokenRequest {
    const KEY: ApiKey = ApiKey::DescribeDelegationToken;
    type Response = super::DescribeDelegationTokenResponse;
}
