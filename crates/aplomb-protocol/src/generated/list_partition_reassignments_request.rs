//! `ListPartitionReassignmentsRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/ListPartitionReassignmentsRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `ListPartitionReassignmentsRequest`: request, key 46, versions 0, flexible 0+.
#[derive(Clone, Debug, PartialEq)]
pub struct ListPartitionReassignmentsRequest {
    /// `TimeoutMs`: int32, versions 0+, default 60000.
    pub timeout_ms: i32,
    /// `Topics`: []ListPartitionReassignmentsTopics, versions 0+, nullable in 0+, default null.
    pub topics: Option<Vec<ListPartitionReassignmentsTopics>>,
}

impl Default for ListPartitionReassignmentsRequest {
    fn default() -> Self {
        Self { timeout_ms: 60_000, topics: None }
    }
}

impl Message for ListPartitionReassignmentsRequest {
    const NAME: &'static str = "ListPartitionReassignmentsRequest";
    const API_KEY: Option<i16> = Some(46);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let timeout_ms = r.i32()?;
        let topics = r.nullable_array(true, |r| ListPartitionReassignmentsTopics::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self { timeout_ms, topics })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.i32(self.timeout_ms);
        w.nullable_array(self.topics.as_deref(), true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `ListPartitionReassignmentsTopics` in `ListPartitionReassignmentsRequest`, versions 0.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ListPartitionReassignmentsTopics {
    /// `Name`: string, versions 0+.
    pub name: String,
    /// `PartitionIndexes`: []int32, versions 0+.
    pub partition_indexes: Vec<i32>,
}

impl ListPartitionReassignmentsTopics {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let name = r.string(true)?;
        let partition_indexes = r.array(true, Reader::i32)?;
        r.skip_tags()?;
        Ok(Self { name, partition_indexes })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.string(&self.name, true)?;
        w.array(&self.partition_indexes, true, |w, it| {
            w.i32(*it);
            Ok(())
        })?;
        w.no_tags();
        Ok(())
    }
}

impl Request for ListPartitionReassignmentsRequest {
    const KEY: ApiKey = ApiKey::ListPartitionReassignments;
    type Response = super::ListPartitionReassignmentsResponse;
}
