//! `TxnOffsetCommitRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/TxnOffsetCommitRequest.schema`; not edited by hand.

use aplomb_model::Uuid;

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `TxnOffsetCommitRequest`: request, key 28, versions 0-6, flexible 3+.
#[derive(Clone, Debug, PartialEq)]
pub struct TxnOffsetCommitRequest {
    /// `TransactionalId`: string, versions 0+.
    pub transactional_id: String,
    /// `GroupId`: string, versions 0+.
    pub group_id: String,
    /// `ProducerId`: int64, versions 0+.
    pub producer_id: i64,
    /// `ProducerEpoch`: int16, versions 0+.
    pub producer_epoch: i16,
    /// `GenerationIdOrMemberEpoch`: int32, versions 3+, default -1.
    pub generation_id_or_member_epoch: i32,
    /// `MemberId`: string, versions 3+.
    pub member_id: String,
    /// `GroupInstanceId`: string, versions 3+, nullable in 3+, default null.
    pub group_instance_id: Option<String>,
    /// `Topics`: []TxnOffsetCommitRequestTopic, versions 0+.
    pub topics: Vec<TxnOffsetCommitRequestTopic>,
}

impl Default for TxnOffsetCommitRequest {
    fn default() -> Self {
        Self {
            transactional_id: String::new(),
            group_id: String::new(),
            producer_id: 0,
            producer_epoch: 0,
            generation_id_or_member_epoch: -1,
            member_id: String::new(),
            group_instance_id: None,
            topics: Vec::new(),
        }
    }
}

impl Message for TxnOffsetCommitRequest {
    const NAME: &'static str = "TxnOffsetCommitRequest";
    const API_KEY: Option<i16> = Some(28);
    const VERSIONS: VersionRange = VersionRange::new(0, 6);
    const FLEXIBLE_FROM: Option<i16> = Some(3);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 3;
        let transactional_id = r.string(flexible)?;
        let group_id = r.string(flexible)?;
        let producer_id = r.i64()?;
        let producer_epoch = r.i16()?;
        let generation_id_or_member_epoch = if v >= 3 { r.i32()? } else { -1 };
        let member_id = if v >= 3 { r.string(flexible)? } else { String::new() };
        let group_instance_id = if v >= 3 { r.nullable_string(flexible)? } else { None };
        let topics = r.array(flexible, |r| TxnOffsetCommitRequestTopic::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self {
            transactional_id,
            group_id,
            producer_id,
            producer_epoch,
            generation_id_or_member_epoch,
            member_id,
            group_instance_id,
            topics,
        })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 3;
        w.string(&self.transactional_id, flexible)?;
        w.string(&self.group_id, flexible)?;
        w.i64(self.producer_id);
        w.i16(self.producer_epoch);
        if v >= 3 {
            w.i32(self.generation_id_or_member_epoch);
        } else if self.generation_id_or_member_epoch != -1 {
            return Err(EncodeError::FieldNotInVersion {
                message: "TxnOffsetCommitRequest",
                field: "GenerationIdOrMemberEpoch",
                version: v,
            });
        }
        if v >= 3 {
            w.string(&self.member_id, flexible)?;
        } else if !self.member_id.is_empty() {
            return Err(EncodeError::FieldNotInVersion {
                message: "TxnOffsetCommitRequest",
                field: "MemberId",
                version: v,
            });
        }
        if v >= 3 {
            w.nullable_string(self.group_instance_id.as_deref(), flexible)?;
        } else if self.group_instance_id.is_some() {
            return Err(EncodeError::FieldNotInVersion {
                message: "TxnOffsetCommitRequest",
                field: "GroupInstanceId",
                version: v,
            });
        }
        w.array(&self.topics, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `TxnOffsetCommitRequestTopic` in `TxnOffsetCommitRequest`, versions 0-6.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct TxnOffsetCommitRequestTopic {
    /// `Name`: string, versions 0-5, dropped by versions without it.
    pub name: String,
    /// `TopicId`: uuid, versions 6+, dropped by versions without it.
    pub topic_id: Uuid,
    /// `Partitions`: []TxnOffsetCommitRequestPartition, versions 0+.
    pub partitions: Vec<TxnOffsetCommitRequestPartition>,
}

impl TxnOffsetCommitRequestTopic {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 3;
        let name = if v <= 5 { r.string(flexible)? } else { String::new() };
        let topic_id = if v == 6 { r.uuid()? } else { Uuid::ZERO };
        let partitions = r.array(flexible, |r| TxnOffsetCommitRequestPartition::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { name, topic_id, partitions })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 3;
        if v <= 5 {
            w.string(&self.name, flexible)?;
        }
        if v == 6 {
            w.uuid(self.topic_id);
        }
        w.array(&self.partitions, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `TxnOffsetCommitRequestPartition` in `TxnOffsetCommitRequest`, versions 0-6.
#[derive(Clone, Debug, PartialEq)]
pub struct TxnOffsetCommitRequestPartition {
    /// `PartitionIndex`: int32, versions 0+.
    pub partition_index: i32,
    /// `CommittedOffset`: int64, versions 0+.
    pub committed_offset: i64,
    /// `CommittedLeaderEpoch`: int32, versions 2+, default -1, dropped by versions without it.
    pub committed_leader_epoch: i32,
    /// `CommittedMetadata`: string, versions 0+, nullable in 0+.
    pub committed_metadata: Option<String>,
}

impl Default for TxnOffsetCommitRequestPartition {
    fn default() -> Self {
        Self {
            partition_index: 0,
            committed_offset: 0,
            committed_leader_epoch: -1,
            committed_metadata: Some(String::new()),
        }
    }
}

impl TxnOffsetCommitRequestPartition {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 3;
        let partition_index = r.i32()?;
        let committed_offset = r.i64()?;
        let committed_leader_epoch = if v >= 2 { r.i32()? } else { -1 };
        let committed_metadata = r.nullable_string(flexible)?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { partition_index, committed_offset, committed_leader_epoch, committed_metadata })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 3;
        w.i32(self.partition_index);
        w.i64(self.committed_offset);
        if v >= 2 {
            w.i32(self.committed_leader_epoch);
        }
        w.nullable_string(self.committed_metadata.as_deref(), flexible)?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

impl Request for TxnOffsetCommitRequest {
    const KEY: ApiKey = ApiKey::TxnOffsetCommit;
    type Response = super::TxnOffsetCommitResponse;
}
