//! `DescribeConfigsRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/DescribeConfigsRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `DescribeConfigsRequest`: request, key 32, versions 1-4, flexible 4+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct DescribeConfigsRequest {
    /// `Resources`: []DescribeConfigsResource, versions 0+.
    pub resources: Vec<DescribeConfigsResource>,
    /// `IncludeSynonyms`: bool, versions 1+, default false.
    pub include_synonyms: bool,
    /// `IncludeDocumentation`: bool, versions 3+, default false.
    pub include_documentation: bool,
}

impl Message for DescribeConfigsRequest {
    const NAME: &'static str = "DescribeConfigsRequest";
    const API_KEY: Option<i16> = Some(32);
    const VERSIONS: VersionRange = VersionRange::new(1, 4);
    const FLEXIBLE_FROM: Option<i16> = Some(4);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 4;
        let resources = r.array(flexible, |r| DescribeConfigsResource::decode(r, v))?;
        let include_synonyms = r.bool()?;
        let include_documentation = if v >= 3 { r.bool()? } else { false };
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { resources, include_synonyms, include_documentation })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 4;
        w.array(&self.resources, flexible, |w, it| it.encode(w, v))?;
        w.bool(self.include_synonyms);
        if v >= 3 {
            w.bool(self.include_documentation);
        } else if self.include_documentation {
            return Err(EncodeError::FieldNotInVersion {
                message: "DescribeConfigsRequest",
                field: "IncludeDocumentation",
                version: v,
            });
        }
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `DescribeConfigsResource` in `DescribeConfigsRequest`, versions 1-4.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribeConfigsResource {
    /// `ResourceType`: int8, versions 0+.
    pub resource_type: i8,
    /// `ResourceName`: string, versions 0+.
    pub resource_name: String,
    /// `ConfigurationKeys`: []string, versions 0+, nullable in 0+.
    pub configuration_keys: Option<Vec<String>>,
}

impl Default for DescribeConfigsResource {
    fn default() -> Self {
        Self { resource_type: 0, resource_name: String::new(), configuration_keys: Some(Vec::new()) }
    }
}

impl DescribeConfigsResource {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v == 4;
        let resource_type = r.i8()?;
        let resource_name = r.string(flexible)?;
        let configuration_keys = r.nullable_array(flexible, |r| r.string(flexible))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { resource_type, resource_name, configuration_keys })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v == 4;
        w.i8(self.resource_type);
        w.string(&self.resource_name, flexible)?;
        w.nullable_array(self.configuration_keys.as_deref(), flexible, |w, it| w.string(it, flexible))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

impl Request for DescribeConfigsRequest {
    const KEY: ApiKey = ApiKey::DescribeConfigs;
    type Response = super::DescribeConfigsResponse;
}
