//! `DescribeLogDirsRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/DescribeLogDirsRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `DescribeLogDirsRequest`: request, key 35, versions 1-5, flexible 2+.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribeLogDirsRequest {
    /// `Topics`: []DescribableLogDirTopic, versions 0+, nullable in 0+.
    pub topics: Option<Vec<DescribableLogDirTopic>>,
}

impl Default for DescribeLogDirsRequest {
    fn default() -> Self {
        Self { topics: Some(Vec::new()) }
    }
}

impl Message for DescribeLogDirsRequest {
    const NAME: &'static str = "DescribeLogDirsRequest";
    const API_KEY: Option<i16> = Some(35);
    const VERSIONS: VersionRange = VersionRange::new(1, 5);
    const FLEXIBLE_FROM: Option<i16> = Some(2);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 2;
        let topics = r.nullable_array(flexible, |r| DescribableLogDirTopic::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { topics })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 2;
        w.nullable_array(self.topics.as_deref(), flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `DescribableLogDirTopic` in `DescribeLogDirsRequest`, versions 1-5.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct DescribableLogDirTopic {
    /// `Topic`: string, versions 0+.
    pub topic: String,
    /// `Partitions`: []int32, versions 0+.
    pub partitions: Vec<i32>,
}

impl DescribableLogDirTopic {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 2;
        let topic = r.string(flexible)?;
        let partitions = r.array(flexible, Reader::i32)?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { topic, partitions })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 2;
        w.string(&self.topic, flexible)?;
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

impl Request for DescribeLogDirsRequest {
    const KEY: ApiKey = ApiKey::DescribeLogDirs;
    type Response = super::DescribeLogDirsResponse;
}
