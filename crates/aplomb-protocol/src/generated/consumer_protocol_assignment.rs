//! `ConsumerProtocolAssignment` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/ConsumerProtocolAssignment.schema`; not edited by hand.

use bytes::Bytes;

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `ConsumerProtocolAssignment`: data, versions 0-3, flexible none.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ConsumerProtocolAssignment {
    /// `AssignedPartitions`: []TopicPartition, versions 0+.
    pub assigned_partitions: Vec<TopicPartition>,
    /// `UserData`: bytes, versions 0+, nullable in 0+, default null.
    pub user_data: Option<Bytes>,
}

impl Message for ConsumerProtocolAssignment {
    const NAME: &'static str = "ConsumerProtocolAssignment";
    const API_KEY: Option<i16> = None;
    const VERSIONS: VersionRange = VersionRange::new(0, 3);
    const FLEXIBLE_FROM: Option<i16> = None;

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let assigned_partitions = r.array(false, |r| TopicPartition::decode(r, v))?;
        let user_data = r.nullable_bytes(false)?;
        Ok(Self { assigned_partitions, user_data })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.array(&self.assigned_partitions, false, |w, it| it.encode(w, v))?;
        w.nullable_bytes(self.user_data.as_deref(), false)?;
        Ok(())
    }
}

/// `TopicPartition` in `ConsumerProtocolAssignment`, versions 0-3.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct TopicPartition {
    /// `Topic`: string, versions 0+.
    pub topic: String,
    /// `Partitions`: []int32, versions 0+.
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
