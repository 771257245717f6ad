//! `CreateDelegationTokenResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/CreateDelegationTokenResponse.schema`; not edited by hand.

use bytes::Bytes;

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `CreateDelegationTokenResponse`: response, key 38, versions 1-3, flexible 2+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct CreateDelegationTokenResponse {
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `PrincipalType`: string, versions 0+.
    pub principal_type: String,
    /// `PrincipalName`: string, versions 0+.
    pub principal_name: String,
    /// `TokenRequesterPrincipalType`: string, versions 3+.
    pub token_requester_principal_type: String,
    /// `TokenRequesterPrincipalName`: string, versions 3+.
    pub token_requester_principal_name: String,
    /// `IssueTimestampMs`: int64, versions 0+.
    pub issue_timestamp_ms: i64,
    /// `ExpiryTimestampMs`: int64, versions 0+.
    pub expiry_timestamp_ms: i64,
    /// `MaxTimestampMs`: int64, versions 0+.
    pub max_timestamp_ms: i64,
    /// `TokenId`: string, versions 0+.
    pub token_id: String,
    /// `Hmac`: bytes, versions 0+.
    pub hmac: Bytes,
    /// `ThrottleTimeMs`: int32, versions 0+.
    pub throttle_time_ms: i32,
}

impl Message for CreateDelegationTokenResponse {
    const NAME: &'static str = "CreateDelegationTokenResponse";
    const API_KEY: Option<i16> = Some(38);
    const VERSIONS: VersionRange = VersionRange::new(1, 3);
    const FLEXIBLE_FROM: Option<i16> = Some(2);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 2;
        let error_code = r.i16()?;
        let principal_type = r.string(flexible)?;
        let principal_name = r.string(flexible)?;
        let token_requester_principal_type = if v == 3 { r.string(flexible)? } else { String::new() };
        let token_requester_principal_name = if v == 3 { r.string(flexible)? } else { String::new() };
        let issue_timestamp_ms = r.i64()?;
        let expiry_timestamp_ms = r.i64()?;
        let max_timestamp_ms = r.i64()?;
        let token_id = r.string(flexible)?;
        let hmac = r.bytes(flexible)?;
        let throttle_time_ms = r.i32()?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self {
            error_code,
            principal_type,
            principal_name,
            token_requester_principal_type,
            token_requester_principal_name,
            issue_timestamp_ms,
            expiry_timestamp_ms,
            max_timestamp_ms,
            token_id,
            hmac,
            throttle_time_ms,
        })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 2;
        w.error_code(self.error_code);
        w.string(&self.principal_type, flexible)?;
        w.string(&self.principal_name, flexible)?;
        if v == 3 {
            w.string(&self.token_requester_principal_type, flexible)?;
        } else if !self.token_requester_principal_type.is_empty() {
            return Err(EncodeError::FieldNotInVersion {
                message: "CreateDelegationTokenResponse",
                field: "TokenRequesterPrincipalType",
                version: v,
            });
        }
        if v == 3 {
            w.string(&self.token_requester_principal_name, flexible)?;
        } else if !self.token_requester_principal_name.is_empty() {
            return Err(EncodeError::FieldNotInVersion {
                message: "CreateDelegationTokenResponse",
                field: "TokenRequesterPrincipalName",
                version: v,
            });
        }
        w.i64(self.issue_timestamp_ms);
        w.i64(self.expiry_timestamp_ms);
        w.i64(self.max_timestamp_ms);
        w.string(&self.token_id, flexible)?;
        w.bytes(&self.hmac, flexible)?;
        w.throttle_time(self.throttle_time_ms);
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}
