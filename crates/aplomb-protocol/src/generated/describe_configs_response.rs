//! `DescribeConfigsResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/DescribeConfigsResponse.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `DescribeConfigsResponse`: response, key 32, versions 1-4, flexible 4+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct DescribeConfigsResponse {
    /// `ThrottleTimeMs`: int32, versions 0+.
    pub throttle_time_ms: i32,
    /// `Results`: []DescribeConfigsResult, versions 0+.
    pub results: Vec<DescribeConfigsResult>,
}

impl Message for DescribeConfigsResponse {
    const NAME: &'static str = "DescribeConfigsResponse";
    const API_KEY: Option<i16> = Some(32);
    const VERSIONS: VersionRange = VersionRange::new(1, 4);
    const FLEXIBLE_FROM: Option<i16> = Some(4);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 4;
        let throttle_time_ms = r.i32()?;
        let results = r.array(flexible, |r| DescribeConfigsResult::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { throttle_time_ms, results })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 4;
        w.throttle_time(self.throttle_time_ms);
        w.array(&self.results, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `DescribeConfigsResult` in `DescribeConfigsResponse`, versions 1-4.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribeConfigsResult {
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `ErrorMessage`: string, versions 0+, nullable in 0+.
    pub error_message: Option<String>,
    /// `ResourceType`: int8, versions 0+.
    pub resource_type: i8,
    /// `ResourceName`: string, versions 0+.
    pub resource_name: String,
    /// `Configs`: []DescribeConfigsResourceResult, versions 0+.
    pub configs: Vec<DescribeConfigsResourceResult>,
}

impl Default for DescribeConfigsResult {
    fn default() -> Self {
        Self {
            error_code: 0,
            error_message: Some(String::new()),
            resource_type: 0,
            resource_name: String::new(),
            configs: Vec::new(),
        }
    }
}

impl DescribeConfigsResult {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v == 4;
        let error_code = r.i16()?;
        let error_message = r.nullable_string(flexible)?;
        let resource_type = r.i8()?;
        let resource_name = r.string(flexible)?;
        let configs = r.array(flexible, |r| DescribeConfigsResourceResult::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { error_code, error_message, resource_type, resource_name, configs })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v == 4;
        w.error_code(self.error_code);
        w.nullable_string(self.error_message.as_deref(), flexible)?;
        w.i8(self.resource_type);
        w.string(&self.resource_name, flexible)?;
        w.array(&self.configs, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `DescribeConfigsResourceResult` in `DescribeConfigsResponse`, versions 1-4.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribeConfigsResourceResult {
    /// `Name`: string, versions 0+.
    pub name: String,
    /// `Value`: string, versions 0+, nullable in 0+.
    pub value: Option<String>,
    /// `ReadOnly`: bool, versions 0+.
    pub read_only: bool,
    /// `ConfigSource`: int8, versions 1+, default -1, dropped by versions without it.
    pub config_source: i8,
    /// `IsSensitive`: bool, versions 0+.
    pub is_sensitive: bool,
    /// `Synonyms`: []DescribeConfigsSynonym, versions 1+, dropped by versions without it.
    pub synonyms: Vec<DescribeConfigsSynonym>,
    /// `ConfigType`: int8, versions 3+, default 0, dropped by versions without it.
    pub config_type: i8,
    /// `Documentation`: string, versions 3+, nullable in 0+, dropped by versions without it.
    pub documentation: Option<String>,
}

impl Default for DescribeConfigsResourceResult {
    fn default() -> Self {
        Self {
            name: String::new(),
            value: Some(String::new()),
            read_only: false,
            config_source: -1,
            is_sensitive: false,
            synonyms: Vec::new(),
            config_type: 0,
            documentation: Some(String::new()),
        }
    }
}

impl DescribeConfigsResourceResult {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v == 4;
        let name = r.string(flexible)?;
        let value = r.nullable_string(flexible)?;
        let read_only = r.bool()?;
        let config_source = r.i8()?;
        let is_sensitive = r.bool()?;
        let synonyms = r.array(flexible, |r| DescribeConfigsSynonym::decode(r, v))?;
        let config_type = if v >= 3 { r.i8()? } else { 0 };
        let documentation = if v >= 3 { r.nullable_string(flexible)? } else { Some(String::new()) };
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { name, value, read_only, config_source, is_sensitive, synonyms, config_type, documentation })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v == 4;
        w.string(&self.name, flexible)?;
        w.nullable_string(self.value.as_deref(), flexible)?;
        w.bool(self.read_only);
        w.i8(self.config_source);
        w.bool(self.is_sensitive);
        w.array(&self.synonyms, flexible, |w, it| it.encode(w, v))?;
        if v >= 3 {
            w.i8(self.config_type);
        }
        if v >= 3 {
            w.nullable_string(self.documentation.as_deref(), flexible)?;
        }
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `DescribeConfigsSynonym` in `DescribeConfigsResponse`, versions 1-4.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribeConfigsSynonym {
    /// `Name`: string, versions 1+.
    pub name: String,
    /// `Value`: string, versions 1+, nullable in 0+.
    pub value: Option<String>,
    /// `Source`: int8, versions 1+.
    pub source: i8,
}

impl Default for DescribeConfigsSynonym {
    fn default() -> Self {
        Self { name: String::new(), value: Some(String::new()), source: 0 }
    }
}

impl DescribeConfigsSynonym {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v == 4;
        let name = r.string(flexible)?;
        let value = r.nullable_string(flexible)?;
        let source = r.i8()?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { name, value, source })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v == 4;
        w.string(&self.name, flexible)?;
        w.nullable_string(self.value.as_deref(), flexible)?;
        w.i8(self.source);
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}
