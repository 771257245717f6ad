//! `InitProducerIdRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/InitProducerIdRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `InitProducerIdRequest`: request, key 22, versions 0-6, flexible 2+.
#[derive(Clone, Debug, PartialEq)]
pub struct InitProducerIdRequest {
    /// `TransactionalId`: string, versions 0+, nullable in 0+.
    pub transactional_id: Option<String>,
    /// `TransactionTimeoutMs`: int32, versions 0+.
    pub transaction_timeout_ms: i32,
    /// `ProducerId`: int64, versions 3+, default -1.
    pub producer_id: i64,
    /// `ProducerEpoch`: int16, versions 3+, default -1.
    pub producer_epoch: i16,
    /// `Enable2Pc`: bool, versions 6+, default false.
    pub enable2_pc: bool,
    /// `KeepPreparedTxn`: bool, versions 6+, default false.
    pub keep_prepared_txn: bool,
}

impl Default for InitProducerIdRequest {
    fn default() -> Self {
        Self {
            transactional_id: Some(String::new()),
            transaction_timeout_ms: 0,
            producer_id: -1,
            producer_epoch: -1,
            enable2_pc: false,
            keep_prepared_txn: false,
        }
    }
}

impl Message for InitProducerIdRequest {
    const NAME: &'static str = "InitProducerIdRequest";
    const API_KEY: Option<i16> = Some(22);
    const VERSIONS: VersionRange = VersionRange::new(0, 6);
    const FLEXIBLE_FROM: Option<i16> = Some(2);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 2;
        let transactional_id = r.nullable_string(flexible)?;
        let transaction_timeout_ms = r.i32()?;
        let producer_id = if v >= 3 { r.i64()? } else { -1 };
        let producer_epoch = if v >= 3 { r.i16()? } else { -1 };
        let enable2_pc = if v == 6 { r.bool()? } else { false };
        let keep_prepared_txn = if v == 6 { r.bool()? } else { false };
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self {
            transactional_id,
            transaction_timeout_ms,
            producer_id,
            producer_epoch,
            enable2_pc,
            keep_prepared_txn,
        })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 2;
        w.nullable_string(self.transactional_id.as_deref(), flexible)?;
        w.i32(self.transaction_timeout_ms);
        if v >= 3 {
            w.i64(self.producer_id);
        } else if self.producer_id != -1 {
            return Err(EncodeError::FieldNotInVersion {
                message: "InitProducerIdRequest",
                field: "ProducerId",
                version: v,
            });
        }
        if v >= 3 {
            w.i16(self.producer_epoch);
        } else if self.producer_epoch != -1 {
            return Err(EncodeError::FieldNotInVersion {
                message: "InitProducerIdRequest",
                field: "ProducerEpoch",
                version: v,
            });
        }
        if v == 6 {
            w.bool(self.enable2_pc);
        } else if self.enable2_pc {
            return Err(EncodeError::FieldNotInVersion {
                message: "InitProducerIdRequest",
                field: "Enable2Pc",
                version: v,
            });
        }
        if v == 6 {
            w.bool(self.keep_prepared_txn);
        } else if self.keep_prepared_txn {
            return Err(EncodeError::FieldNotInVersion {
                message: "InitProducerIdRequest",
                field: "KeepPreparedTxn",
                version: v,
            });
        }
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

impl Request for InitProducerIdRequest {
    const KEY: ApiKey = ApiKey::InitProducerId;
    type Response = super::InitProducerIdResponse;
}
