//! `ConsumerGroupCurrentMemberAssignmentValue` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/ConsumerGroupCurrentMemberAssignmentValue.schema`; not edited by hand.

use aplomb_model::Uuid;

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `ConsumerGroupCurrentMemberAssignmentValue`: coordinator-value, key 8, versions 0, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ConsumerGroupCurrentMemberAssignmentValue {
    /// `MemberEpoch`: int32, versions 0+.
    pub member_epoch: i32,
    /// `PreviousMemberEpoch`: int32, versions 0+.
    pub previous_member_epoch: i32,
    /// `State`: int8, versions 0+.
    pub state: i8,
    /// `AssignedPartitions`: []TopicPartitions, versions 0+.
    pub assigned_partitions: Vec<TopicPartitions>,
    /// `PartitionsPendingRevocation`: []TopicPartitions, versions 0+.
    pub partitions_pending_revocation: Vec<TopicPartitions>,
}

impl Message for ConsumerGroupCurrentMemberAssignmentValue {
    const NAME: &'static str = "ConsumerGroupCurrentMemberAssignmentValue";
    const API_KEY: Option<i16> = Some(8);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let member_epoch = r.i32()?;
        let previous_member_epoch = r.i32()?;
        let state = r.i8()?;
        let assigned_partitions = r.array(true, |r| TopicPartitions::decode(r, v))?;
        let partitions_pending_revocation = r.array(true, |r| TopicPartitions::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self {
            member_epoch,
            previous_member_epoch,
            state,
            assigned_partitions,
            partitions_pending_revocation,
        })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.i32(self.member_epoch);
        w.i32(self.previous_member_epoch);
        w.i8(self.state);
        w.array(&self.assigned_partitions, true, |w, it| it.encode(w, v))?;
        w.array(&self.partitions_pending_revocation, true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `TopicPartitions` in `ConsumerGroupCurrentMemberAssignmentValue`, versions 0.
#[derive(Clone, Debug, PartialEq)]
pub struct TopicPartitions {
    /// `TopicId`: uuid, versions 0+.
    pub topic_id: Uuid,
    /// `Partitions`: []int32, versions 0+.
    pub partitions: Vec<i32>,
    /// `AssignmentEpochs`: []int32, versions 0+, nullable in 0+, tag 0 in 0+.
    pub assignment_epochs: Option<Vec<i32>>,
}

impl Default for TopicPartitions {
    fn default() -> Self {
        Self { topic_id: Uuid::ZERO, partitions: Vec::new(), assignment_epochs: Some(Vec::new()) }
    }
}

impl TopicPartitions {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let topic_id = r.uuid()?;
        let partitions = r.array(true, Reader::i32)?;
        let mut assignment_epochs = Some(Vec::new());
        for _ in 0..r.tag_count()? {
            let (tag, outer) = r.enter_tag()?;
            match tag {
                0 => assignment_epochs = r.nullable_array(true, Reader::i32)?,
                _ => r.skip_tag(),
            }
            r.leave_tag(outer)?;
        }
        Ok(Self { topic_id, partitions, assignment_epochs })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.uuid(self.topic_id);
        w.array(&self.partitions, true, |w, it| {
            w.i32(*it);
            Ok(())
        })?;
        let mut tags = w.open_tags();
        if self.assignment_epochs.as_ref().is_none_or(|it| !it.is_empty()) {
            w.tagged(&mut tags, 0, |w| {
                w.nullable_array(self.assignment_epochs.as_deref(), true, |w, it| {
                    w.i32(*it);
                    Ok(())
                })
            })?;
        }
        Ok(())
    }
}
