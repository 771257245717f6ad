//! `OffsetCommitRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/OffsetCommitRequest.schema`; not edited by hand.

use aplomb_model::Uuid;

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `OffsetCommitRequest`: request, key 8, versions 2-10, flexible 8+.
#[derive(Clone, Debug, PartialEq)]
pub struct OffsetCommitRequest {
    /// `GroupId`: string, versions 0+.
    pub group_id: String,
    /// `GenerationIdOrMemberEpoch`: int32, versions 1+, default -1, dropped by versions without it.
    pub generation_id_or_member_epoch: i32,
    /// `MemberId`: string, versions 1+, dropped by versions without it.
    pub member_id: String,
    /// `GroupInstanceId`: string, versions 7+, nullable in 7+, default null.
    pub group_instance_id: Option<String>,
    /// `RetentionTimeMs`: int64, versions 2-4, default -1, dropped by versions without it.
    pub retention_time_ms: i64,
    /// `Topics`: []OffsetCommitRequestTopic, versions 0+.
    pub topics: Vec<OffsetCommitRequestTopic>,
}

impl Default for OffsetCommitRequest {
    fn default() -> Self {
        Self {
            group_id: String::new(),
            generation_id_or_member_epoch: -1,
            member_id: String::new(),
            group_instance_id: None,
            retention_time_ms: -1,
            topics: Vec::new(),
        }
    }
}

impl Message for OffsetCommitRequest {
    const NAME: &'static str = "OffsetCommitRequest";
    const API_KEY: Option<i16> = Some(8);
    const VERSIONS: VersionRange = VersionRange::new(2, 10);
    const FLEXIBLE_FROM: Option<i16> = Some(8);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 8;
        let group_id = r.string(flexible)?;
        let generation_id_or_member_epoch = r.i32()?;
        let member_id = r.string(flexible)?;
        let group_instance_id = if v >= 7 { r.nullable_string(flexible)? } else { None };
        let retention_time_ms = if v <= 4 { r.i64()? } else { -1 };
        let topics = r.array(flexible, |r| OffsetCommitRequestTopic::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self {
            group_id,
            generation_id_or_member_epoch,
            member_id,
            group_instance_id,
            retention_time_ms,
            topics,
        })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 8;
        w.string(&self.group_id, flexible)?;
        w.i32(self.generation_id_or_member_epoch);
        w.string(&self.member_id, flexible)?;
        if v >= 7 {
            w.nullable_string(self.group_instance_id.as_deref(), flexible)?;
        } else if self.group_instance_id.is_some() {
            return Err(EncodeError::FieldNotInVersion {
                message: "OffsetCommitRequest",
                field: "GroupInstanceId",
                version: v,
            });
        }
        if v <= 4 {
            w.i64(self.retention_time_ms);
        }
        w.array(&self.topics, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `OffsetCommitRequestTopic` in `OffsetCommitRequest`, versions 2-10.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct OffsetCommitRequestTopic {
    /// `Name`: string, versions 0-9, dropped by versions without it.
    pub name: String,
    /// `TopicId`: uuid, versions 10+, dropped by versions without it.
    pub topic_id: Uuid,
    /// `Partitions`: []OffsetCommitRequestPartition, versions 0+.
    pub partitions: Vec<OffsetCommitRequestPartition>,
}

impl OffsetCommitRequestTopic {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 8;
        let name = if v <= 9 { r.string(flexible)? } else { String::new() };
        let topic_id = if v == 10 { r.uuid()? } else { Uuid::ZERO };
        let partitions = r.array(flexible, |r| OffsetCommitRequestPartition::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { name, topic_id, partitions })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 8;
        if v <= 9 {
            w.string(&self.name, flexible)?;
        }
        if v == 10 {
            w.uuid(self.topic_id);
        }
        w.array(&self.partitions, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `OffsetCommitRequestPartition` in `OffsetCommitRequest`, versions 2-10.
#[derive(Clone, Debug, PartialEq)]
pub struct OffsetCommitRequestPartition {
    /// `PartitionIndex`: int32, versions 0+.
    pub partition_index: i32,
    /// `CommittedOffset`: int64, versions 0+.
    pub committed_offset: i64,
    /// `CommittedLeaderEpoch`: int32, versions 6+, default -1, dropped by versions without it.
    pub committed_leader_epoch: i32,
    /// `CommittedMetadata`: string, versions 0+, nullable in 0+.
    pub committed_metadata: Option<String>,
}

impl Default for OffsetCommitRequestPartition {
    fn default() -> Self {
        Self {
            partition_index: 0,
            committed_offset: 0,
            committed_leader_epoch: -1,
            committed_metadata: Some(String::new()),
        }
    }
}

impl OffsetCommitRequestPartition {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 8;
        let partition_index = r.i32()?;
        let committed_offset = r.i64()?;
        let committed_leader_epoch = if v >= 6 { r.i32()? } else { -1 };
        let committed_metadata = r.nullable_string(flexible)?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { partition_index, committed_offset, committed_leader_epoch, committed_metadata })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 8;
        w.i32(self.partition_index);
        w.i64(self.committed_offset);
        if v >= 6 {
            w.i32(self.committed_leader_epoch);
        }
        w.nullable_string(self.committed_metadata.as_deref(), flexible)?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

impl Request for OffsetCommitRequest {
    const KEY: ApiKey = ApiKey::OffsetCommit;
    type Response = super::OffsetCommitResponse;
}
