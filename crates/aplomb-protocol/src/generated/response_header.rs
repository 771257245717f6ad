//! `ResponseHeader` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/ResponseHeader.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `ResponseHeader`: header, versions 0-1, flexible 1+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ResponseHeader {
    /// `CorrelationId`: int32, versions 0+.
    pub correlation_id: i32,
}

impl Message for ResponseHeader {
    const NAME: &'static str = "ResponseHeader";
    const API_KEY: Option<i16> = None;
    const VERSIONS: VersionRange = VersionRange::new(0, 1);
    const FLEXIBLE_FROM: Option<i16> = Some(1);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 1;
        let correlation_id = r.i32()?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { correlation_id })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 1;
        w.i32(self.correlation_id);
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}
