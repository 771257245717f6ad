//! `TransactionLogKey` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/TransactionLogKey.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `TransactionLogKey`: coordinator-key, key 0, versions 0, flexible none.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct TransactionLogKey {
    /// `TransactionalId`: string, versions 0.
    pub transactional_id: String,
}

impl Message for TransactionLogKey {
    const NAME: &'static str = "TransactionLogKey";
    const API_KEY: Option<i16> = Some(0);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = None;

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let transactional_id = r.string(false)?;
        Ok(Self { transactional_id })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.string(&self.transactional_id, false)?;
        Ok(())
    }
}
