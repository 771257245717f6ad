//! `FetchRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/FetchRequest.schema`; not edited by hand.

use aplomb_model::Uuid;

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `FetchRequest`: request, key 1, versions 4-18, flexible 12+.
#[derive(Clone, Debug, PartialEq)]
pub struct FetchRequest {
    /// `ClusterId`: string, versions 12+, nullable in 12+, tag 0 in 12+, default null, dropped by versions without it.
    pub cluster_id: Option<String>,
    /// `ReplicaId`: int32, versions 0-14, default -1.
    pub replica_id: i32,
    /// `ReplicaState`: ReplicaState, versions 15+, tag 1 in 15+.
    pub replica_state: ReplicaState,
    /// `MaxWaitMs`: int32, versions 0+.
    pub max_wait_ms: i32,
    /// `MinBytes`: int32, versions 0+.
    pub min_bytes: i32,
    /// `MaxBytes`: int32, versions 3+, default 0x7fffffff, dropped by versions without it.
    pub max_bytes: i32,
    /// `IsolationLevel`: int8, versions 4+, default 0, dropped by versions without it.
    pub isolation_level: i8,
    /// `SessionId`: int32, versions 7+, default 0, dropped by versions without it.
    pub session_id: i32,
    /// `SessionEpoch`: int32, versions 7+, default -1, dropped by versions without it.
    pub session_epoch: i32,
    /// `Topics`: []FetchTopic, versions 0+.
    pub topics: Vec<FetchTopic>,
    /// `ForgottenTopicsData`: []ForgottenTopic, versions 7+.
    pub forgotten_topics_data: Vec<ForgottenTopic>,
    /// `RackId`: string, versions 11+, dropped by versions without it.
    pub rack_id: String,
}

impl Default for FetchRequest {
    fn default() -> Self {
        Self {
            cluster_id: None,
            replica_id: -1,
            replica_state: ReplicaState::default(),
            max_wait_ms: 0,
            min_bytes: 0,
            max_bytes: 2_147_483_647,
            isolation_level: 0,
            session_id: 0,
            session_epoch: -1,
            topics: Vec::new(),
            forgotten_topics_data: Vec::new(),
            rack_id: String::new(),
        }
    }
}

impl Message for FetchRequest {
    const NAME: &'static str = "FetchRequest";
    const API_KEY: Option<i16> = Some(1);
    const VERSIONS: VersionRange = VersionRange::new(4, 18);
    const FLEXIBLE_FROM: Option<i16> = Some(12);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 12;
        let mut cluster_id = None;
        let replica_id = if v <= 14 { r.i32()? } else { -1 };
        let mut replica_state = ReplicaState::default();
        let max_wait_ms = r.i32()?;
        let min_bytes = r.i32()?;
        let max_bytes = r.i32()?;
        let isolation_level = r.i8()?;
        let session_id = if v >= 7 { r.i32()? } else { 0 };
        let session_epoch = if v >= 7 { r.i32()? } else { -1 };
        let topics = r.array(flexible, |r| FetchTopic::decode(r, v))?;
        let forgotten_topics_data =
            if v >= 7 { r.array(flexible, |r| ForgottenTopic::decode(r, v))? } else { Vec::new() };
        let rack_id = if v >= 11 { r.string(flexible)? } else { String::new() };
        if flexible {
            for _ in 0..r.tag_count()? {
                let (tag, outer) = r.enter_tag()?;
                match tag {
                    0 => cluster_id = r.nullable_string(true)?,
                    1 if v >= 15 => replica_state = ReplicaState::decode(r, v)?,
                    _ => r.skip_tag(),
                }
                r.leave_tag(outer)?;
            }
        }
        Ok(Self {
            cluster_id,
            replica_id,
            replica_state,
            max_wait_ms,
            min_bytes,
            max_bytes,
            isolation_level,
            session_id,
            session_epoch,
            topics,
            forgotten_topics_data,
            rack_id,
        })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 12;
        if v <= 14 {
            w.i32(self.replica_id);
        } else if self.replica_id != -1 {
            return Err(EncodeError::FieldNotInVersion {
                message: "FetchRequest",
                field: "ReplicaId",
                version: v,
            });
        }
        w.i32(self.max_wait_ms);
        w.i32(self.min_bytes);
        w.i32(self.max_bytes);
        w.i8(self.isolation_level);
        if v >= 7 {
            w.i32(self.session_id);
        }
        if v >= 7 {
            w.i32(self.session_epoch);
        }
        w.array(&self.topics, flexible, |w, it| it.encode(w, v))?;
        if v >= 7 {
            w.array(&self.forgotten_topics_data, flexible, |w, it| it.encode(w, v))?;
        } else if !self.forgotten_topics_data.is_empty() {
            return Err(EncodeError::FieldNotInVersion {
                message: "FetchRequest",
                field: "ForgottenTopicsData",
                version: v,
            });
        }
        if v >= 11 {
            w.string(&self.rack_id, flexible)?;
        }
        if v < 15 && self.replica_state != ReplicaState::default() {
            return Err(EncodeError::FieldNotInVersion {
                message: "FetchRequest",
                field: "ReplicaState",
                version: v,
            });
        }
        if flexible {
            let mut tags = w.open_tags();
            if self.cluster_id.is_some() {
                w.tagged(&mut tags, 0, |w| w.nullable_string(self.cluster_id.as_deref(), true))?;
            }
            if v >= 15 && self.replica_state != ReplicaState::default() {
                w.tagged(&mut tags, 1, |w| self.replica_state.encode(w, v))?;
            }
        }
        Ok(())
    }
}

/// `ReplicaState` in `FetchRequest`, versions 15-18.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplicaState {
    /// `ReplicaId`: int32, versions 15+, default -1.
    pub replica_id: i32,
    /// `ReplicaEpoch`: int64, versions 15+, default -1.
    pub replica_epoch: i64,
}

impl Default for ReplicaState {
    fn default() -> Self {
        Self { replica_id: -1, replica_epoch: -1 }
    }
}

impl ReplicaState {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let replica_id = r.i32()?;
        let replica_epoch = r.i64()?;
        r.skip_tags()?;
        Ok(Self { replica_id, replica_epoch })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.i32(self.replica_id);
        w.i64(self.replica_epoch);
        w.no_tags();
        Ok(())
    }
}

/// `FetchTopic` in `FetchRequest`, versions 4-18.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct FetchTopic {
    /// `Topic`: string, versions 0-12, dropped by versions without it.
    pub topic: String,
    /// `TopicId`: uuid, versions 13+, dropped by versions without it.
    pub topic_id: Uuid,
    /// `Partitions`: []FetchPartition, versions 0+.
    pub partitions: Vec<FetchPartition>,
}

impl FetchTopic {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 12;
        let topic = if v <= 12 { r.string(flexible)? } else { String::new() };
        let topic_id = if v >= 13 { r.uuid()? } else { Uuid::ZERO };
        let partitions = r.array(flexible, |r| FetchPartition::decode(r, v))?;
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

/// `FetchPartition` in `FetchRequest`, versions 4-18.
#[derive(Clone, Debug, PartialEq)]
pub struct FetchPartition {
    /// `Partition`: int32, versions 0+.
    pub partition: i32,
    /// `CurrentLeaderEpoch`: int32, versions 9+, default -1, dropped by versions without it.
    pub current_leader_epoch: i32,
    /// `FetchOffset`: int64, versions 0+.
    pub fetch_offset: i64,
    /// `LastFetchedEpoch`: int32, versions 12+, default -1.
    pub last_fetched_epoch: i32,
    /// `LogStartOffset`: int64, versions 5+, default -1, dropped by versions without it.
    pub log_start_offset: i64,
    /// `PartitionMaxBytes`: int32, versions 0+.
    pub partition_max_bytes: i32,
    /// `ReplicaDirectoryId`: uuid, versions 17+, tag 0 in 17+, dropped by versions without it.
    pub replica_directory_id: Uuid,
    /// `HighWatermark`: int64, versions 18+, tag 1 in 18+, default 9223372036854775807, dropped by versions without it.
    pub high_watermark: i64,
}

impl Default for FetchPartition {
    fn default() -> Self {
        Self {
            partition: 0,
            current_leader_epoch: -1,
            fetch_offset: 0,
            last_fetched_epoch: -1,
            log_start_offset: -1,
            partition_max_bytes: 0,
            replica_directory_id: Uuid::ZERO,
            high_watermark: 9_223_372_036_854_775_807,
        }
    }
}

impl FetchPartition {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 12;
        let partition = r.i32()?;
        let current_leader_epoch = if v >= 9 { r.i32()? } else { -1 };
        let fetch_offset = r.i64()?;
        let last_fetched_epoch = if v >= 12 { r.i32()? } else { -1 };
        let log_start_offset = if v >= 5 { r.i64()? } else { -1 };
        let partition_max_bytes = r.i32()?;
        let mut replica_directory_id = Uuid::ZERO;
        let mut high_watermark = 9_223_372_036_854_775_807;
        if flexible {
            for _ in 0..r.tag_count()? {
                let (tag, outer) = r.enter_tag()?;
                match tag {
                    0 if v >= 17 => replica_directory_id = r.uuid()?,
                    1 if v == 18 => high_watermark = r.i64()?,
                    _ => r.skip_tag(),
                }
                r.leave_tag(outer)?;
            }
        }
        Ok(Self {
            partition,
            current_leader_epoch,
            fetch_offset,
            last_fetched_epoch,
            log_start_offset,
            partition_max_bytes,
            replica_directory_id,
            high_watermark,
        })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 12;
        w.i32(self.partition);
        if v >= 9 {
            w.i32(self.current_leader_epoch);
        }
        w.i64(self.fetch_offset);
        if v >= 12 {
            w.i32(self.last_fetched_epoch);
        } else if self.last_fetched_epoch != -1 {
            return Err(EncodeError::FieldNotInVersion {
                message: "FetchPartition",
                field: "LastFetchedEpoch",
                version: v,
            });
        }
        if v >= 5 {
            w.i64(self.log_start_offset);
        }
        w.i32(self.partition_max_bytes);
        if flexible {
            let mut tags = w.open_tags();
            if v >= 17 && self.replica_directory_id != Uuid::ZERO {
                w.tagged(&mut tags, 0, |w| {
                    w.uuid(self.replica_directory_id);
                    Ok(())
                })?;
            }
            if v == 18 && self.high_watermark != 9_223_372_036_854_775_807 {
                w.tagged(&mut tags, 1, |w| {
                    w.i64(self.high_watermark);
                    Ok(())
                })?;
            }
        }
        Ok(())
    }
}

/// `ForgottenTopic` in `FetchRequest`, versions 7-18.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ForgottenTopic {
    /// `Topic`: string, versions 7-12, dropped by versions without it.
    pub topic: String,
    /// `TopicId`: uuid, versions 13+, dropped by versions without it.
    pub topic_id: Uuid,
    /// `Partitions`: []int32, versions 7+.
    pub partitions: Vec<i32>,
}

impl ForgottenTopic {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 12;
        let topic = if v <= 12 { r.string(flexible)? } else { String::new() };
        let topic_id = if v >= 13 { r.uuid()? } else { Uuid::ZERO };
        let partitions = r.array(flexible, Reader::i32)?;
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
        w.array(&self.partitions, flexible, |w, it| {
            w.i32(*it);
            Ok(())
        })?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

impl Request for FetchRequest {
    const KEY: ApiKey = ApiKey::Fetch;
    type Response = super::FetchResponse;
}
