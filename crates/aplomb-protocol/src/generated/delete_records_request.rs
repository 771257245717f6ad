//! `DeleteRecordsRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/DeleteRecordsRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `DeleteRecordsRequest`: request, key 21, versions 0-2, flexible 2+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct DeleteRecordsRequest {
    /// `Topics`: []DeleteRecordsTopic, versions 0+.
    pub topics: Vec<DeleteRecordsTopic>,
    /// `TimeoutMs`: int32, versions 0+.
    pub timeout_ms: i32,
}

impl Message for DeleteRecordsRequest {
    const NAME: &'static str = "DeleteRecordsRequest";
    const API_KEY: Option<i16> = Some(21);
    const VERSIONS: VersionRange = VersionRange::new(0, 2);
    const FLEXIBLE_FROM: Option<i16> = Some(2);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 2;
        let topics = r.array(flexible, |r| DeleteRecordsTopic::decode(r, v))?;
        let timeout_ms = r.i32()?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { topics, timeout_ms })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 2;
        w.array(&self.topics, flexible, |w, it| it.encode(w, v))?;
        w.i32(self.timeout_ms);
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `DeleteRecordsTopic` in `DeleteRecordsRequest`, versions 0-2.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct DeleteRecordsTopic {
    /// `Name`: string, versions 0+.
    pub name: String,
    /// `Partitions`: []DeleteRecordsPartition, versions 0+.
    pub partitions: Vec<DeleteRecordsPartition>,
}

impl DeleteRecordsTopic {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v == 2;
        let name = r.string(flexible)?;
        let partitions = r.array(flexible, |r| DeleteRecordsPartition::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { name, partitions })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v == 2;
        w.string(&self.name, flexible)?;
        w.array(&self.partitions, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `DeleteRecordsPartition` in `DeleteRecordsRequest`, versions 0-2.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct DeleteRecordsPartition {
    /// `PartitionIndex`: int32, versions 0+.
    pub partition_index: i32,
    /// `Offset`: int64, versions 0+.
    pub offset: i64,
}

impl DeleteRecordsPartition {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v == 2;
        let partition_index = r.i32()?;
        let offset = r.i64()?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { partition_index, offset })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v == 2;
        w.i32(self.partition_index);
        w.i64(self.offset);
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

impl Request for DeleteRecordsRequest {
    const KEY: ApiKey = ApiKey::DeleteRecords;
    type Response = super::DeleteRecordsResponse;
}
