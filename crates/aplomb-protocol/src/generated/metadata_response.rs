//! `MetadataResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/MetadataResponse.schema`; not edited by hand.

use aplomb_model::Uuid;

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `MetadataResponse`: response, key 3, versions 0-13, flexible 9+.
#[derive(Clone, Debug, PartialEq)]
pub struct MetadataResponse {
    /// `ThrottleTimeMs`: int32, versions 3+, dropped by versions without it.
    pub throttle_time_ms: i32,
    /// `Brokers`: []MetadataResponseBroker, versions 0+.
    pub brokers: Vec<MetadataResponseBroker>,
    /// `ClusterId`: string, versions 2+, nullable in 2+, default null, dropped by versions without it.
    pub cluster_id: Option<String>,
    /// `ControllerId`: int32, versions 1+, default -1, dropped by versions without it.
    pub controller_id: i32,
    /// `Topics`: []MetadataResponseTopic, versions 0+.
    pub topics: Vec<MetadataResponseTopic>,
    /// `ClusterAuthorizedOperations`: int32, versions 8-10, default -2147483648.
    pub cluster_authorized_operations: i32,
    /// `ErrorCode`: int16, versions 13+, dropped by versions without it.
    pub error_code: i16,
}

impl Default for MetadataResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            brokers: Vec::new(),
            cluster_id: None,
            controller_id: -1,
            topics: Vec::new(),
            cluster_authorized_operations: -2_147_483_648,
            error_code: 0,
        }
    }
}

impl Message for MetadataResponse {
    const NAME: &'static str = "MetadataResponse";
    const API_KEY: Option<i16> = Some(3);
    const VERSIONS: VersionRange = VersionRange::new(0, 13);
    const FLEXIBLE_FROM: Option<i16> = Some(9);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 9;
        let throttle_time_ms = if v >= 3 { r.i32()? } else { 0 };
        let brokers = r.array(flexible, |r| MetadataResponseBroker::decode(r, v))?;
        let cluster_id = if v >= 2 { r.nullable_string(flexible)? } else { None };
        let controller_id = if v >= 1 { r.i32()? } else { -1 };
        let topics = r.array(flexible, |r| MetadataResponseTopic::decode(r, v))?;
        let cluster_authorized_operations = if (8..=10).contains(&v) { r.i32()? } else { -2_147_483_648 };
        let error_code = if v == 13 { r.i16()? } else { 0 };
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self {
            throttle_time_ms,
            brokers,
            cluster_id,
            controller_id,
            topics,
            cluster_authorized_operations,
            error_code,
        })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 9;
        if v >= 3 {
            w.throttle_time(self.throttle_time_ms);
        }
        w.array(&self.brokers, flexible, |w, it| it.encode(w, v))?;
        if v >= 2 {
            w.nullable_string(self.cluster_id.as_deref(), flexible)?;
        }
        if v >= 1 {
            w.i32(self.controller_id);
        }
        w.array(&self.topics, flexible, |w, it| it.encode(w, v))?;
        if (8..=10).contains(&v) {
            w.i32(self.cluster_authorized_operations);
        } else if self.cluster_authorized_operations != -2_147_483_648 {
            return Err(EncodeError::FieldNotInVersion {
                message: "MetadataResponse",
                field: "ClusterAuthorizedOperations",
                version: v,
            });
        }
        if v == 13 {
            w.error_code(self.error_code);
        }
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `MetadataResponseBroker` in `MetadataResponse`, versions 0-13.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct MetadataResponseBroker {
    /// `NodeId`: int32, versions 0+.
    pub node_id: i32,
    /// `Host`: string, versions 0+.
    pub host: String,
    /// `Port`: int32, versions 0+.
    pub port: i32,
    /// `Rack`: string, versions 1+, nullable in 1+, default null, dropped by versions without it.
    pub rack: Option<String>,
}

impl MetadataResponseBroker {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 9;
        let node_id = r.i32()?;
        let host = r.string(flexible)?;
        let port = r.i32()?;
        let rack = if v >= 1 { r.nullable_string(flexible)? } else { None };
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { node_id, host, port, rack })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 9;
        w.i32(self.node_id);
        w.string(&self.host, flexible)?;
        w.i32(self.port);
        if v >= 1 {
            w.nullable_string(self.rack.as_deref(), flexible)?;
        }
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `MetadataResponseTopic` in `MetadataResponse`, versions 0-13.
#[derive(Clone, Debug, PartialEq)]
pub struct MetadataResponseTopic {
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `Name`: string, versions 0+, nullable in 12+.
    pub name: Option<String>,
    /// `TopicId`: uuid, versions 10+, dropped by versions without it.
    pub topic_id: Uuid,
    /// `IsInternal`: bool, versions 1+, default false, dropped by versions without it.
    pub is_internal: bool,
    /// `Partitions`: []MetadataResponsePartition, versions 0+.
    pub partitions: Vec<MetadataResponsePartition>,
    /// `TopicAuthorizedOperations`: int32, versions 8+, default -2147483648.
    pub topic_authorized_operations: i32,
}

impl Default for MetadataResponseTopic {
    fn default() -> Self {
        Self {
            error_code: 0,
            name: Some(String::new()),
            topic_id: Uuid::ZERO,
            is_internal: false,
            partitions: Vec::new(),
            topic_authorized_operations: -2_147_483_648,
        }
    }
}

impl MetadataResponseTopic {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 9;
        let error_code = r.i16()?;
        let name = if v >= 12 { r.nullable_string(flexible)? } else { Some(r.string(flexible)?) };
        let topic_id = if v >= 10 { r.uuid()? } else { Uuid::ZERO };
        let is_internal = if v >= 1 { r.bool()? } else { false };
        let partitions = r.array(flexible, |r| MetadataResponsePartition::decode(r, v))?;
        let topic_authorized_operations = if v >= 8 { r.i32()? } else { -2_147_483_648 };
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { error_code, name, topic_id, is_internal, partitions, topic_authorized_operations })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 9;
        w.error_code(self.error_code);
        if v >= 12 {
            w.nullable_string(self.name.as_deref(), flexible)?;
        } else {
            let it = self.name.as_ref().ok_or(EncodeError::UnexpectedNull {
                message: "MetadataResponseTopic",
                field: "Name",
                version: v,
            })?;
            w.string(it, flexible)?;
        }
        if v >= 10 {
            w.uuid(self.topic_id);
        }
        if v >= 1 {
            w.bool(self.is_internal);
        }
        w.array(&self.partitions, flexible, |w, it| it.encode(w, v))?;
        if v >= 8 {
            w.i32(self.topic_authorized_operations);
        } else if self.topic_authorized_operations != -2_147_483_648 {
            return Err(EncodeError::FieldNotInVersion {
                message: "MetadataResponseTopic",
                field: "TopicAuthorizedOperations",
                version: v,
            });
        }
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `MetadataResponsePartition` in `MetadataResponse`, versions 0-13.
#[derive(Clone, Debug, PartialEq)]
pub struct MetadataResponsePartition {
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `PartitionIndex`: int32, versions 0+.
    pub partition_index: i32,
    /// `LeaderId`: int32, versions 0+.
    pub leader_id: i32,
    /// `LeaderEpoch`: int32, versions 7+, default -1, dropped by versions without it.
    pub leader_epoch: i32,
    /// `ReplicaNodes`: []int32, versions 0+.
    pub replica_nodes: Vec<i32>,
    /// `IsrNodes`: []int32, versions 0+.
    pub isr_nodes: Vec<i32>,
    /// `OfflineReplicas`: []int32, versions 5+, dropped by versions without it.
    pub offline_replicas: Vec<i32>,
}

impl Default for MetadataResponsePartition {
    fn default() -> Self {
        Self {
            error_code: 0,
            partition_index: 0,
            leader_id: 0,
            leader_epoch: -1,
            replica_nodes: Vec::new(),
            isr_nodes: Vec::new(),
            offline_replicas: Vec::new(),
        }
    }
}

impl MetadataResponsePartition {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 9;
        let error_code = r.i16()?;
        let partition_index = r.i32()?;
        let leader_id = r.i32()?;
        let leader_epoch = if v >= 7 { r.i32()? } else { -1 };
        let replica_nodes = r.array(flexible, Reader::i32)?;
        let isr_nodes = r.array(flexible, Reader::i32)?;
        let offline_replicas = if v >= 5 { r.array(flexible, Reader::i32)? } else { Vec::new() };
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self {
            error_code,
            partition_index,
            leader_id,
            leader_epoch,
            replica_nodes,
            isr_nodes,
            offline_replicas,
        })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 9;
        w.error_code(self.error_code);
        w.i32(self.partition_index);
        w.i32(self.leader_id);
        if v >= 7 {
            w.i32(self.leader_epoch);
        }
        w.array(&self.replica_nodes, flexible, |w, it| {
            w.i32(*it);
            Ok(())
        })?;
        w.array(&self.isr_nodes, flexible, |w, it| {
            w.i32(*it);
            Ok(())
        })?;
        if v >= 5 {
            w.array(&self.offline_replicas, flexible, |w, it| {
                w.i32(*it);
                Ok(())
            })?;
        }
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}
