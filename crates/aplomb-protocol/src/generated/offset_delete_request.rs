//! `OffsetDeleteRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/OffsetDeleteRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `OffsetDeleteRequest`: request, key 47, versions 0, flexible none.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct OffsetDeleteRequest {
    /// `GroupId`: string, versions 0+.
    pub group_id: String,
    /// `Topics`: []OffsetDeleteRequestTopic, versions 0+.
    pub topics: Vec<OffsetDeleteRequestTopic>,
}

impl Message for OffsetDeleteRequest {
    const NAME: &'static str = "OffsetDeleteRequest";
    const API_KEY: Option<i16> = Some(47);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = None;

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let group_id = r.string(false)?;
        let topics = r.array(false, |r| OffsetDeleteRequestTopic::decode(r, v))?;
        Ok(Self { group_id, topics })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.string(&self.group_id, false)?;
        w.array(&self.topics, false, |w, it| it.encode(w, v))?;
        Ok(())
    }
}

/// `OffsetDeleteRequestTopic` in `OffsetDeleteRequest`, versions 0.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct OffsetDeleteRequestTopic {
    /// `Name`: string, versions 0+.
    pub name: String,
    /// `Partitions`: []OffsetDeleteRequestPartition, versions 0+.
    pub partitions: Vec<OffsetDeleteRequestPartition>,
}

impl OffsetDeleteRequestTopic {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let name = r.string(false)?;
        let partitions = r.array(false, |r| OffsetDeleteRequestPartition::decode(r, v))?;
        Ok(Self { name, partitions })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        w.string(&self.name, false)?;
        w.array(&self.partitions, false, |w, it| it.encode(w, v))?;
        Ok(())
    }
}

/// `OffsetDeleteRequestPartition` in `OffsetDeleteRequest`, versions 0.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct OffsetDeleteRequestPartition {
    /// `PartitionIndex`: int32, versions 0+.
    pub partition_index: i32,
}

impl OffsetDeleteRequestPartition {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let partition_index = r.i32()?;
        Ok(Self { partition_index })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.i32(self.partition_index);
        Ok(())
    }
}

impl Request for OffsetDeleteRequest {
    const KEY: ApiKey = ApiKey::OffsetDelete;
    type Response = super::OffsetDeleteResponse;
}
