//! `CreateDelegationTokenRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/CreateDelegationTokenRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `CreateDelegationTokenRequest`: request, key 38, versions 1-3, flexible 2+.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateDelegationTokenRequest {
    /// `OwnerPrincipalType`: string, versions 3+, nullable in 3+.
    pub owner_principal_type: Option<String>,
    /// `OwnerPrincipalName`: string, versions 3+, nullable in 3+.
    pub owner_principal_name: Option<String>,
    /// `Renewers`: []CreatableRenewers, versions 0+.
    pub renewers: Vec<CreatableRenewers>,
    /// `MaxLifetimeMs`: int64, versions 0+.
    pub max_lifetime_ms: i64,
}

impl Default for CreateDelegationTokenRequest {
    fn default() -> Self {
        Self {
            owner_principal_type: Some(String::new()),
            owner_principal_name: Some(String::new()),
            renewers: Vec::new(),
            max_lifetime_ms: 0,
        }
    }
}

impl Message for CreateDelegationTokenRequest {
    const NAME: &'static str = "CreateDelegationTokenRequest";
    const API_KEY: Option<i16> = Some(38);
    const VERSIONS: VersionRange = VersionRange::new(1, 3);
    const FLEXIBLE_FROM: Option<i16> = Some(2);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 2;
        let owner_principal_type = if v == 3 { r.nullable_string(flexible)? } else { Some(String::new()) };
        let owner_principal_name = if v == 3 { r.nullable_string(flexible)? } else { Some(String::new()) };
        let renewers = r.array(flexible, |r| CreatableRenewers::decode(r, v))?;
        let max_lifetime_ms = r.i64()?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { owner_principal_type, owner_principal_name, renewers, max_lifetime_ms })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 2;
        if v == 3 {
            w.nullable_string(self.owner_principal_type.as_deref(), flexible)?;
        } else if self.owner_principal_type.as_deref() != Some("") {
            return Err(EncodeError::FieldNotInVersion {
                message: "CreateDelegationTokenRequest",
                field: "OwnerPrincipalType",
                version: v,
            });
        }
        if v == 3 {
            w.nullable_string(self.owner_principal_name.as_deref(), flexible)?;
        } else if self.owner_principal_name.as_deref() != Some("") {
            return Err(EncodeError::FieldNotInVersion {
                message: "CreateDelegationTokenRequest",
                field: "OwnerPrincipalName",
                version: v,
            });
        }
        w.array(&self.renewers, flexible, |w, it| it.encode(w, v))?;
        w.i64(self.max_lifetime_ms);
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `CreatableRenewers` in `CreateDelegationTokenRequest`, versions 1-3.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct CreatableRenewers {
    /// `PrincipalType`: string, versions 0+.
    pub principal_type: String,
    /// `PrincipalName`: string, versions 0+.
    pub principal_name: String,
}

impl CreatableRenewers {
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

impl Request for CreateDelegationTokenRequest {
    const KEY: ApiKey = ApiKey::CreateDelegationToken;
    type Response = super::CreateDelegationTokenResponse;
}
