//! `PartitionRecord` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/PartitionRecord.schema`; not edited by hand.

use aplomb_model::Uuid;

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `PartitionRecord`: metadata, key 3, versions 0-2, flexible 0+.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionRecord {
    /// `PartitionId`: int32, versions 0+, default -1.
    pub partition_id: i32,
    /// `TopicId`: uuid, versions 0+.
    pub topic_id: Uuid,
    /// `Replicas`: []int32, versions 0+.
    pub replicas: Vec<i32>,
    /// `Isr`: []int32, versions 0+.
    pub isr: Vec<i32>,
    /// `RemovingReplicas`: []int32, versions 0+.
    pub removing_replicas: Vec<i32>,
    /// `AddingReplicas`: []int32, versions 0+.
    pub adding_replicas: Vec<i32>,
    /// `Leader`: int32, versions 0+, default -1.
    pub leader: i32,
    /// `LeaderRecoveryState`: int8, versions 0+, tag 0 in 0+, default 0.
    pub leader_recovery_state: i8,
    /// `LeaderEpoch`: int32, versions 0+, default -1.
    pub leader_epoch: i32,
    /// `PartitionEpoch`: int32, versions 0+, default -1.
    pub partition_epoch: i32,
    /// `Directories`: []uuid, versions 1+.
    pub directories: Vec<Uuid>,
    /// `EligibleLeaderReplicas`: []int32, versions 2+, nullable in 2+, tag 1 in 2+, default null.
    pub eligible_leader_replicas: Option<Vec<i32>>,
    /// `LastKnownElr`: []int32, versions 2+, nullable in 2+, tag 2 in 2+, default null.
    pub last_known_elr: Option<Vec<i32>>,
}

impl Default for PartitionRecord {
    fn default() -> Self {
        Self {
            partition_id: -1,
            topic_id: Uuid::ZERO,
            replicas: Vec::new(),
            isr: Vec::new(),
            removing_replicas: Vec::new(),
            adding_replicas: Vec::new(),
            leader: -1,
            leader_recovery_state: 0,
            leader_epoch: -1,
            partition_epoch: -1,
            directories: Vec::new(),
            eligible_leader_replicas: None,
            last_known_elr: None,
        }
    }
}

impl Message for PartitionRecord {
    const NAME: &'static str = "PartitionRecord";
    const API_KEY: Option<i16> = Some(3);
    const VERSIONS: VersionRange = VersionRange::new(0, 2);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let partition_id = r.i32()?;
        let topic_id = r.uuid()?;
        let replicas = r.array(true, Reader::i32)?;
        let isr = r.array(true, Reader::i32)?;
        let removing_replicas = r.array(true, Reader::i32)?;
        let adding_replicas = r.array(true, Reader::i32)?;
        let leader = r.i32()?;
        let mut leader_recovery_state = 0;
        let leader_epoch = r.i32()?;
        let partition_epoch = r.i32()?;
        let directories = if v >= 1 { r.array(true, Reader::uuid)? } else { Vec::new() };
        let mut eligible_leader_replicas = None;
        let mut last_known_elr = None;
        for _ in 0..r.tag_count()? {
            let (tag, outer) = r.enter_tag()?;
            match tag {
                0 => leader_recovery_state = r.i8()?,
                1 if v == 2 => eligible_leader_replicas = r.nullable_array(true, Reader::i32)?,
                2 if v == 2 => last_known_elr = r.nullable_array(true, Reader::i32)?,
                _ => r.skip_tag(),
            }
            r.leave_tag(outer)?;
        }
        Ok(Self {
            partition_id,
            topic_id,
            replicas,
            isr,
            removing_replicas,
            adding_replicas,
            leader,
            leader_recovery_state,
            leader_epoch,
            partition_epoch,
            directories,
            eligible_leader_replicas,
            last_known_elr,
        })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.i32(self.partition_id);
        w.uuid(self.topic_id);
        w.array(&self.replicas, true, |w, it| {
            w.i32(*it);
            Ok(())
        })?;
        w.array(&self.isr, true, |w, it| {
            w.i32(*it);
            Ok(())
        })?;
        w.array(&self.removing_replicas, true, |w, it| {
            w.i32(*it);
            Ok(())
        })?;
        w.array(&self.adding_replicas, true, |w, it| {
            w.i32(*it);
            Ok(())
        })?;
        w.i32(self.leader);
        w.i32(self.leader_epoch);
        w.i32(self.partition_epoch);
        if v >= 1 {
            w.array(&self.directories, true, |w, it| {
                w.uuid(*it);
                Ok(())
            })?;
        } else if !self.directories.is_empty() {
            return Err(EncodeError::FieldNotInVersion {
                message: "PartitionRecord",
                field: "Directories",
                version: v,
            });
        }
        if v < 2 && self.eligible_leader_replicas.is_some() {
            return Err(EncodeError::FieldNotInVersion {
                message: "PartitionRecord",
                field: "EligibleLeaderReplicas",
                version: v,
            });
        }
        if v < 2 && self.last_known_elr.is_some() {
            return Err(EncodeError::FieldNotInVersion {
                message: "PartitionRecord",
                field: "LastKnownElr",
                version: v,
            });
        }
        let mut tags = w.open_tags();
        if self.leader_recovery_state != 0 {
            w.tagged(&mut tags, 0, |w| {
                w.i8(self.leader_recovery_state);
                Ok(())
            })?;
        }
        if v == 2 && self.eligible_leader_replicas.is_some() {
            w.tagged(&mut tags, 1, |w| {
                w.nullable_array(self.eligible_leader_replicas.as_deref(), true, |w, it| {
                    w.i32(*it);
                    Ok(())
                })
            })?;
        }
        if v == 2 && self.last_known_elr.is_some() {
            w.tagged(&mut tags, 2, |w| {
                w.nullable_array(self.last_known_elr.as_deref(), true, |w, it| {
                    w.i32(*it);
                    Ok(())
                })
            })?;
        }
        Ok(())
    }
}
