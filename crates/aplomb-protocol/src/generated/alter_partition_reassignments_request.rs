//! `AlterPartitionReassignmentsRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/AlterPartitionReassignmentsRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `AlterPartitionReassignmentsRequest`: request, key 45, versions 0-1, flexible 0+.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterPartitionReassignmentsRequest {
    /// `TimeoutMs`: int32, versions 0+, default 60000.
    pub timeout_ms: i32,
    /// `AllowReplicationFactorChange`: bool, versions 1+, default true.
    pub allow_replication_factor_change: bool,
    /// `Topics`: []ReassignableTopic, versions 0+.
    pub topics: Vec<ReassignableTopic>,
}

impl Default for AlterPartitionReassignmentsRequest {
    fn default() -> Self {
        Self { timeout_ms: 60_000, allow_replication_factor_change: true, topics: Vec::new() }
    }
}

impl Message for AlterPartitionReassignmentsRequest {
    const NAME: &'static str = "AlterPartitionReassignmentsRequest";
    const API_KEY: Option<i16> = Some(45);
    const VERSIONS: VersionRange = VersionRange::new(0, 1);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let timeout_ms = r.i32()?;
        let allow_replication_factor_change = if v == 1 { r.bool()? } else { true };
        let topics = r.array(true, |r| ReassignableTopic::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self { timeout_ms, allow_replication_factor_change, topics })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.i32(self.timeout_ms);
        if v == 1 {
            w.bool(self.allow_replication_factor_change);
        } else if !self.allow_replication_factor_change {
            return Err(EncodeError::FieldNotInVersion {
                message: "AlterPartitionReassignmentsRequest",
                field: "AllowReplicationFactorChange",
                version: v,
            });
        }
        w.array(&self.topics, true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `ReassignableTopic` in `AlterPartitionReassignmentsRequest`, versions 0-1.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ReassignableTopic {
    /// `Name`: string, versions 0+.
    pub name: String,
    /// `Partitions`: []ReassignablePartition, versions 0+.
    pub partitions: Vec<ReassignablePartition>,
}

impl ReassignableTopic {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let name = r.string(true)?;
        let partitions = r.array(true, |r| ReassignablePartition::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self { name, partitions })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        w.string(&self.name, true)?;
        w.array(&self.partitions, true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `ReassignablePartition` in `AlterPartitionReassignmentsRequest`, versions 0-1.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ReassignablePartition {
    /// `PartitionIndex`: int32, versions 0+.
    pub partition_index: i32,
    /// `Replicas`: []int32, versions 0+, nullable in 0+, default null.
    pub replicas: Option<Vec<i32>>,
}

impl ReassignablePartition {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let partition_index = r.i32()?;
        let replicas = r.nullable_array(true, Reader::i32)?;
        r.skip_tags()?;
        Ok(Self { partition_index, replicas })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.i32(self.partition_index);
        w.nullable_array(self.replicas.as_deref(), true, |w, it| {
            w.i32(*it);
            Ok(())
        })?;
        w.no_tags();
        Ok(())
    }
}

impl Request for AlterPartitionReassignmentsRequest {
    const KEY: ApiKey = ApiKey::AlterPartitionReassignments;
    type Response = super::AlterPartitionReassignmentsResponse;
}
