//! `FindCoordinatorRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/FindCoordinatorRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `FindCoordinatorRequest`: request, key 10, versions 0-6, flexible 3+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct FindCoordinatorRequest {
    /// `Key`: string, versions 0-3.
    pub key: String,
    /// `KeyType`: int8, versions 1+, default 0.
    pub key_type: i8,
    /// `CoordinatorKeys`: []string, versions 4+.
    pub coordinator_keys: Vec<String>,
}

impl Message for FindCoordinatorRequest {
    const NAME: &'static str = "FindCoordinatorRequest";
    const API_KEY: Option<i16> = Some(10);
    const VERSIONS: VersionRange = VersionRange::new(0, 6);
    const FLEXIBLE_FROM: Option<i16> = Some(3);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 3;
        let key = if v <= 3 { r.string(flexible)? } else { String::new() };
        let key_type = if v >= 1 { r.i8()? } else { 0 };
        let coordinator_keys = if v >= 4 { r.array(flexible, |r| r.string(flexible))? } else { Vec::new() };
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { key, key_type, coordinator_keys })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 3;
        if v <= 3 {
            w.string(&self.key, flexible)?;
        } else if !self.key.is_empty() {
            return Err(EncodeError::FieldNotInVersion {
                message: "FindCoordinatorRequest",
                field: "Key",
                version: v,
            });
        }
        if v >= 1 {
            w.i8(self.key_type);
        } else if self.key_type != 0 {
            return Err(EncodeError::FieldNotInVersion {
                message: "FindCoordinatorRequest",
                field: "KeyType",
                version: v,
            });
        }
        if v >= 4 {
            w.array(&self.coordinator_keys, flexible, |w, it| w.string(it, flexible))?;
        } else if !self.coordinator_keys.is_empty() {
            return Err(EncodeError::FieldNotInVersion {
                message: "FindCoordinatorRequest",
                field: "CoordinatorKeys",
                version: v,
            });
        }
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

impl Request for FindCoordinatorRequest {
    const KEY: ApiKey = ApiKey::FindCoordinator;
    type Response = super::FindCoordinatorResponse;
}
