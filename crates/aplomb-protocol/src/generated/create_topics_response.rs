//! `CreateTopicsResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/CreateTopicsResponse.schema`; not edited by hand.

use aplomb_model::Uuid;

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `CreateTopicsResponse`: response, key 19, versions 2-7, flexible 5+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct CreateTopicsResponse {
    /// `ThrottleTimeMs`: int32, versions 2+, dropped by versions without it.
    pub throttle_time_ms: i32,
    /// `Topics`: []CreatableTopicResult, versions 0+.
    pub topics: Vec<CreatableTopicResult>,
}

impl Message for CreateTopicsResponse {
    const NAME: &'static str = "CreateTopicsResponse";
    const API_KEY: Option<i16> = Some(19);
    const VERSIONS: VersionRange = VersionRange::new(2, 7);
    const FLEXIBLE_FROM: Option<i16> = Some(5);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 5;
        let throttle_time_ms = r.i32()?;
        let topics = r.array(flexible, |r| CreatableTopicResult::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { throttle_time_ms, topics })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 5;
        w.throttle_time(self.throttle_time_ms);
        w.array(&self.topics, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `CreatableTopicResult` in `CreateTopicsResponse`, versions 2-7.
#[derive(Clone, Debug, PartialEq)]
pub struct CreatableTopicResult {
    /// `Name`: string, versions 0+.
    pub name: String,
    /// `TopicId`: uuid, versions 7+, dropped by versions without it.
    pub topic_id: Uuid,
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `ErrorMessage`: string, versions 1+, nullable in 0+, dropped by versions without it.
    pub error_message: Option<String>,
    /// `TopicConfigErrorCode`: int16, versions 5+, tag 0 in 5+, dropped by versions without it.
    pub topic_config_error_code: i16,
    /// `NumPartitions`: int32, versions 5+, default -1, dropped by versions without it.
    pub num_partitions: i32,
    /// `ReplicationFactor`: int16, versions 5+, default -1, dropped by versions without it.
    pub replication_factor: i16,
    /// `Configs`: []CreatableTopicConfigs, versions 5+, nullable in 5+, dropped by versions without it.
    pub configs: Option<Vec<CreatableTopicConfigs>>,
}

impl Default for CreatableTopicResult {
    fn default() -> Self {
        Self {
            name: String::new(),
            topic_id: Uuid::ZERO,
            error_code: 0,
            error_message: Some(String::new()),
            topic_config_error_code: 0,
            num_partitions: -1,
            replication_factor: -1,
            configs: Some(Vec::new()),
        }
    }
}

impl CreatableTopicResult {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 5;
        let name = r.string(flexible)?;
        let topic_id = if v == 7 { r.uuid()? } else { Uuid::ZERO };
        let error_code = r.i16()?;
        let error_message = r.nullable_string(flexible)?;
        let mut topic_config_error_code = 0;
        let num_partitions = if v >= 5 { r.i32()? } else { -1 };
        let replication_factor = if v >= 5 { r.i16()? } else { -1 };
        let configs = if v >= 5 {
            r.nullable_array(flexible, |r| CreatableTopicConfigs::decode(r, v))?
        } else {
            Some(Vec::new())
        };
        if flexible {
            for _ in 0..r.tag_count()? {
                let (tag, outer) = r.enter_tag()?;
                match tag {
                    0 => topic_config_error_code = r.i16()?,
                    _ => r.skip_tag(),
                }
                r.leave_tag(outer)?;
            }
        }
        Ok(Self {
            name,
            topic_id,
            error_code,
            error_message,
            topic_config_error_code,
            num_partitions,
            replication_factor,
            configs,
        })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 5;
        w.string(&self.name, flexible)?;
        if v == 7 {
            w.uuid(self.topic_id);
        }
        w.error_code(self.error_code);
        w.nullable_string(self.error_message.as_deref(), flexible)?;
        if v >= 5 {
            w.i32(self.num_partitions);
        }
        if v >= 5 {
            w.i16(self.replication_factor);
        }
        if v >= 5 {
            w.nullable_array(self.configs.as_deref(), flexible, |w, it| it.encode(w, v))?;
        }
        if flexible {
            let mut tags = w.open_tags();
            if self.topic_config_error_code != 0 {
                w.tagged(&mut tags, 0, |w| {
                    w.i16(self.topic_config_error_code);
                    Ok(())
                })?;
            }
        }
        Ok(())
    }
}

/// `CreatableTopicConfigs` in `CreateTopicsResponse`, versions 5-7.
#[derive(Clone, Debug, PartialEq)]
pub struct CreatableTopicConfigs {
    /// `Name`: string, versions 5+.
    pub name: String,
    /// `Value`: string, versions 5+, nullable in 5+.
    pub value: Option<String>,
    /// `ReadOnly`: bool, versions 5+.
    pub read_only: bool,
    /// `ConfigSource`: int8, versions 5+, default -1, dropped by versions without it.
    pub config_source: i8,
    /// `IsSensitive`: bool, versions 5+.
    pub is_sensitive: bool,
}

impl Default for CreatableTopicConfigs {
    fn default() -> Self {
        Self {
            name: String::new(),
            value: Some(String::new()),
            read_only: false,
            config_source: -1,
            is_sensitive: false,
        }
    }
}

impl CreatableTopicConfigs {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let name = r.string(true)?;
        let value = r.nullable_string(true)?;
        let read_only = r.bool()?;
        let config_source = r.i8()?;
        let is_sensitive = r.bool()?;
        r.skip_tags()?;
        Ok(Self { name, value, read_only, config_source, is_sensitive })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.string(&self.name, true)?;
        w.nullable_string(self.value.as_deref(), true)?;
        w.bool(self.read_only);
        w.i8(self.config_source);
        w.bool(self.is_sensitive);
        w.no_tags();
        Ok(())
    }
}
