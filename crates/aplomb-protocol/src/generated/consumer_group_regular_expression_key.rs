//! `ConsumerGroupRegularExpressionKey` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/ConsumerGroupRegularExpressionKey.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `ConsumerGroupRegularExpressionKey`: coordinator-key, key 16, versions 0, flexible none.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ConsumerGroupRegularExpressionKey {
    /// `GroupId`: string, versions 0.
    pub group_id: String,
    /// `RegularExpression`: string, versions 0.
    pub regular_expression: String,
}

impl Message for ConsumerGroupRegularExpressionKey {
    const NAME: &'static str = "ConsumerGroupRegularExpressionKey";
    const API_KEY: Option<i16> = Some(16);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = None;

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let group_id = r.string(false)?;
        let regular_expression = r.string(false)?;
        Ok(Self { group_id, regular_expression })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.string(&self.group_id, false)?;
        w.string(&self.regular_expression, false)?;
        Ok(())
    }
}
