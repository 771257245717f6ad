//! `DescribeQuorumRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/DescribeQuorumRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `DescribeQuorumRequest`: request, key 55, versions 0-2, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct DescribeQuorumRequest {
    /// `Topics`: []TopicData, versions 0+.
    pub topics: Vec<TopicData>,
}

impl Message for DescribeQuorumRequest {
    const NAME: &'static str = "DescribeQuorumRequest";
    const API_KEY: Option<i16> = Some(55);
    const VERSIONS: VersionRange = VersionRange::new(0, 2);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let topics = r.array(true, |r| TopicData::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self { topics })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.array(&self.topics, true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `TopicData` in `DescribeQuorumRequest`, versions 0-2.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct TopicData {
    /// `TopicName`: string, versions 0+.
    pub topic_name: String,
    /// `Partitions`: []PartitionData, versions 0+.
    pub partitions: Vec<PartitionData>,
}

impl TopicData {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let topic_name = r.string(true)?;
        let partitions = r.array(true, |r| PartitionData::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self { topic_name, partitions })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        w.string(&self.topic_name, true)?;
        w.array(&self.partitions, true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `PartitionData` in `DescribeQuorumRequest`, versions 0-2.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct PartitionData {
    /// `PartitionIndex`: int32, versions 0+.
    pub partition_index: i32,
}

impl PartitionData {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let partition_index = r.i32()?;
        r.skip_tags()?;
        Ok(Self { partition_index })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.i32(self.partition_index);
        w.no_tags();
        Ok(())
    }
}

impl Request for DescribeQuorumRequest {
    const KEY: ApiKey = ApiKey::DescribeQuorum;
    type Response = super::DescribeQuorumResponse;
}
