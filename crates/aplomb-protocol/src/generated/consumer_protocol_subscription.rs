//! `ConsumerProtocolSubscription` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/ConsumerProtocolSubscription.schema`; not edited by hand.

use bytes::Bytes;

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `ConsumerProtocolSubscription`: data, versions 0-3, flexible none.
#[derive(Clone, Debug, PartialEq)]
pub struct ConsumerProtocolSubscription {
    /// `Topics`: []string, versions 0+.
    pub topics: Vec<String>,
    /// `UserData`: bytes, versions 0+, nullable in 0+, default null.
    pub user_data: Option<Bytes>,
    /// `OwnedPartitions`: []TopicPartition, versions 1+, dropped by versions without it.
    pub owned_partitions: Vec<TopicPartition>,
    /// `GenerationId`: int32, versions 2+, default -1, dropped by versions without it.
    pub generation_id: i32,
    /// `RackId`: string, versions 3+, nullable in 3+, default null, dropped by versions without it.
    pub rack_id: Option<String>,
}

impl Default for ConsumerProtocolSubscription {
    fn default() -> Self {
        Self {
            topics: Vec::new(),
            user_data: None,
            owned_partitions: Vec::new(),
            generation_id: -1,
            rack_id: None,
        }
    }
}

impl Message for ConsumerProtocolSubscription {
    const NAME: &'static str = "ConsumerProtocolSubscription";
    const API_KEY: Option<i16> = None;
    const VERSIONS: VersionRange = VersionRange::new(0, 3);
    const FLEXIBLE_FROM: Option<i16> = None;

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let topics = r.array(false, |r| r.string(false))?;
        let user_data = r.nullable_bytes(false)?;
        let owned_partitions =
            if v >= 1 { r.array(false, |r| TopicPartition::decode(r, v))? } else { Vec::new() };
        let generation_id = if v >= 2 { r.i32()? } else { -1 };
        let rack_id = if v == 3 { r.nullable_string(false)? } else { None };
        Ok(Self { topics, user_data, owned_partitions, generation_id, rack_id })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.array(&self.topics, false, |w, it| w.string(it, false))?;
        w.nullable_bytes(self.user_data.as_deref(), false)?;
        if v >= 1 {
            w.array(&self.owned_partitions, false, |w, it| it.encode(w, v))?;
        }
        if v >= 2 {
            w.i32(self.generation_id);
        }
        if v == 3 {
            w.nullable_string(self.rack_id.as_deref(), false)?;
        }
        Ok(())
    }
}

/// `TopicPartition` in `ConsumerProtocolSubscription`, versions 1-3.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct TopicPartition {
    /// `Topic`: string, versions 1+.
    pub topic: String,
    /// `Partitions`: []int32, versions 1+.
    pub partitions: Vec<i32>,
}

impl TopicPartition {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let topic = r.string(false)?;
        let partitions = r.array(false, Reader::i32)?;
        Ok(Self { topic, partitions })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.string(&self.topic, false)?;
        w.array(&self.partitions, false, |w, it| {
            w.i32(*it);
            Ok(())
        })?;
        Ok(())
    }
}
