//! `AlterConfigsRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/AlterConfigsRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `AlterConfigsRequest`: request, key 33, versions 0-2, flexible 2+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct AlterConfigsRequest {
    /// `Resources`: []AlterConfigsResource, versions 0+.
    pub resources: Vec<AlterConfigsResource>,
    /// `ValidateOnly`: bool, versions 0+.
    pub validate_only: bool,
}

impl Message for AlterConfigsRequest {
    const NAME: &'static str = "AlterConfigsRequest";
    const API_KEY: Option<i16> = Some(33);
    const VERSIONS: VersionRange = VersionRange::new(0, 2);
    const FLEXIBLE_FROM: Option<i16> = Some(2);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 2;
        let resources = r.array(flexible, |r| AlterConfigsResource::decode(r, v))?;
        let validate_only = r.bool()?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { resources, validate_only })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 2;
        w.array(&self.resources, flexible, |w, it| it.encode(w, v))?;
        w.bool(self.validate_only);
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `AlterConfigsResource` in `AlterConfigsRequest`, versions 0-2.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct AlterConfigsResource {
    /// `ResourceType`: int8, versions 0+.
    pub resource_type: i8,
    /// `ResourceName`: string, versions 0+.
    pub resource_name: String,
    /// `Configs`: []AlterableConfig, versions 0+.
    pub configs: Vec<AlterableConfig>,
}

impl AlterConfigsResource {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v == 2;
        let resource_type = r.i8()?;
        let resource_name = r.string(flexible)?;
        let configs = r.array(flexible, |r| AlterableConfig::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { resource_type, resource_name, configs })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v == 2;
        w.i8(self.resource_type);
        w.string(&self.resource_name, flexible)?;
        w.array(&self.configs, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `AlterableConfig` in `AlterConfigsRequest`, versions 0-2.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterableConfig {
    /// `Name`: string, versions 0+.
    pub name: String,
    /// `Value`: string, versions 0+, nullable in 0+.
    pub value: Option<String>,
}

impl Default for AlterableConfig {
    fn default() -> Self {
        Self { name: String::new(), value: Some(String::new()) }
    }
}

impl AlterableConfig {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v == 2;
        let name = r.string(flexible)?;
        let value = r.nullable_string(flexible)?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { name, value })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v == 2;
        w.string(&self.name, flexible)?;
        w.nullable_string(self.value.as_deref(), flexible)?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

impl Request for AlterConfigsRequest {
    const KEY: ApiKey = ApiKey::AlterConfigs;
    type Response = super::AlterConfigsResponse;
}
