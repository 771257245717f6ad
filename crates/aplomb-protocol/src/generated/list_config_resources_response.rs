//! `ListConfigResourcesResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/ListConfigResourcesResponse.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `ListConfigResourcesResponse`: response, key 74, versions 0-1, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ListConfigResourcesResponse {
    /// `ThrottleTimeMs`: int32, versions 0+.
    pub throttle_time_ms: i32,
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `ConfigResources`: []ConfigResource, versions 0+.
    pub config_resources: Vec<ConfigResource>,
}

impl Message for ListConfigResourcesResponse {
    const NAME: &'static str = "ListConfigResourcesResponse";
    const API_KEY: Option<i16> = Some(74);
    const VERSIONS: VersionRange = VersionRange::new(0, 1);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let throttle_time_ms = r.i32()?;
        let error_code = r.i16()?;
        let config_resources = r.array(true, |r| ConfigResource::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self { throttle_time_ms, error_code, config_resources })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.throttle_time(self.throttle_time_ms);
        w.error_code(self.error_code);
        w.array(&self.config_resources, true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `ConfigResource` in `ListConfigResourcesResponse`, versions 0-1.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigResource {
    /// `ResourceName`: string, versions 0+.
    pub resource_name: String,
    /// `ResourceType`: int8, versions 1+, default 16, dropped by versions without it.
    pub resource_type: i8,
}

impl Default for ConfigResource {
    fn default() -> Self {
        Self { resource_name: String::new(), resource_type: 16 }
    }
}

impl ConfigResource {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let resource_name = r.string(true)?;
        let resource_type = if v == 1 { r.i8()? } else { 16 };
        r.skip_tags()?;
        Ok(Self { resource_name, resource_type })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        w.string(&self.resource_name, true)?;
        if v == 1 {
            w.i8(self.resource_type);
        }
        w.no_tags();
        Ok(())
    }
}
