//! `ConsumerGroupTargetAssignmentMemberValue` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/ConsumerGroupTargetAssignmentMemberValue.schema`; not edited by hand.

use aplomb_model::Uuid;

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `ConsumerGroupTargetAssignmentMemberValue`: coordinator-value, key 7, versions 0, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ConsumerGroupTargetAssignmentMemberValue {
    /// `TopicPartitions`: []TopicPartition, versions 0+.
    pub topic_partitions: Vec<TopicPartition>,
}

impl Message for ConsumerGroupTargetAssignmentMemberValue {
    const NAME: &'static str = "ConsumerGroupTargetAssignmentMemberValue";
    const API_KEY: Option<i16> = Some(7);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let topic_partitions = r.array(true, |r| TopicPartition::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self { topic_partitions })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.array(&self.topic_partitions, true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `TopicPartition` in `ConsumerGroupTargetAssignmentMemberValue`, versions 0.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct TopicPartition {
    /// `TopicId`: uuid, versions 0+.
    pub topic_id: Uuid,
    /// `Partitions`: []int32, versions 0+.
    pub partitions: Vec<i32>,
}

impl TopicPartition {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let topic_id = r.uuid()?;
        let partitions = r.array(true, Reader::i32)?;
        r.skip_tags()?;
        Ok(Self { topic_id, partitions })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.uuid(self.topic_id);
        w.array(&self.partitions, true, |w, it| {
            w.i32(*it);
            Ok(())
        })?;
        w.no_tags();
        Ok(())
    }
}
