//! `CreateTopicsRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/CreateTopicsRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `CreateTopicsRequest`: request, key 19, versions 2-7, flexible 5+.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTopicsRequest {
    /// `Topics`: []CreatableTopic, versions 0+.
    pub topics: Vec<CreatableTopic>,
    /// `timeoutMs`: int32, versions 0+, default 60000.
    pub timeout_ms: i32,
    /// `validateOnly`: bool, versions 1+, default false.
    pub validate_only: bool,
}

impl Default for CreateTopicsRequest {
    fn default() -> Self {
        Self { topics: Vec::new(), timeout_ms: 60_000, validate_only: false }
    }
}

impl Message for CreateTopicsRequest {
    const NAME: &'static str = "CreateTopicsRequest";
    const API_KEY: Option<i16> = Some(19);
    const VERSIONS: VersionRange = VersionRange::new(2, 7);
    const FLEXIBLE_FROM: Option<i16> = Some(5);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 5;
        let topics = r.array(flexible, |r| CreatableTopic::decode(r, v))?;
        let timeout_ms = r.i32()?;
        let validate_only = r.bool()?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { topics, timeout_ms, validate_only })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 5;
        w.array(&self.topics, flexible, |w, it| it.encode(w, v))?;
        w.i32(self.timeout_ms);
        w.bool(self.validate_only);
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `CreatableTopic` in `CreateTopicsRequest`, versions 2-7.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct CreatableTopic {
    /// `Name`: string, versions 0+.
    pub name: String,
    /// `NumPartitions`: int32, versions 0+.
    pub num_partitions: i32,
    /// `ReplicationFactor`: int16, versions 0+.
    pub replication_factor: i16,
    /// `Assignments`: []CreatableReplicaAssignment, versions 0+.
    pub assignments: Vec<CreatableReplicaAssignment>,
    /// `Configs`: []CreatableTopicConfig, versions 0+.
    pub configs: Vec<CreatableTopicConfig>,
}

impl CreatableTopic {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 5;
        let name = r.string(flexible)?;
        let num_partitions = r.i32()?;
        let replication_factor = r.i16()?;
        let assignments = r.array(flexible, |r| CreatableReplicaAssignment::decode(r, v))?;
        let configs = r.array(flexible, |r| CreatableTopicConfig::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { name, num_partitions, replication_factor, assignments, configs })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 5;
        w.string(&self.name, flexible)?;
        w.i32(self.num_partitions);
        w.i16(self.replication_factor);
        w.array(&self.assignments, flexible, |w, it| it.encode(w, v))?;
        w.array(&self.configs, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `CreatableReplicaAssignment` in `CreateTopicsRequest`, versions 2-7.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct CreatableReplicaAssignment {
    /// `PartitionIndex`: int32, versions 0+.
    pub partition_index: i32,
    /// `BrokerIds`: []int32, versions 0+.
    pub broker_ids: Vec<i32>,
}

impl CreatableReplicaAssignment {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 5;
        let partition_index = r.i32()?;
        let broker_ids = r.array(flexible, Reader::i32)?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { partition_index, broker_ids })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 5;
        w.i32(self.partition_index);
        w.array(&self.broker_ids, flexible, |w, it| {
            w.i32(*it);
            Ok(())
        })?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `CreatableTopicConfig` in `CreateTopicsRequest`, versions 2-7.
#[derive(Clone, Debug, PartialEq)]
pub struct CreatableTopicConfig {
    /// `Name`: string, versions 0+.
    pub name: String,
    /// `Value`: string, versions 0+, nullable in 0+.
    pub value: Option<String>,
}

impl Default for CreatableTopicConfig {
    fn default() -> Self {
        Self { name: String::new(), value: Some(String::new()) }
    }
}

impl CreatableTopicConfig {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 5;
        let name = r.string(flexible)?;
        let value = r.nullable_string(flexible)?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { name, value })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 5;
        w.string(&self.name, flexible)?;
        w.nullable_string(self.value.as_deref(), flexible)?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

impl Request for CreateTopicsRequest {
    const KEY: ApiKey = ApiKey::CreateTopics;
    type Response = super::CreateTopicsResponse;
}
