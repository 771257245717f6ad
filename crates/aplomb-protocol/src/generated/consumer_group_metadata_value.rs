//! `ConsumerGroupMetadataValue` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/ConsumerGroupMetadataValue.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `ConsumerGroupMetadataValue`: coordinator-value, key 3, versions 0, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ConsumerGroupMetadataValue {
    /// `Epoch`: int32, versions 0+.
    pub epoch: i32,
    /// `MetadataHash`: int64, versions 0+, tag 0 in 0+, default 0.
    pub metadata_hash: i64,
}

impl Message for ConsumerGroupMetadataValue {
    const NAME: &'static str = "ConsumerGroupMetadataValue";
    const API_KEY: Option<i16> = Some(3);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let epoch = r.i32()?;
        let mut metadata_hash = 0;
        for _ in 0..r.tag_count()? {
            let (tag, outer) = r.enter_tag()?;
            match tag {
                0 => metadata_hash = r.i64()?,
                _ => r.skip_tag(),
            }
            r.leave_tag(outer)?;
        }
        Ok(Self { epoch, metadata_hash })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.i32(self.epoch);
        let mut tags = w.open_tags();
        if self.metadata_hash != 0 {
            w.tagged(&mut tags, 0, |w| {
                w.i64(self.metadata_hash);
                Ok(())
            })?;
        }
        Ok(())
    }
}
