//! `DescribeProducersRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/DescribeProducersRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `DescribeProducersRequest`: request, key 61, versions 0, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct DescribeProducersRequest {
    /// `Topics`: []TopicRequest, versions 0+.
    pub topics: Vec<TopicRequest>,
}

impl Message for DescribeProducersRequest {
    const NAME: &'static str = "DescribeProducersRequest";
    const API_KEY: Option<i16> = Some(61);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let topics = r.array(true, |r| TopicRequest::decode(r, v))?;
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

/// `TopicRequest` in `DescribeProducersRequest`, versions 0.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct TopicRequest {
    /// `Name`: string, versions 0+.
    pub name: String,
    /// `PartitionIndexes`: []int32, versions 0+.
    pub partition_indexes: Vec<i32>,
}

impl TopicRequest {
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

impl Request for DescribeProducersRequest {
    const KEY: ApiKey = ApiKey::DescribeProducers;
    type Response = super::DescribeProducersResponse;
}
