//! `OffsetCommitValue` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/OffsetCommitValue.schema`; not edited by hand.

use aplomb_model::Uuid;

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `OffsetCommitValue`: coordinator-value, key 1, versions 0-4, flexible 4+.
#[derive(Clone, Debug, PartialEq)]
pub struct OffsetCommitValue {
    /// `offset`: int64, versions 0+.
    pub offset: i64,
    /// `leaderEpoch`: int32, versions 3+, default -1, dropped by versions without it.
    pub leader_epoch: i32,
    /// `metadata`: string, versions 0+.
    pub metadata: String,
    /// `commitTimestamp`: int64, versions 0+.
    pub commit_timestamp: i64,
    /// `expireTimestamp`: int64, versions 1, default -1, dropped by versions without it.
    pub expire_timestamp: i64,
    /// `topicId`: uuid, versions 4+, tag 0 in 4+, dropped by versions without it.
    pub topic_id: Uuid,
}

impl Default for OffsetCommitValue {
    fn default() -> Self {
        Self {
            offset: 0,
            leader_epoch: -1,
            metadata: String::new(),
            commit_timestamp: 0,
            expire_timestamp: -1,
            topic_id: Uuid::ZERO,
        }
    }
}

impl Message for OffsetCommitValue {
    const NAME: &'static str = "OffsetCommitValue";
    const API_KEY: Option<i16> = Some(1);
    const VERSIONS: VersionRange = VersionRange::new(0, 4);
    const FLEXIBLE_FROM: Option<i16> = Some(4);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 4;
        let offset = r.i64()?;
        let leader_epoch = if v >= 3 { r.i32()? } else { -1 };
        let metadata = r.string(flexible)?;
        let commit_timestamp = r.i64()?;
        let expire_timestamp = if v == 1 { r.i64()? } else { -1 };
        let mut topic_id = Uuid::ZERO;
        if flexible {
            for _ in 0..r.tag_count()? {
                let (tag, outer) = r.enter_tag()?;
                match tag {
                    0 => topic_id = r.uuid()?,
                    _ => r.skip_tag(),
                }
                r.leave_tag(outer)?;
            }
        }
        Ok(Self { offset, leader_epoch, metadata, commit_timestamp, expire_timestamp, topic_id })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 4;
        w.i64(self.offset);
        if v >= 3 {
            w.i32(self.leader_epoch);
        }
        w.string(&self.metadata, flexible)?;
        w.i64(self.commit_timestamp);
        if v == 1 {
            w.i64(self.expire_timestamp);
        }
        if flexible {
            let mut tags = w.open_tags();
            if self.topic_id != Uuid::ZERO {
                w.tagged(&mut tags, 0, |w| {
                    w.uuid(self.topic_id);
                    Ok(())
                })?;
            }
        }
        Ok(())
    }
}
