//! `PartitionChangeRecord` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/PartitionChangeRecord.schema`; not edited by hand.

use aplomb_model::Uuid;

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `PartitionChangeRecord`: metadata, key 5, versions 0-2, flexible 0+.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionChangeRecord {
    /// `PartitionId`: int32, versions 0+, default -1.
    pub partition_id: i32,
    /// `TopicId`: uuid, versions 0+.
    pub topic_id: Uuid,
    /// `Isr`: []int32, versions 0+, nullable in 0+, tag 0 in 0+, default null.
    pub isr: Option<Vec<i32>>,
    /// `Leader`: int32, versions 0+, tag 1 in 0+, default -2.
    pub leader: i32,
    /// `Replicas`: []int32, versions 0+, nullable in 0+, tag 2 in 0+, default null.
    pub replicas: Option<Vec<i32>>,
    /// `RemovingReplicas`: []int32, versions 0+, nullable in 0+, tag 3 in 0+, default null.
    pub removing_replicas: Option<Vec<i32>>,
    /// `AddingReplicas`: []int32, versions 0+, nullable in 0+, tag 4 in 0+, default null.
    pub adding_replicas: Option<Vec<i32>>,
    /// `LeaderRecoveryState`: int8, versions 0+, tag 5 in 0+, default -1.
    pub leader_recovery_state: i8,
    /// `Directories`: []uuid, versions 1+, nullable in 1+, tag 8 in 1+, default null.
    pub directories: Option<Vec<Uuid>>,
    /// `EligibleLeaderReplicas`: []int32, versions 2+, nullable in 2+, tag 6 in 2+, default null.
    pub eligible_leader_replicas: Option<Vec<i32>>,
    /// `LastKnownElr`: []int32, versions 2+, nullable in 2+, tag 7 in 2+, default null.
    pub last_known_elr: Option<Vec<i32>>,
}

impl Default for PartitionChangeRecord {
    fn default() -> Self {
        Self {
            partition_id: -1,
            topic_id: Uuid::ZERO,
            isr: None,
            leader: -2,
            replicas: None,
            removing_replicas: None,
            adding_replicas: None,
            leader_recovery_state: -1,
            directories: None,
            eligible_leader_replicas: None,
            last_known_elr: None,
        }
    }
}

impl Message for PartitionChangeRecord {
    const NAME: &'static str = "PartitionChangeRecord";
    const API_KEY: Option<i16> = Some(5);
    const VERSIONS: VersionRange = VersionRange::new(0, 2);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let partition_id = r.i32()?;
        let topic_id = r.uuid()?;
        let mut isr = None;
        let mut leader = -2;
        let mut replicas = None;
        let mut removing_replicas = None;
        let mut adding_replicas = None;
        let mut leader_recovery_state = -1;
        let mut directories = None;
        let mut eligible_leader_replicas = None;
        let mut last_known_elr = None;
        for _ in 0..r.tag_count()? {
            let (tag, outer) = r.enter_tag()?;
            match tag {
                0 => isr = r.nullable_array(true, Reader::i32)?,
                1 => leader = r.i32()?,
                2 => replicas = r.nullable_array(true, Reader::i32)?,
                3 => removing_replicas = r.nullable_array(true, Reader::i32)?,
                4 => adding_replicas = r.nullable_array(true, Reader::i32)?,
                5 => leader_recovery_state = r.i8()?,
                6 if v == 2 => eligible_leader_replicas = r.nullable_array(true, Reader::i32)?,
                7 if v == 2 => last_known_elr = r.nullable_array(true, Reader::i32)?,
                8 if v >= 1 => directories = r.nullable_array(true, Reader::uuid)?,
                _ => r.skip_tag(),
            }
            r.leave_tag(outer)?;
        }
        Ok(Self {
            partition_id,
            topic_id,
            isr,
            leader,
            replicas,
            removing_replicas,
            adding_replicas,
            leader_recovery_state,
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
        if v < 2 && self.eligible_leader_replicas.is_some() {
            return Err(EncodeError::FieldNotInVersion {
                message: "PartitionChangeRecord",
                field: "EligibleLeaderReplicas",
                version: v,
            });
        }
        if v < 2 && self.last_known_elr.is_some() {
            return Err(EncodeError::FieldNotInVersion {
                message: "PartitionChangeRecord",
                field: "LastKnownElr",
                version: v,
            });
        }
        if v < 1 && self.directories.is_some() {
            return Err(EncodeError::FieldNotInVersion {
                message: "PartitionChangeRecord",
                field: "Directories",
                version: v,
            });
        }
        let mut tags = w.open_tags();
        if self.isr.is_some() {
            w.tagged(&mut tags, 0, |w| {
                w.nullable_array(self.isr.as_deref(), true, |w, it| {
                    w.i32(*it);
                    Ok(())
                })
            })?;
        }
        if self.leader != -2 {
            w.tagged(&mut tags, 1, |w| {
                w.i32(self.leader);
                Ok(())
            })?;
        }
        if self.replicas.is_some() {
            w.tagged(&mut tags, 2, |w| {
                w.nullable_array(self.replicas.as_deref(), true, |w, it| {
                    w.i32(*it);
                    Ok(())
                })
            })?;
        }
        if self.removing_replicas.is_some() {
            w.tagged(&mut tags, 3, |w| {
                w.nullable_array(self.removing_replicas.as_deref(), true, |w, it| {
                    w.i32(*it);
                    Ok(())
                })
            })?;
        }
        if self.adding_replicas.is_some() {
            w.tagged(&mut tags, 4, |w| {
                w.nullable_array(self.adding_replicas.as_deref(), true, |w, it| {
                    w.i32(*it);
                    Ok(())
                })
            })?;
        }
        if self.leader_recovery_state != -1 {
            w.tagged(&mut tags, 5, |w| {
                w.i8(self.leader_recovery_state);
                Ok(())
            })?;
        }
        if v == 2 && self.eligible_leader_replicas.is_some() {
            w.tagged(&mut tags, 6, |w| {
                w.nullable_array(self.eligible_leader_replicas.as_deref(), true, |w, it| {
                    w.i32(*it);
                    Ok(())
                })
            })?;
        }
        if v == 2 && self.last_known_elr.is_some() {
            w.tagged(&mut tags, 7, |w| {
                w.nullable_array(self.last_known_elr.as_deref(), true, |w, it| {
                    w.i32(*it);
                    Ok(())
                })
            })?;
        }
        if v >= 1 && self.directories.is_some() {
            w.tagged(&mut tags, 8, |w| {
                w.nullable_array(self.directories.as_deref(), true, |w, it| {
                    w.uuid(*it);
                    Ok(())
                })
            })?;
        }
        Ok(())
    }
}
