//! `DescribeTopicPartitionsRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/DescribeTopicPartitionsRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `DescribeTopicPartitionsRequest`: request, key 75, versions 0, flexible 0+.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribeTopicPartitionsRequest {
    /// `Topics`: []TopicRequest, versions 0+.
    pub topics: Vec<TopicRequest>,
    /// `ResponsePartitionLimit`: int32, versions 0+, default 2000.
    pub response_partition_limit: i32,
    /// `Cursor`: Cursor, versions 0+, nullable in 0+, default null.
    pub cursor: Option<Cursor>,
}

impl Default for DescribeTopicPartitionsRequest {
    fn default() -> Self {
        Self { topics: Vec::new(), response_partition_limit: 2_000, cursor: None }
    }
}

impl Message for DescribeTopicPartitionsRequest {
    const NAME: &'static str = "DescribeTopicPartitionsRequest";
    const API_KEY: Option<i16> = Some(75);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let topics = r.array(true, |r| TopicRequest::decode(r, v))?;
        let response_partition_limit = r.i32()?;
        let cursor = r.nullable_struct(|r| Cursor::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self { topics, response_partition_limit, cursor })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.array(&self.topics, true, |w, it| it.encode(w, v))?;
        w.i32(self.response_partition_limit);
        w.nullable_struct(self.cursor.as_ref(), |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `TopicRequest` in `DescribeTopicPartitionsRequest`, versions 0.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct TopicRequest {
    /// `Name`: string, versions 0+.
    pub name: String,
}

impl TopicRequest {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let name = r.string(true)?;
        r.skip_tags()?;
        Ok(Self { name })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.string(&self.name, true)?;
        w.no_tags();
        Ok(())
    }
}

/// `Cursor` in `DescribeTopicPartitionsRequest`, versions 0.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Cursor {
    /// `TopicName`: string, versions 0+.
    pub topic_name: String,
    /// `PartitionIndex`: int32, versions 0+.
    pub partition_index: i32,
}

impl Cursor {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let topic_name = r.string(true)?;
        let partition_index = r.i32()?;
        r.skip_tags()?;
        Ok(Self { topic_name, partition_index })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.string(&self.topic_name, true)?;
        w.i32(self.partition_index);
        w.no_tags();
        Ok(())
    }
}

impl Request for DescribeTopicPartitionsRequest {
    const KEY: ApiKey = ApiKey::DescribeTopicPartitions;
    type Response = super::DescribeTopicPartitionsResponse;
}
