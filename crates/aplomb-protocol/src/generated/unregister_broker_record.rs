//! `UnregisterBrokerRecord` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/UnregisterBrokerRecord.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `UnregisterBrokerRecord`: metadata, key 1, versions 0, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct UnregisterBrokerRecord {
    /// `BrokerId`: int32, versions 0+.
    pub broker_id: i32,
    /// `BrokerEpoch`: int64, versions 0+.
    pub broker_epoch: i64,
}

impl Message for UnregisterBrokerRecord {
    const NAME: &'static str = "UnregisterBrokerRecord";
    const API_KEY: Option<i16> = Some(1);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let broker_id = r.i32()?;
        let broker_epoch = r.i64()?;
        r.skip_tags()?;
        Ok(Self { broker_id, broker_epoch })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.i32(self.broker_id);
        w.i64(self.broker_epoch);
        w.no_tags();
        Ok(())
    }
}
