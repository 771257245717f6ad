//! `FetchResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/FetchResponse.schema`; not edited by hand.

use aplomb_model::Uuid;
use bytes::Bytes;

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `FetchResponse`: response, key 1, versions 4-18, flexible 12+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct FetchResponse {
    /// `ThrottleTimeMs`: int32, versions 1+, dropped by versions without it.
    pub throttle_time_ms: i32,
    /// `ErrorCode`: int16, versions 7+, dropped by versions without it.
    pub error_code: i16,
    /// `SessionId`: int32, versions 7+, default 0.
    pub session_id: i32,
    /// `Responses`: []FetchableTopicResponse, versions 0+.
    pub responses: Vec<FetchableTopicResponse>,
    /// `NodeEndpoints`: []NodeEndpoint, versions 16+, tag 0 in 16+.
    pub node_endpoints: Vec<NodeEndpoint>,
}

impl Message for FetchResponse {
    const NAME: &'static str = "FetchResponse";
    const API_KEY: Option<i16> = Some(1);
    const VERSIONS: VersionRange = VersionRange::new(4, 18);
    const FLEXIBLE_FROM: Option<i16> = Some(12);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 12;
        let throttle_time_ms = r.i32()?;
        let error_code = if v >= 7 { r.i16()? } else { 0 };
        let session_id = if v >= 7 { r.i32()? } else { 0 };
        let responses = r.array(flexible, |r| FetchableTopicResponse::decode(r, v))?;
        let mut node_endpoints = Vec::new();
        if flexible {
            for _ in 0..r.tag_count()? {
                let (tag, outer) = r.enter_tag()?;
                match tag {
                    0 if v >= 16 => node_endpoints = r.array(true, |r| NodeEndpoint::decode(r, v))?,
                    _ => r.skip_tag(),
                }
                r.leave_tag(outer)?;
            }
        }
        Ok(Self { throttle_time_ms, error_code, session_id, responses, node_endpoints })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 12;
        w.throttle_time(self.throttle_time_ms);
        if v >= 7 {
            w.error_code(self.error_code);
        }
        if v >= 7 {
            w.i32(self.session_id);
        } else if self.session_id != 0 {
            return Err(EncodeError::FieldNotInVersion {
                message: "FetchResponse",
                field: "SessionId",
                version: v,
            });
        }
        w.array(&self.responses, flexible, |w, it| it.encode(w, v))?;
        if v < 16 && !self.node_endpoints.is_empty() {
            return Err(EncodeError::FieldNotInVersion {
                message: "FetchResponse",
                field: "NodeEndpoints",
                version: v,
            });
        }
        if flexible {
            let mut tags = w.open_tags();
            if v >= 16 && !self.node_endpoints.is_empty() {
                w.tagged(&mut tags, 0, |w| w.array(&self.node_endpoints, true, |w, it| it.encode(w, v)))?;
            }
        }
        Ok(())
    }
}

/// `FetchableTopicResponse` in `FetchResponse`, versions 4-18.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct FetchableTopicResponse {
    /// `Topic`: string, versions 0-12, dropped by versions without it.
    pub topic: String,
    /// `TopicId`: uuid, versions 13+, dropped by versions without it.
    pub topic_id: Uuid,
    /// `Partitions`: []PartitionData, versions 0+.
    pub partitions: Vec<PartitionData>,
}

impl FetchableTopicResponse {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 12;
        let topic = if v <= 12 { r.string(flexible)? } else { String::new() };
        let topic_id = if v >= 13 { r.uuid()? } else { Uuid::ZERO };
        let partitions = r.array(flexible, |r| PartitionData::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { topic, topic_id, partitions })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 12;
        if v <= 12 {
            w.string(&self.topic, flexible)?;
        }
        if v >= 13 {
            w.uuid(self.topic_id);
        }
        w.array(&self.partitions, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `PartitionData` in `FetchResponse`, versions 4-18.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionData {
    /// `PartitionIndex`: int32, versions 0+.
    pub partition_index: i32,
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `HighWatermark`: int64, versions 0+.
    pub high_watermark: i64,
    /// `LastStableOffset`: int64, versions 4+, default -1, dropped by versions without it.
    pub last_stable_offset: i64,
    /// `LogStartOffset`: int64, versions 5+, default -1, dropped by versions without it.
    pub log_start_offset: i64,
    /// `DivergingEpoch`: EpochEndOffset, versions 12+, tag 0 in 12+.
    pub diverging_epoch: EpochEndOffset,
    /// `CurrentLeader`: LeaderIdAndEpoch, versions 12+, tag 1 in 12+.
    pub current_leader: LeaderIdAndEpoch,
    /// `SnapshotId`: SnapshotId, versions 12+, tag 2 in 12+.
    pub snapshot_id: SnapshotId,
    /// `AbortedTransactions`: []AbortedTransaction, versions 4+, nullable in 4+, dropped by versions without it.
    pub aborted_transactions: Option<Vec<AbortedTransaction>>,
    /// `PreferredReadReplica`: int32, versions 11+, default -1.
    pub preferred_read_replica: i32,
    /// `Records`: records, versions 0+, nullable in 0+.
    pub records: Option<Bytes>,
}

impl Default for PartitionData {
    fn default() -> Self {
        Self {
            partition_index: 0,
            error_code: 0,
            high_watermark: 0,
            last_stable_offset: -1,
            log_start_offset: -1,
            diverging_epoch: EpochEndOffset::default(),
            current_leader: LeaderIdAndEpoch::default(),
            snapshot_id: SnapshotId::default(),
            aborted_transactions: Some(Vec::new()),
            preferred_read_replica: -1,
            records: None,
        }
    }
}

impl PartitionData {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 12;
        let partition_index = r.i32()?;
        let error_code = r.i16()?;
        let high_watermark = r.i64()?;
        let last_stable_offset = r.i64()?;
        let log_start_offset = if v >= 5 { r.i64()? } else { -1 };
        let mut diverging_epoch = EpochEndOffset::default();
        let mut current_leader = LeaderIdAndEpoch::default();
        let mut snapshot_id = SnapshotId::default();
        let aborted_transactions = r.nullable_array(flexible, |r| AbortedTransaction::decode(r, v))?;
        let preferred_read_replica = if v >= 11 { r.i32()? } else { -1 };
        let records = r.nullable_bytes(flexible)?;
        if flexible {
            for _ in 0..r.tag_count()? {
                let (tag, outer) = r.enter_tag()?;
                match tag {
                    0 => diverging_epoch = EpochEndOffset::decode(r, v)?,
                    1 => current_leader = LeaderIdAndEpoch::decode(r, v)?,
                    2 => snapshot_id = SnapshotId::decode(r, v)?,
                    _ => r.skip_tag(),
                }
                r.leave_tag(outer)?;
            }
        }
        Ok(Self {
            partition_index,
            error_code,
            high_watermark,
            last_stable_offset,
            log_start_offset,
            diverging_epoch,
            current_leader,
            snapshot_id,
            aborted_transactions,
            preferred_read_replica,
            records,
        })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 12;
        w.i32(self.partition_index);
        w.error_code(self.error_code);
        w.i64(self.high_watermark);
        w.i64(self.last_stable_offset);
        if v >= 5 {
            w.i64(self.log_start_offset);
        }
        w.nullable_array(self.aborted_transactions.as_deref(), flexible, |w, it| it.encode(w, v))?;
        if v >= 11 {
            w.i32(self.preferred_read_replica);
        } else if self.preferred_read_replica != -1 {
            return Err(EncodeError::FieldNotInVersion {
                message: "PartitionData",
                field: "PreferredReadReplica",
                version: v,
            });
        }
        w.nullable_bytes(self.records.as_deref(), flexible)?;
        if v < 12 && self.diverging_epoch != EpochEndOffset::default() {
            return Err(EncodeError::FieldNotInVersion {
                message: "PartitionData",
                field: "DivergingEpoch",
                version: v,
            });
        }
        if v < 12 && self.current_leader != LeaderIdAndEpoch::default() {
            return Err(EncodeError::FieldNotInVersion {
                message: "PartitionData",
                field: "CurrentLeader",
                version: v,
            });
        }
        if v < 12 && self.snapshot_id != SnapshotId::default() {
            return Err(EncodeError::FieldNotInVersion {
                message: "PartitionData",
                field: "SnapshotId",
                version: v,
            });
        }
        if flexible {
            let mut tags = w.open_tags();
            if self.diverging_epoch != EpochEndOffset::default() {
                w.tagged(&mut tags, 0, |w| self.diverging_epoch.encode(w, v))?;
            }
            if self.current_leader != LeaderIdAndEpoch::default() {
                w.tagged(&mut tags, 1, |w| self.current_leader.encode(w, v))?;
            }
            if self.snapshot_id != SnapshotId::default() {
                w.tagged(&mut tags, 2, |w| self.snapshot_id.encode(w, v))?;
            }
        }
        Ok(())
    }
}

/// `EpochEndOffset` in `FetchResponse`, versions 12-18.
#[derive(Clone, Debug, PartialEq)]
pub struct EpochEndOffset {
    /// `Epoch`: int32, versions 12+, default -1.
    pub epoch: i32,
    /// `EndOffset`: int64, versions 12+, default -1.
    pub end_offset: i64,
}

impl Default for EpochEndOffset {
    fn default() -> Self {
        Self { epoch: -1, end_offset: -1 }
    }
}

impl EpochEndOffset {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let epoch = r.i32()?;
        let end_offset = r.i64()?;
        r.skip_tags()?;
        Ok(Self { epoch, end_offset })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.i32(self.epoch);
        w.i64(self.end_offset);
        w.no_tags();
        Ok(())
    }
}

/// `LeaderIdAndEpoch` in `FetchResponse`, versions 12-18.
#[derive(Clone, Debug, PartialEq)]
pub struct LeaderIdAndEpoch {
    /// `LeaderId`: int32, versions 12+, default -1.
    pub leader_id: i32,
    /// `LeaderEpoch`: int32, versions 12+, default -1.
    pub leader_epoch: i32,
}

impl Default for LeaderIdAndEpoch {
    fn default() -> Self {
        Self { leader_id: -1, leader_epoch: -1 }
    }
}

impl LeaderIdAndEpoch {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let leader_id = r.i32()?;
        let leader_epoch = r.i32()?;
        r.skip_tags()?;
        Ok(Self { leader_id, leader_epoch })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.i32(self.leader_id);
        w.i32(self.leader_epoch);
        w.no_tags();
        Ok(())
    }
}

/// `SnapshotId` in `FetchResponse`, versions 12-18.
#[derive(Clone, Debug, PartialEq)]
pub struct SnapshotId {
    /// `EndOffset`: int64, versions 0+, default -1.
    pub end_offset: i64,
    /// `Epoch`: int32, versions 0+, default -1.
    pub epoch: i32,
}

impl Default for SnapshotId {
    fn default() -> Self {
        Self { end_offset: -1, epoch: -1 }
    }
}

impl SnapshotId {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let end_offset = r.i64()?;
        let epoch = r.i32()?;
        r.skip_tags()?;
        Ok(Self { end_offset, epoch })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.i64(self.end_offset);
        w.i32(self.epoch);
        w.no_tags();
        Ok(())
    }
}

/// `AbortedTransaction` in `FetchResponse`, versions 4-18.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct AbortedTransaction {
    /// `ProducerId`: int64, versions 4+.
    pub producer_id: i64,
    /// `FirstOffset`: int64, versions 4+.
    pub first_offset: i64,
}

impl AbortedTransaction {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 12;
        let producer_id = r.i64()?;
        let first_offset = r.i64()?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { producer_id, first_offset })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 12;
        w.i64(self.producer_id);
        w.i64(self.first_offset);
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `NodeEndpoint` in `FetchResponse`, versions 16-18.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct NodeEndpoint {
    /// `NodeId`: int32, versions 16+.
    pub node_id: i32,
    /// `Host`: string, versions 16+.
    pub host: String,
    /// `Port`: int32, versions 16+.
    pub port: i32,
    /// `Rack`: string, versions 16+, nullable in 16+, default null.
    pub rack: Option<String>,
}

impl NodeEndpoint {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let node_id = r.i32()?;
        let host = r.string(true)?;
        let port = r.i32()?;
        let rack = r.nullable_string(true)?;
        r.skip_tags()?;
        Ok(Self { node_id, host, port, rack })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.i32(self.node_id);
        w.string(&self.host, true)?;
        w.i32(self.port);
        w.nullable_string(self.rack.as_deref(), true)?;
        w.no_tags();
        Ok(())
    }
}
