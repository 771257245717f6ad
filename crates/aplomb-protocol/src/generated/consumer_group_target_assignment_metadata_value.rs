//! `ConsumerGroupTargetAssignmentMetadataValue` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/ConsumerGroupTargetAssignmentMetadataValue.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `ConsumerGroupTargetAssignmentMetadataValue`: coordinator-value, key 6, versions 0, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ConsumerGroupTargetAssignmentMetadataValue {
    /// `AssignmentEpoch`: int32, versions 0+.
    pub assignment_epoch: i32,
    /// `AssignmentTimestamp`: int64, versions 0+, tag 0 in 0+, default 0, dropped by versions without it.
    pub assignment_timestamp: i64,
}

impl Message for ConsumerGroupTargetAssignmentMetadataValue {
    const NAME: &'static str = "ConsumerGroupTargetAssignmentMetadataValue";
    const API_KEY: Option<i16> = Some(6);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let assignment_epoch = r.i32()?;
        let mut assignment_timestamp = 0;
        for _ in 0..r.tag_count()? {
            let (tag, outer) = r.enter_tag()?;
            match tag {
                0 => assignment_timestamp = r.i64()?,
                _ => r.skip_tag(),
            }
            r.leave_tag(outer)?;
        }
        Ok(Self { assignment_epoch, assignment_timestamp })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.i32(self.assignment_epoch);
        let mut tags = w.open_tags();
        if self.assignment_timestamp != 0 {
            w.tagged(&mut tags, 0, |w| {
                w.i64(self.assignment_timestamp);
                Ok(())
            })?;
        }
        Ok(())
    }
}
