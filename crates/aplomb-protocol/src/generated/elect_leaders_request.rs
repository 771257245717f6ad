//! `ElectLeadersRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/ElectLeadersRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `ElectLeadersRequest`: request, key 43, versions 0-2, flexible 2+.
#[derive(Clone, Debug, PartialEq)]
pub struct ElectLeadersRequest {
    /// `ElectionType`: int8, versions 1+.
    pub election_type: i8,
    /// `TopicPartitions`: []TopicPartitions, versions 0+, nullable in 0+.
    pub topic_partitions: Option<Vec<TopicPartitions>>,
    /// `TimeoutMs`: int32, versions 0+, default 60000.
    pub timeout_ms: i32,
}

impl Default for ElectLeadersRequest {
    fn default() -> Self {
        Self { election_type: 0, topic_partitions: Some(Vec::new()), timeout_ms: 60_000 }
    }
}

impl Message for ElectLeadersRequest {
    const NAME: &'static str = "ElectLeadersRequest";
    const API_KEY: Option<i16> = Some(43);
    const VERSIONS: VersionRange = VersionRange::new(0, 2);
    const FLEXIBLE_FROM: Option<i16> = Some(2);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 2;
        let election_type = if v >= 1 { r.i8()? } else { 0 };
        let topic_partitions = r.nullable_array(flexible, |r| TopicPartitions::decode(r, v))?;
        let timeout_ms = r.i32()?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { election_type, topic_partitions, timeout_ms })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 2;
        if v >= 1 {
            w.i8(self.election_type);
        } else if self.election_type != 0 {
            return Err(EncodeError::FieldNotInVersion {
                message: "ElectLeadersRequest",
                field: "ElectionType",
                version: v,
            });
        }
        w.nullable_array(self.topic_partitions.as_deref(), flexible, |w, it| it.encode(w, v))?;
        w.i32(self.timeout_ms);
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `TopicPartitions` in `ElectLeadersRequest`, versions 0-2.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct TopicPartitions {
    /// `Topic`: string, versions 0+.
    pub topic: String,
    /// `Partitions`: []int32, versions 0+.
    pub partitions: Vec<i32>,
}

impl TopicPartitions {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v == 2;
        let topic = r.string(flexible)?;
        let partitions = r.array(flexible, Reader::i32)?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { topic, partitions })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v == 2;
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

impl Request for ElectLeadersRequest {
    const KEY: ApiKey = ApiKey::ElectLeaders;
    type Response = super::ElectLeadersResponse;
}
