//! `ListOffsetsRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/ListOffsetsRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `ListOffsetsRequest`: request, key 2, versions 1-11, flexible 6+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ListOffsetsRequest {
    /// `ReplicaId`: int32, versions 0+.
    pub replica_id: i32,
    /// `IsolationLevel`: int8, versions 2+.
    pub isolation_level: i8,
    /// `Topics`: []ListOffsetsTopic, versions 0+.
    pub topics: Vec<ListOffsetsTopic>,
    /// `TimeoutMs`: int32, versions 10+, dropped by versions without it.
    pub timeout_ms: i32,
}

impl Message for ListOffsetsRequest {
    const NAME: &'static str = "ListOffsetsRequest";
    const API_KEY: Option<i16> = Some(2);
    const VERSIONS: VersionRange = VersionRange::new(1, 11);
    const FLEXIBLE_FROM: Option<i16> = Some(6);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 6;
        let replica_id = r.i32()?;
        let isolation_level = if v >= 2 { r.i8()? } else { 0 };
        let topics = r.array(flexible, |r| ListOffsetsTopic::decode(r, v))?;
        let timeout_ms = if v >= 10 { r.i32()? } else { 0 };
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { replica_id, isolation_level, topics, timeout_ms })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 6;
        w.i32(self.replica_id);
        if v >= 2 {
            w.i8(self.isolation_level);
        } else if self.isolation_level != 0 {
            return Err(EncodeError::FieldNotInVersion {
                message: "ListOffsetsRequest",
                field: "IsolationLevel",
                version: v,
            });
        }
        w.array(&self.topics, flexible, |w, it| it.encode(w, v))?;
        if v >= 10 {
            w.i32(self.timeout_ms);
        }
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `ListOffsetsTopic` in `ListOffsetsRequest`, versions 1-11.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ListOffsetsTopic {
    /// `Name`: string, versions 0+.
    pub name: String,
    /// `Partitions`: []ListOffsetsPartition, versions 0+.
    pub partitions: Vec<ListOffsetsPartition>,
}

impl ListOffsetsTopic {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 6;
        let name = r.string(flexible)?;
        let partitions = r.array(flexible, |r| ListOffsetsPartition::decode(r, v))?;
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

/// `ListOffsetsPartition` in `ListOffsetsRequest`, versions 1-11.
#[derive(Clone, Debug, PartialEq)]
pub struct ListOffsetsPartition {
    /// `PartitionIndex`: int32, versions 0+.
    pub partition_index: i32,
    /// `CurrentLeaderEpoch`: int32, versions 4+, default -1, dropped by versions without it.
    pub current_leader_epoch: i32,
    /// `Timestamp`: int64, versions 0+.
    pub timestamp: i64,
}

impl Default for ListOffsetsPartition {
    fn default() -> Self {
        Self { partition_index: 0, current_leader_epoch: -1, timestamp: 0 }
    }
}

impl ListOffsetsPartition {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 6;
        let partition_index = r.i32()?;
        let current_leader_epoch = if v >= 4 { r.i32()? } else { -1 };
        let timestamp = r.i64()?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { partition_index, current_leader_epoch, timestamp })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 6;
        w.i32(self.partition_index);
        if v >= 4 {
            w.i32(self.current_leader_epoch);
        }
        w.i64(self.timestamp);
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

impl Request for ListOffsetsRequest {
    const KEY: ApiKey = ApiKey::ListOffsets;
    type Response = super::ListOffsetsResponse;
}
