//! `ApiVersionsResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/ApiVersionsResponse.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `ApiVersionsResponse`: response, key 18, versions 0-5, flexible 3+.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiVersionsResponse {
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `ApiKeys`: []ApiVersion, versions 0+.
    pub api_keys: Vec<ApiVersion>,
    /// `ThrottleTimeMs`: int32, versions 1+, dropped by versions without it.
    pub throttle_time_ms: i32,
    /// `SupportedFeatures`: []SupportedFeatureKey, versions 3+, tag 0 in 3+, dropped by versions without it.
    pub supported_features: Vec<SupportedFeatureKey>,
    /// `FinalizedFeaturesEpoch`: int64, versions 3+, tag 1 in 3+, default -1, dropped by versions without it.
    pub finalized_features_epoch: i64,
    /// `FinalizedFeatures`: []FinalizedFeatureKey, versions 3+, tag 2 in 3+, dropped by versions without it.
    pub finalized_features: Vec<FinalizedFeatureKey>,
    /// `ZkMigrationReady`: bool, versions 3+, tag 3 in 3+, default false, dropped by versions without it.
    pub zk_migration_ready: bool,
}

impl Default for ApiVersionsResponse {
    fn default() -> Self {
        Self {
            error_code: 0,
            api_keys: Vec::new(),
            throttle_time_ms: 0,
            supported_features: Vec::new(),
            finalized_features_epoch: -1,
            finalized_features: Vec::new(),
            zk_migration_ready: false,
        }
    }
}

impl Message for ApiVersionsResponse {
    const NAME: &'static str = "ApiVersionsResponse";
    const API_KEY: Option<i16> = Some(18);
    const VERSIONS: VersionRange = VersionRange::new(0, 5);
    const FLEXIBLE_FROM: Option<i16> = Some(3);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 3;
        let error_code = r.i16()?;
        let api_keys = r.array(flexible, |r| ApiVersion::decode(r, v))?;
        let throttle_time_ms = if v >= 1 { r.i32()? } else { 0 };
        let mut supported_features = Vec::new();
        let mut finalized_features_epoch = -1;
        let mut finalized_features = Vec::new();
        let mut zk_migration_ready = false;
        if flexible {
            for _ in 0..r.tag_count()? {
                let (tag, outer) = r.enter_tag()?;
                match tag {
                    0 => supported_features = r.array(true, |r| SupportedFeatureKey::decode(r, v))?,
                    1 => finalized_features_epoch = r.i64()?,
                    2 => finalized_features = r.array(true, |r| FinalizedFeatureKey::decode(r, v))?,
                    3 => zk_migration_ready = r.bool()?,
                    _ => r.skip_tag(),
                }
                r.leave_tag(outer)?;
            }
        }
        Ok(Self {
            error_code,
            api_keys,
            throttle_time_ms,
            supported_features,
            finalized_features_epoch,
            finalized_features,
            zk_migration_ready,
        })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 3;
        w.error_code(self.error_code);
        w.array(&self.api_keys, flexible, |w, it| it.encode(w, v))?;
        if v >= 1 {
            w.throttle_time(self.throttle_time_ms);
        }
        if flexible {
            let mut tags = w.open_tags();
            if !self.supported_features.is_empty() {
                w.tagged(&mut tags, 0, |w| w.array(&self.supported_features, true, |w, it| it.encode(w, v)))?;
            }
            if self.finalized_features_epoch != -1 {
                w.tagged(&mut tags, 1, |w| {
                    w.i64(self.finalized_features_epoch);
                    Ok(())
                })?;
            }
            if !self.finalized_features.is_empty() {
                w.tagged(&mut tags, 2, |w| w.array(&self.finalized_features, true, |w, it| it.encode(w, v)))?;
            }
            if self.zk_migration_ready {
                w.tagged(&mut tags, 3, |w| {
                    w.bool(self.zk_migration_ready);
                    Ok(())
                })?;
            }
        }
        Ok(())
    }
}

/// `ApiVersion` in `ApiVersionsResponse`, versions 0-5.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ApiVersion {
    /// `ApiKey`: int16, versions 0+.
    pub api_key: i16,
    /// `MinVersion`: int16, versions 0+.
    pub min_version: i16,
    /// `MaxVersion`: int16, versions 0+.
    pub max_version: i16,
}

impl ApiVersion {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 3;
        let api_key = r.i16()?;
        let min_version = r.i16()?;
        let max_version = r.i16()?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { api_key, min_version, max_version })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 3;
        w.i16(self.api_key);
        w.i16(self.min_version);
        w.i16(self.max_version);
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `SupportedFeatureKey` in `ApiVersionsResponse`, versions 3-5.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct SupportedFeatureKey {
    /// `Name`: string, versions 3+.
    pub name: String,
    /// `MinVersion`: int16, versions 3+.
    pub min_version: i16,
    /// `MaxVersion`: int16, versions 3+.
    pub max_version: i16,
}

impl SupportedFeatureKey {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let name = r.string(true)?;
        let min_version = r.i16()?;
        let max_version = r.i16()?;
        r.skip_tags()?;
        Ok(Self { name, min_version, max_version })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.string(&self.name, true)?;
        w.i16(self.min_version);
        w.i16(self.max_version);
        w.no_tags();
        Ok(())
    }
}

/// `FinalizedFeatureKey` in `ApiVersionsResponse`, versions 3-5.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct FinalizedFeatureKey {
    /// `Name`: string, versions 3+.
    pub name: String,
    /// `MaxVersionLevel`: int16, versions 3+.
    pub max_version_level: i16,
    /// `MinVersionLevel`: int16, versions 3+.
    pub min_version_level: i16,
}

impl FinalizedFeatureKey {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let name = r.string(true)?;
        let max_version_level = r.i16()?;
        let min_version_level = r.i16()?;
        r.skip_tags()?;
        Ok(Self { name, max_version_level, min_version_level })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.string(&self.name, true)?;
        w.i16(self.max_version_level);
        w.i16(self.min_version_level);
        w.no_tags();
        Ok(())
    }
}
