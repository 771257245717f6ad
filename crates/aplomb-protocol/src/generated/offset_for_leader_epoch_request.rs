//! `OffsetForLeaderEpochRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/OffsetForLeaderEpochRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `OffsetForLeaderEpochRequest`: request, key 23, versions 2-4, flexible 4+.
#[derive(Clone, Debug, PartialEq)]
pub struct OffsetForLeaderEpochRequest {
    /// `ReplicaId`: int32, versions 3+, default -2, dropped by versions without it.
    pub replica_id: i32,
    /// `Topics`: []OffsetForLeaderTopic, versions 0+.
    pub topics: Vec<OffsetForLeaderTopic>,
}

impl Default for OffsetForLeaderEpochRequest {
    fn default() -> Self {
        Self { replica_id: -2, topics: Vec::new() }
    }
}

impl Message for OffsetForLeaderEpochRequest {
    const NAME: &'static str = "OffsetForLeaderEpochRequest";
    const API_KEY: Option<i16> = Some(23);
    const VERSIONS: VersionRange = VersionRange::new(2, 4);
    const FLEXIBLE_FROM: Option<i16> = Some(4);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 4;
        let replica_id = if v >= 3 { r.i32()? } else { -2 };
        let topics = r.array(flexible, |r| OffsetForLeaderTopic::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { replica_id, topics })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 4;
        if v >= 3 {
            w.i32(self.replica_id);
        }
        w.array(&self.topics, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `OffsetForLeaderTopic` in `OffsetForLeaderEpochRequest`, versions 2-4.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct OffsetForLeaderTopic {
    /// `Topic`: string, versions 0+.
    pub topic: String,
    /// `Partitions`: []OffsetForLeaderPartition, versions 0+.
    pub partitions: Vec<OffsetForLeaderPartition>,
}

impl OffsetForLeaderTopic {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v == 4;
        let topic = r.string(flexible)?;
        let partitions = r.array(flexible, |r| OffsetForLeaderPartition::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { topic, partitions })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v == 4;
        w.string(&self.topic, flexible)?;
        w.array(&self.partitions, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `OffsetForLeaderPartition` in `OffsetForLeaderEpochRequest`, versions 2-4.
#[derive(Clone, Debug, PartialEq)]
pub struct OffsetForLeaderPartition {
    /// `Partition`: int32, versions 0+.
    pub partition: i32,
    /// `CurrentLeaderEpoch`: int32, versions 2+, default -1, dropped by versions without it.
    pub current_leader_epoch: i32,
    /// `LeaderEpoch`: int32, versions 0+.
    pub leader_epoch: i32,
}

impl Default for OffsetForLeaderPartition {
    fn default() -> Self {
        Self { partition: 0, current_leader_epoch: -1, leader_epoch: 0 }
    }
}

impl OffsetForLeaderPartition {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v == 4;
        let partition = r.i32()?;
        let current_leader_epoch = r.i32()?;
        let leader_epoch = r.i32()?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { partition, current_leader_epoch, leader_epoch })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v == 4;
        w.i32(self.partition);
        w.i32(self.current_leader_epoch);
        w.i32(self.leader_epoch);
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

impl Request for OffsetForLeaderEpochRequest {
    const KEY: ApiKey = ApiKey::OffsetForLeaderEpoch;
    type Response = super::OffsetForLeaderEpochResponse;
}
