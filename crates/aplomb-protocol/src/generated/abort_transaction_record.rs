//! `AbortTransactionRecord` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/AbortTransactionRecord.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `AbortTransactionRecord`: metadata, key 25, versions 0, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct AbortTransactionRecord {
    /// `Reason`: string, versions 0+, nullable in 0+, tag 0 in 0+, default null.
    pub reason: Option<String>,
}

impl Message for AbortTransactionRecord {
    const NAME: &'static str = "AbortTransactionRecord";
    const API_KEY: Option<i16> = Some(25);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let mut reason = None;
        for _ in 0..r.tag_count()? {
            let (tag, outer) = r.enter_tag()?;
            match tag {
                0 => reason = r.nullable_string(true)?,
                _ => r.skip_tag(),
            }
            r.leave_tag(outer)?;
        }
        Ok(Self { reason })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let mut tags = w.open_tags();
        if self.reason.is_some() {
            w.tagged(&mut tags, 0, |w| w.nullable_string(self.reason.as_deref(), true))?;
        }
        Ok(())
    }
}
