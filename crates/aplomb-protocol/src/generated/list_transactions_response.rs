//! `ListTransactionsResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/ListTransactionsResponse.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `ListTransactionsResponse`: response, key 66, versions 0-2, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ListTransactionsResponse {
    /// `ThrottleTimeMs`: int32, versions 0+.
    pub throttle_time_ms: i32,
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `UnknownStateFilters`: []string, versions 0+.
    pub unknown_state_filters: Vec<String>,
    /// `TransactionStates`: []TransactionState, versions 0+.
    pub transaction_states: Vec<TransactionState>,
}

impl Message for ListTransactionsResponse {
    const NAME: &'static str = "ListTransactionsResponse";
    const API_KEY: Option<i16> = Some(66);
    const VERSIONS: VersionRange = VersionRange::new(0, 2);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let throttle_time_ms = r.i32()?;
        let error_code = r.i16()?;
        let unknown_state_filters = r.array(true, |r| r.string(true))?;
        let transaction_states = r.array(true, |r| TransactionState::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self { throttle_time_ms, error_code, unknown_state_filters, transaction_states })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.throttle_time(self.throttle_time_ms);
        w.error_code(self.error_code);
        w.array(&self.unknown_state_filters, true, |w, it| w.string(it, true))?;
        w.array(&self.transaction_states, true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `TransactionState` in `ListTransactionsResponse`, versions 0-2.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct TransactionState {
    /// `TransactionalId`: string, versions 0+.
    pub transactional_id: String,
    /// `ProducerId`: int64, versions 0+.
    pub producer_id: i64,
    /// `TransactionState`: string, versions 0+.
    pub transaction_state: String,
}

impl TransactionState {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let transactional_id = r.string(true)?;
        let producer_id = r.i64()?;
        let transaction_state = r.string(true)?;
        r.skip_tags()?;
        Ok(Self { transactional_id, producer_id, transaction_state })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.string(&self.transactional_id, true)?;
        w.i64(self.producer_id);
        w.string(&self.transaction_state, true)?;
        w.no_tags();
        Ok(())
    }
}
