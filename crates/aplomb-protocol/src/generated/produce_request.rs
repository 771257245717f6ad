//! `ProduceRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/ProduceRequest.schema`; not edited by hand.

use aplomb_model::Uuid;
use bytes::Bytes;

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `ProduceRequest`: request, key 0, versions 3-13, flexible 9+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ProduceRequest {
    /// `TransactionalId`: string, versions 3+, nullable in 3+, default null.
    pub transactional_id: Option<String>,
    /// `Acks`: int16, versions 0+.
    pub acks: i16,
    /// `TimeoutMs`: int32, versions 0+.
    pub timeout_ms: i32,
    /// `TopicData`: []TopicProduceData, versions 0+.
    pub topic_data: Vec<TopicProduceData>,
}

impl Message for ProduceRequest {
    const NAME: &'static str = "ProduceRequest";
    const API_KEY: Option<i16> = Some(0);
    const VERSIONS: VersionRange = VersionRange::new(3, 13);
    const FLEXIBLE_FROM: Option<i16> = Some(9);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 9;
        let transactional_id = r.nullable_string(flexible)?;
        let acks = r.i16()?;
        let timeout_ms = r.i32()?;
        let topic_data = r.array(flexible, |r| TopicProduceData::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { transactional_id, acks, timeout_ms, topic_data })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 9;
        w.nullable_string(self.transactional_id.as_deref(), flexible)?;
        w.i16(self.acks);
        w.i32(self.timeout_ms);
        w.array(&self.topic_data, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `TopicProduceData` in `ProduceRequest`, versions 3-13.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct TopicProduceData {
    /// `Name`: string, versions 0-12, dropped by versions without it.
    pub name: String,
    /// `TopicId`: uuid, versions 13+, dropped by versions without it.
    pub topic_id: Uuid,
    /// `PartitionData`: []PartitionProduceData, versions 0+.
    pub partition_data: Vec<PartitionProduceData>,
}

impl TopicProduceData {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 9;
        let name = if v <= 12 { r.string(flexible)? } else { String::new() };
        let topic_id = if v == 13 { r.uuid()? } else { Uuid::ZERO };
        let partition_data = r.array(flexible, |r| PartitionProduceData::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { name, topic_id, partition_data })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 9;
        if v <= 12 {
            w.string(&self.name, flexible)?;
        }
        if v == 13 {
            w.uuid(self.topic_id);
        }
        w.array(&self.partition_data, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `PartitionProduceData` in `ProduceRequest`, versions 3-13.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct PartitionProduceData {
    /// `Index`: int32, versions 0+.
    pub index: i32,
    /// `Records`: records, versions 0+, nullable in 0+.
    pub records: Option<Bytes>,
}

impl PartitionProduceData {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 9;
        let index = r.i32()?;
        let records = r.nullable_bytes(flexible)?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { index, records })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 9;
        w.i32(self.index);
        w.nullable_bytes(self.records.as_deref(), flexible)?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

impl Request for ProduceRequest {
    const KEY: ApiKey = ApiKey::Produce;
    type Response = super::ProduceResponse;
}
