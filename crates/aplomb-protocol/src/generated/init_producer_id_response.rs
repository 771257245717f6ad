//! `InitProducerIdResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/InitProducerIdResponse.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `InitProducerIdResponse`: response, key 22, versions 0-6, flexible 2+.
#[derive(Clone, Debug, PartialEq)]
pub struct InitProducerIdResponse {
    /// `ThrottleTimeMs`: int32, versions 0+, dropped by versions without it.
    pub throttle_time_ms: i32,
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `ProducerId`: int64, versions 0+, default -1.
    pub producer_id: i64,
    /// `ProducerEpoch`: int16, versions 0+.
    pub producer_epoch: i16,
    /// `OngoingTxnProducerId`: int64, versions 6+, default -1.
    pub ongoing_txn_producer_id: i64,
    /// `OngoingTxnProducerEpoch`: int16, versions 6+, default -1.
    pub ongoing_txn_producer_epoch: i16,
}

impl Default for InitProducerIdResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: 0,
            producer_id: -1,
            producer_epoch: 0,
            ongoing_txn_producer_id: -1,
            ongoing_txn_producer_epoch: -1,
        }
    }
}

impl Message for InitProducerIdResponse {
    const NAME: &'static str = "InitProducerIdResponse";
    const API_KEY: Option<i16> = Some(22);
    const VERSIONS: VersionRange = VersionRange::new(0, 6);
    const FLEXIBLE_FROM: Option<i16> = Some(2);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 2;
        let throttle_time_ms = r.i32()?;
        let error_code = r.i16()?;
        let producer_id = r.i64()?;
        let producer_epoch = r.i16()?;
        let ongoing_txn_producer_id = if v == 6 { r.i64()? } else { -1 };
        let ongoing_txn_producer_epoch = if v == 6 { r.i16()? } else { -1 };
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self {
            throttle_time_ms,
            error_code,
            producer_id,
            producer_epoch,
            ongoing_txn_producer_id,
            ongoing_txn_producer_epoch,
        })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 2;
        w.throttle_time(self.throttle_time_ms);
        w.error_code(self.error_code);
        w.i64(self.producer_id);
        w.i16(self.producer_epoch);
        if v == 6 {
            w.i64(self.ongoing_txn_producer_id);
        } else if self.ongoing_txn_producer_id != -1 {
            return Err(EncodeError::FieldNotInVersion {
                message: "InitProducerIdResponse",
                field: "OngoingTxnProducerId",
                version: v,
            });
        }
        if v == 6 {
            w.i16(self.ongoing_txn_producer_epoch);
        } else if self.ongoing_txn_producer_epoch != -1 {
            return Err(EncodeError::FieldNotInVersion {
                message: "InitProducerIdResponse",
                field: "OngoingTxnProducerEpoch",
                version: v,
            });
        }
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}
