//! `DescribeTopicPartitionsResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/DescribeTopicPartitionsResponse.schema`; not edited by hand.

use aplomb_model::Uuid;

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `DescribeTopicPartitionsResponse`: response, key 75, versions 0, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct DescribeTopicPartitionsResponse {
    /// `ThrottleTimeMs`: int32, versions 0+, dropped by versions without it.
    pub throttle_time_ms: i32,
    /// `Topics`: []DescribeTopicPartitionsResponseTopic, versions 0+.
    pub topics: Vec<DescribeTopicPartitionsResponseTopic>,
    /// `NextCursor`: Cursor, versions 0+, nullable in 0+, default null.
    pub next_cursor: Option<Cursor>,
}

impl Message for DescribeTopicPartitionsResponse {
    const NAME: &'static str = "DescribeTopicPartitionsResponse";
    const API_KEY: Option<i16> = Some(75);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let throttle_time_ms = r.i32()?;
        let topics = r.array(true, |r| DescribeTopicPartitionsResponseTopic::decode(r, v))?;
        let next_cursor = r.nullable_struct(|r| Cursor::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self { throttle_time_ms, topics, next_cursor })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.throttle_time(self.throttle_time_ms);
        w.array(&self.topics, true, |w, it| it.encode(w, v))?;
        w.nullable_struct(self.next_cursor.as_ref(), |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `DescribeTopicPartitionsResponseTopic` in `DescribeTopicPartitionsResponse`, versions 0.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribeTopicPartitionsResponseTopic {
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `Name`: string, versions 0+, nullable in 0+.
    pub name: Option<String>,
    /// `TopicId`: uuid, versions 0+, dropped by versions without it.
    pub topic_id: Uuid,
    /// `IsInternal`: bool, versions 0+, default false, dropped by versions without it.
    pub is_internal: bool,
    /// `Partitions`: []DescribeTopicPartitionsResponsePartition, versions 0+.
    pub partitions: Vec<DescribeTopicPartitionsResponsePartition>,
    /// `TopicAuthorizedOperations`: int32, versions 0+, default -2147483648.
    pub topic_authorized_operations: i32,
}

impl Default for DescribeTopicPartitionsResponseTopic {
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

impl DescribeTopicPartitionsResponseTopic {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let error_code = r.i16()?;
        let name = r.nullable_string(true)?;
        let topic_id = r.uuid()?;
        let is_internal = r.bool()?;
        let partitions = r.array(true, |r| DescribeTopicPartitionsResponsePartition::decode(r, v))?;
        let topic_authorized_operations = r.i32()?;
        r.skip_tags()?;
        Ok(Self { error_code, name, topic_id, is_internal, partitions, topic_authorized_operations })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        w.error_code(self.error_code);
        w.nullable_string(self.name.as_deref(), true)?;
        w.uuid(self.topic_id);
        w.bool(self.is_internal);
        w.array(&self.partitions, true, |w, it| it.encode(w, v))?;
        w.i32(self.topic_authorized_operations);
        w.no_tags();
        Ok(())
    }
}

/// `DescribeTopicPartitionsResponsePartition` in `DescribeTopicPartitionsResponse`, versions 0.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribeTopicPartitionsResponsePartition {
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `PartitionIndex`: int32, versions 0+.
    pub partition_index: i32,
    /// `LeaderId`: int32, versions 0+.
    pub leader_id: i32,
    /// `LeaderEpoch`: int32, versions 0+, default -1, dropped by versions without it.
    pub leader_epoch: i32,
    /// `ReplicaNodes`: []int32, versions 0+.
    pub replica_nodes: Vec<i32>,
    /// `IsrNodes`: []int32, versions 0+.
    pub isr_nodes: Vec<i32>,
    /// `EligibleLeaderReplicas`: []int32, versions 0+, nullable in 0+, default null.
    pub eligible_leader_replicas: Option<Vec<i32>>,
    /// `LastKnownElr`: []int32, versions 0+, nullable in 0+, default null.
    pub last_known_elr: Option<Vec<i32>>,
    /// `OfflineReplicas`: []int32, versions 0+, dropped by versions without it.
    pub offline_replicas: Vec<i32>,
}

impl Default for DescribeTopicPartitionsResponsePartition {
    fn default() -> Self {
        Self {
            error_code: 0,
            partition_index: 0,
            leader_id: 0,
            leader_epoch: -1,
            replica_nodes: Vec::new(),
            isr_nodes: Vec::new(),
            eligible_leader_replicas: None,
            last_known_elr: None,
            offline_replicas: Vec::new(),
        }
    }
}

impl DescribeTopicPartitionsResponsePartition {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let error_code = r.i16()?;
        let partition_index = r.i32()?;
        let leader_id = r.i32()?;
        let leader_epoch = r.i32()?;
        let replica_nodes = r.array(true, Reader::i32)?;
        let isr_nodes = r.array(true, Reader::i32)?;
        let eligible_leader_replicas = r.nullable_array(true, Reader::i32)?;
        let last_known_elr = r.nullable_array(true, Reader::i32)?;
        let offline_replicas = r.array(true, Reader::i32)?;
        r.skip_tags()?;
        Ok(Self {
            error_code,
            partition_index,
            leader_id,
            leader_epoch,
            replica_nodes,
            isr_nodes,
            eligible_leader_replicas,
            last_known_elr,
            offline_replicas,
        })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.error_code(self.error_code);
        w.i32(self.partition_index);
        w.i32(self.leader_id);
        w.i32(self.leader_epoch);
        w.array(&self.replica_nodes, true, |w, it| {
            w.i32(*it);
            Ok(())
        })?;
        w.array(&self.isr_nodes, true, |w, it| {
            w.i32(*it);
            Ok(())
        })?;
        w.nullable_array(self.eligible_leader_replicas.as_deref(), true, |w, it| {
            w.i32(*it);
            Ok(())
        })?;
        w.nullable_array(self.last_known_elr.as_deref(), true, |w, it| {
            w.i32(*it);
            Ok(())
        })?;
        w.array(&self.offline_replicas, true, |w, it| {
            w.i32(*it);
            Ok(())
        })?;
        w.no_tags();
        Ok(())
    }
}

/// `Cursor` in `DescribeTopicPartitionsResponse`, versions 0.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Cursor {
    /// `TopicName`: string, versions 0+.
    pub topic_name: String,
    /// `PartitionIndex`: int32, versions 0+.
    pub partition_index: i32,
}

impl Cursor {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let topic_name = r.string(true)?;
        let partition_index = r.i32()?;
        r.skip_tags()?;
        Ok(Self { topic_name, partition_index })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.string(&self.topic_name, true)?;
        w.i32(self.partition_index);
        w.no_tags();
        Ok(())
    }
}
