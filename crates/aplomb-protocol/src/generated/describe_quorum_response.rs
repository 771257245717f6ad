//! `DescribeQuorumResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/DescribeQuorumResponse.schema`; not edited by hand.

use aplomb_model::Uuid;

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `DescribeQuorumResponse`: response, key 55, versions 0-2, flexible 0+.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribeQuorumResponse {
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `ErrorMessage`: string, versions 2+, nullable in 2+, dropped by versions without it.
    pub error_message: Option<String>,
    /// `Topics`: []TopicData, versions 0+.
    pub topics: Vec<TopicData>,
    /// `Nodes`: []Node, versions 2+.
    pub nodes: Vec<Node>,
}

impl Default for DescribeQuorumResponse {
    fn default() -> Self {
        Self { error_code: 0, error_message: Some(String::new()), topics: Vec::new(), nodes: Vec::new() }
    }
}

impl Message for DescribeQuorumResponse {
    const NAME: &'static str = "DescribeQuorumResponse";
    const API_KEY: Option<i16> = Some(55);
    const VERSIONS: VersionRange = VersionRange::new(0, 2);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let error_code = r.i16()?;
        let error_message = if v == 2 { r.nullable_string(true)? } else { Some(String::new()) };
        let topics = r.array(true, |r| TopicData::decode(r, v))?;
        let nodes = if v == 2 { r.array(true, |r| Node::decode(r, v))? } else { Vec::new() };
        r.skip_tags()?;
        Ok(Self { error_code, error_message, topics, nodes })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.error_code(self.error_code);
        if v == 2 {
            w.nullable_string(self.error_message.as_deref(), true)?;
        }
        w.array(&self.topics, true, |w, it| it.encode(w, v))?;
        if v == 2 {
            w.array(&self.nodes, true, |w, it| it.encode(w, v))?;
        } else if !self.nodes.is_empty() {
            return Err(EncodeError::FieldNotInVersion {
                message: "DescribeQuorumResponse",
                field: "Nodes",
                version: v,
            });
        }
        w.no_tags();
        Ok(())
    }
}

/// `TopicData` in `DescribeQuorumResponse`, versions 0-2.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct TopicData {
    /// `TopicName`: string, versions 0+.
    pub topic_name: String,
    /// `Partitions`: []PartitionData, versions 0+.
    pub partitions: Vec<PartitionData>,
}

impl TopicData {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let topic_name = r.string(true)?;
        let partitions = r.array(true, |r| PartitionData::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self { topic_name, partitions })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        w.string(&self.topic_name, true)?;
        w.array(&self.partitions, true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `PartitionData` in `DescribeQuorumResponse`, versions 0-2.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionData {
    /// `PartitionIndex`: int32, versions 0+.
    pub partition_index: i32,
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `ErrorMessage`: string, versions 2+, nullable in 2+, dropped by versions without it.
    pub error_message: Option<String>,
    /// `LeaderId`: int32, versions 0+.
    pub leader_id: i32,
    /// `LeaderEpoch`: int32, versions 0+.
    pub leader_epoch: i32,
    /// `HighWatermark`: int64, versions 0+.
    pub high_watermark: i64,
    /// `CurrentVoters`: []ReplicaState, versions 0+.
    pub current_voters: Vec<ReplicaState>,
    /// `Observers`: []ReplicaState, versions 0+.
    pub observers: Vec<ReplicaState>,
}

impl Default for PartitionData {
    fn default() -> Self {
        Self {
            partition_index: 0,
            error_code: 0,
            error_message: Some(String::new()),
            leader_id: 0,
            leader_epoch: 0,
            high_watermark: 0,
            current_voters: Vec::new(),
            observers: Vec::new(),
        }
    }
}

impl PartitionData {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let partition_index = r.i32()?;
        let error_code = r.i16()?;
        let error_message = if v == 2 { r.nullable_string(true)? } else { Some(String::new()) };
        let leader_id = r.i32()?;
        let leader_epoch = r.i32()?;
        let high_watermark = r.i64()?;
        let current_voters = r.array(true, |r| ReplicaState::decode(r, v))?;
        let observers = r.array(true, |r| ReplicaState::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self {
            partition_index,
            error_code,
            error_message,
            leader_id,
            leader_epoch,
            high_watermark,
            current_voters,
            observers,
        })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        w.i32(self.partition_index);
        w.error_code(self.error_code);
        if v == 2 {
            w.nullable_string(self.error_message.as_deref(), true)?;
        }
        w.i32(self.leader_id);
        w.i32(self.leader_epoch);
        w.i64(self.high_watermark);
        w.array(&self.current_voters, true, |w, it| it.encode(w, v))?;
        w.array(&self.observers, true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `Node` in `DescribeQuorumResponse`, versions 2.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Node {
    /// `NodeId`: int32, versions 2+.
    pub node_id: i32,
    /// `Listeners`: []Listener, versions 2+.
    pub listeners: Vec<Listener>,
}

impl Node {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let node_id = r.i32()?;
        let listeners = r.array(true, |r| Listener::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self { node_id, listeners })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        w.i32(self.node_id);
        w.array(&self.listeners, true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `Listener` in `DescribeQuorumResponse`, versions 2.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Listener {
    /// `Name`: string, versions 2+.
    pub name: String,
    /// `Host`: string, versions 2+.
    pub host: String,
    /// `Port`: uint16, versions 2+.
    pub port: u16,
}

impl Listener {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let name = r.string(true)?;
        let host = r.string(true)?;
        let port = r.u16()?;
        r.skip_tags()?;
        Ok(Self { name, host, port })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.string(&self.name, true)?;
        w.string(&self.host, true)?;
        w.u16(self.port);
        w.no_tags();
        Ok(())
    }
}

/// `ReplicaState` in `DescribeQuorumResponse`, versions 0-2.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplicaState {
    /// `ReplicaId`: int32, versions 0+.
    pub replica_id: i32,
    /// `ReplicaDirectoryId`: uuid, versions 2+.
    pub replica_directory_id: Uuid,
    /// `LogEndOffset`: int64, versions 0+.
    pub log_end_offset: i64,
    /// `LastFetchTimestamp`: int64, versions 1+, default -1, dropped by versions without it.
    pub last_fetch_timestamp: i64,
    /// `LastCaughtUpTimestamp`: int64, versions 1+, default -1, dropped by versions without it.
    pub last_caught_up_timestamp: i64,
}

impl Default for ReplicaState {
    fn default() -> Self {
        Self {
            replica_id: 0,
            replica_directory_id: Uuid::ZERO,
            log_end_offset: 0,
            last_fetch_timestamp: -1,
            last_caught_up_timestamp: -1,
        }
    }
}

impl ReplicaState {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let replica_id = r.i32()?;
        let replica_directory_id = if v == 2 { r.uuid()? } else { Uuid::ZERO };
        let log_end_offset = r.i64()?;
        let last_fetch_timestamp = if v >= 1 { r.i64()? } else { -1 };
        let last_caught_up_timestamp = if v >= 1 { r.i64()? } else { -1 };
        r.skip_tags()?;
        Ok(Self {
            replica_id,
            replica_directory_id,
            log_end_offset,
            last_fetch_timestamp,
            last_caught_up_timestamp,
        })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        w.i32(self.replica_id);
        if v == 2 {
            w.uuid(self.replica_directory_id);
        } else if self.replica_directory_id != Uuid::ZERO {
            return Err(EncodeError::FieldNotInVersion {
                message: "ReplicaState",
                field: "ReplicaDirectoryId",
                version: v,
            });
        }
        w.i64(self.log_end_offset);
        if v >= 1 {
            w.i64(self.last_fetch_timestamp);
        }
        if v >= 1 {
            w.i64(self.last_caught_up_timestamp);
        }
        w.no_tags();
        Ok(())
    }
}
