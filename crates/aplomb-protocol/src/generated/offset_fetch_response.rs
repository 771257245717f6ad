//! `OffsetFetchResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/OffsetFetchResponse.schema`; not edited by hand.

use aplomb_model::Uuid;

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `OffsetFetchResponse`: response, key 9, versions 1-10, flexible 6+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct OffsetFetchResponse {
    /// `ThrottleTimeMs`: int32, versions 3+, dropped by versions without it.
    pub throttle_time_ms: i32,
    /// `Topics`: []OffsetFetchResponseTopic, versions 0-7.
    pub topics: Vec<OffsetFetchResponseTopic>,
    /// `ErrorCode`: int16, versions 2-7, default 0, dropped by versions without it.
    pub error_code: i16,
    /// `Groups`: []OffsetFetchResponseGroup, versions 8+.
    pub groups: Vec<OffsetFetchResponseGroup>,
}

impl Message for OffsetFetchResponse {
    const NAME: &'static str = "OffsetFetchResponse";
    const API_KEY: Option<i16> = Some(9);
    const VERSIONS: VersionRange = VersionRange::new(1, 10);
    const FLEXIBLE_FROM: Option<i16> = Some(6);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 6;
        let throttle_time_ms = if v >= 3 { r.i32()? } else { 0 };
        let topics =
            if v <= 7 { r.array(flexible, |r| OffsetFetchResponseTopic::decode(r, v))? } else { Vec::new() };
        let error_code = if (2..=7).contains(&v) { r.i16()? } else { 0 };
        let groups =
            if v >= 8 { r.array(flexible, |r| OffsetFetchResponseGroup::decode(r, v))? } else { Vec::new() };
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { throttle_time_ms, topics, error_code, groups })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 6;
        if v >= 3 {
            w.throttle_time(self.throttle_time_ms);
        }
        if v <= 7 {
            w.array(&self.topics, flexible, |w, it| it.encode(w, v))?;
        } else if !self.topics.is_empty() {
            return Err(EncodeError::FieldNotInVersion {
                message: "OffsetFetchResponse",
                field: "Topics",
                version: v,
            });
        }
        if (2..=7).contains(&v) {
            w.error_code(self.error_code);
        }
        if v >= 8 {
            w.array(&self.groups, flexible, |w, it| it.encode(w, v))?;
        } else if !self.groups.is_empty() {
            return Err(EncodeError::FieldNotInVersion {
                message: "OffsetFetchResponse",
                field: "Groups",
                version: v,
            });
        }
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `OffsetFetchResponseTopic` in `OffsetFetchResponse`, versions 1-7.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct OffsetFetchResponseTopic {
    /// `Name`: string, versions 0-7.
    pub name: String,
    /// `Partitions`: []OffsetFetchResponsePartition, versions 0-7.
    pub partitions: Vec<OffsetFetchResponsePartition>,
}

impl OffsetFetchResponseTopic {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 6;
        let name = r.string(flexible)?;
        let partitions = r.array(flexible, |r| OffsetFetchResponsePartition::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { name, partitions })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 6;
        w.string(&self.name, flexible)?;
        w.array(&self.partitions, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `OffsetFetchResponsePartition` in `OffsetFetchResponse`, versions 1-7.
#[derive(Clone, Debug, PartialEq)]
pub struct OffsetFetchResponsePartition {
    /// `PartitionIndex`: int32, versions 0-7.
    pub partition_index: i32,
    /// `CommittedOffset`: int64, versions 0-7.
    pub committed_offset: i64,
    /// `CommittedLeaderEpoch`: int32, versions 5-7, default -1, dropped by versions without it.
    pub committed_leader_epoch: i32,
    /// `Metadata`: string, versions 0-7, nullable in 0-7.
    pub metadata: Option<String>,
    /// `ErrorCode`: int16, versions 0-7.
    pub error_code: i16,
}

impl Default for OffsetFetchResponsePartition {
    fn default() -> Self {
        Self {
            partition_index: 0,
            committed_offset: 0,
            committed_leader_epoch: -1,
            metadata: Some(String::new()),
            error_code: 0,
        }
    }
}

impl OffsetFetchResponsePartition {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 6;
        let partition_index = r.i32()?;
        let committed_offset = r.i64()?;
        let committed_leader_epoch = if v >= 5 { r.i32()? } else { -1 };
        let metadata = r.nullable_string(flexible)?;
        let error_code = r.i16()?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { partition_index, committed_offset, committed_leader_epoch, metadata, error_code })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 6;
        w.i32(self.partition_index);
        w.i64(self.committed_offset);
        if v >= 5 {
            w.i32(self.committed_leader_epoch);
        }
        w.nullable_string(self.metadata.as_deref(), flexible)?;
        w.error_code(self.error_code);
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `OffsetFetchResponseGroup` in `OffsetFetchResponse`, versions 8-10.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct OffsetFetchResponseGroup {
    /// `GroupId`: string, versions 8+.
    pub group_id: String,
    /// `Topics`: []OffsetFetchResponseTopics, versions 8+.
    pub topics: Vec<OffsetFetchResponseTopics>,
    /// `ErrorCode`: int16, versions 8+, default 0.
    pub error_code: i16,
}

impl OffsetFetchResponseGroup {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let group_id = r.string(true)?;
        let topics = r.array(true, |r| OffsetFetchResponseTopics::decode(r, v))?;
        let error_code = r.i16()?;
        r.skip_tags()?;
        Ok(Self { group_id, topics, error_code })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        w.string(&self.group_id, true)?;
        w.array(&self.topics, true, |w, it| it.encode(w, v))?;
        w.error_code(self.error_code);
        w.no_tags();
        Ok(())
    }
}

/// `OffsetFetchResponseTopics` in `OffsetFetchResponse`, versions 8-10.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct OffsetFetchResponseTopics {
    /// `Name`: string, versions 8-9, dropped by versions without it.
    pub name: String,
    /// `TopicId`: uuid, versions 10+, dropped by versions without it.
    pub topic_id: Uuid,
    /// `Partitions`: []OffsetFetchResponsePartitions, versions 8+.
    pub partitions: Vec<OffsetFetchResponsePartitions>,
}

impl OffsetFetchResponseTopics {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let name = if v <= 9 { r.string(true)? } else { String::new() };
        let topic_id = if v == 10 { r.uuid()? } else { Uuid::ZERO };
        let partitions = r.array(true, |r| OffsetFetchResponsePartitions::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self { name, topic_id, partitions })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if v <= 9 {
            w.string(&self.name, true)?;
        }
        if v == 10 {
            w.uuid(self.topic_id);
        }
        w.array(&self.partitions, true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `OffsetFetchResponsePartitions` in `OffsetFetchResponse`, versions 8-10.
#[derive(Clone, Debug, PartialEq)]
pub struct OffsetFetchResponsePartitions {
    /// `PartitionIndex`: int32, versions 8+.
    pub partition_index: i32,
    /// `CommittedOffset`: int64, versions 8+.
    pub committed_offset: i64,
    /// `CommittedLeaderEpoch`: int32, versions 8+, default -1, dropped by versions without it.
    pub committed_leader_epoch: i32,
    /// `Metadata`: string, versions 8+, nullable in 8+.
    pub metadata: Option<String>,
    /// `ErrorCode`: int16, versions 8+.
    pub error_code: i16,
}

impl Default for OffsetFetchResponsePartitions {
    fn default() -> Self {
        Self {
            partition_index: 0,
            committed_offset: 0,
            committed_leader_epoch: -1,
            metadata: Some(String::new()),
            error_code: 0,
        }
    }
}

impl OffsetFetchResponsePartitions {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let partition_index = r.i32()?;
        let committed_offset = r.i64()?;
        let committed_leader_epoch = r.i32()?;
        let metadata = r.nullable_string(true)?;
        let error_code = r.i16()?;
        r.skip_tags()?;
        Ok(Self { partition_index, committed_offset, committed_leader_epoch, metadata, error_code })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.i32(self.partition_index);
        w.i64(self.committed_offset);
        w.i32(self.committed_leader_epoch);
        w.nullable_string(self.metadata.as_deref(), true)?;
        w.error_code(self.error_code);
        w.no_tags();
        Ok(())
    }
}
