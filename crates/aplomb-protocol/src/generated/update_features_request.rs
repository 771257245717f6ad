//! `UpdateFeaturesRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/UpdateFeaturesRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `UpdateFeaturesRequest`: request, key 57, versions 0-2, flexible 0+.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateFeaturesRequest {
    /// `timeoutMs`: int32, versions 0+, default 60000.
    pub timeout_ms: i32,
    /// `FeatureUpdates`: []FeatureUpdateKey, versions 0+.
    pub feature_updates: Vec<FeatureUpdateKey>,
    /// `ValidateOnly`: bool, versions 1+, default false.
    pub validate_only: bool,
}

impl Default for UpdateFeaturesRequest {
    fn default() -> Self {
        Self { timeout_ms: 60_000, feature_updates: Vec::new(), validate_only: false }
    }
}

impl Message for UpdateFeaturesRequest {
    const NAME: &'static str = "UpdateFeaturesRequest";
    const API_KEY: Option<i16> = Some(57);
    const VERSIONS: VersionRange = VersionRange::new(0, 2);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let timeout_ms = r.i32()?;
        let feature_updates = r.array(true, |r| FeatureUpdateKey::decode(r, v))?;
        let validate_only = if v >= 1 { r.bool()? } else { false };
        r.skip_tags()?;
        Ok(Self { timeout_ms, feature_updates, validate_only })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.i32(self.timeout_ms);
        w.array(&self.feature_updates, true, |w, it| it.encode(w, v))?;
        if v >= 1 {
            w.bool(self.validate_only);
        } else if self.validate_only {
            return Err(EncodeError::FieldNotInVersion {
                message: "UpdateFeaturesRequest",
                field: "ValidateOnly",
                version: v,
            });
        }
        w.no_tags();
        Ok(())
    }
}

/// `FeatureUpdateKey` in `UpdateFeaturesRequest`, versions 0-2.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureUpdateKey {
    /// `Feature`: string, versions 0+.
    pub feature: String,
    /// `MaxVersionLevel`: int16, versions 0+.
    pub max_version_level: i16,
    /// `AllowDowngrade`: bool, versions 0.
    pub allow_downgrade: bool,
    /// `UpgradeType`: int8, versions 1+, default 1.
    pub upgrade_type: i8,
}

impl Default for FeatureUpdateKey {
    fn default() -> Self {
        Self { feature: String::new(), max_version_level: 0, allow_downgrade: false, upgrade_type: 1 }
    }
}

impl FeatureUpdateKey {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let feature = r.string(true)?;
        let max_version_level = r.i16()?;
        let allow_downgrade = if v == 0 { r.bool()? } else { false };
        let upgrade_type = if v >= 1 { r.i8()? } else { 1 };
        r.skip_tags()?;
        Ok(Self { feature, max_version_level, allow_downgrade, upgrade_type })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        w.string(&self.feature, true)?;
        w.i16(self.max_version_level);
        if v == 0 {
            w.bool(self.allow_downgrade);
        } else if self.allow_downgrade {
            return Err(EncodeError::FieldNotInVersion {
                message: "FeatureUpdateKey",
                field: "AllowDowngrade",
                version: v,
            });
        }
        if v >= 1 {
            w.i8(self.upgrade_type);
        } else if self.upgrade_type != 1 {
            return Err(EncodeError::FieldNotInVersion {
                message: "FeatureUpdateKey",
                field: "UpgradeType",
                version: v,
            });
        }
        w.no_tags();
        Ok(())
    }
}

impl Request for UpdateFeaturesRequest {
    const KEY: ApiKey = ApiKey::UpdateFeatures;
    type Response = super::UpdateFeaturesResponse;
}
