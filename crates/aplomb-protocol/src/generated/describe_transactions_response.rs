//! `DescribeTransactionsResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/DescribeTransactionsResponse.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `DescribeTransactionsResponse`: response, key 65, versions 0, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct DescribeTransactionsResponse {
    /// `ThrottleTimeMs`: int32, versions 0+.
    pub throttle_time_ms: i32,
    /// `TransactionStates`: []TransactionState, versions 0+.
    pub transaction_states: Vec<TransactionState>,
}

impl Message for DescribeTransactionsResponse {
    const NAME: &'static str = "DescribeTransactionsResponse";
    const API_KEY: Option<i16> = Some(65);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let throttle_time_ms = r.i32()?;
        let transaction_states = r.array(true, |r| TransactionState::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self { throttle_time_ms, transaction_states })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.throttle_time(self.throttle_time_ms);
        w.array(&self.transaction_states, true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `TransactionState` in `DescribeTransactionsResponse`, versions 0.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct TransactionState {
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `TransactionalId`: string, versions 0+.
    pub transactional_id: String,
    /// `TransactionState`: string, versions 0+.
    pub transaction_state: String,
    /// `TransactionTimeoutMs`: int32, versions 0+.
    pub transaction_timeout_ms: i32,
    /// `TransactionStartTimeMs`: int64, versions 0+.
    pub transaction_start_time_ms: i64,
    /// `ProducerId`: int64, versions 0+.
    pub producer_id: i64,
    /// `ProducerEpoch`: int16, versions 0+.
    pub producer_epoch: i16,
    /// `Topics`: []TopicData, versions 0+.
    pub topics: Vec<TopicData>,
}

impl TransactionState {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let error_code = r.i16()?;
        let transactional_id = r.string(true)?;
        let transaction_state = r.string(true)?;
        let transaction_timeout_ms = r.i32()?;
        let transaction_start_time_ms = r.i64()?;
        let producer_id = r.i64()?;
        let producer_epoch = r.i16()?;
        let topics = r.array(true, |r| TopicData::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self {
            error_code,
            transactional_id,
            transaction_state,
            transaction_timeout_ms,
            transaction_start_time_ms,
            producer_id,
            producer_epoch,
            topics,
        })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        w.error_code(self.error_code);
        w.string(&self.transactional_id, true)?;
        w.string(&self.transaction_state, true)?;
        w.i32(self.transaction_timeout_ms);
        w.i64(self.transaction_start_time_ms);
        w.i64(self.producer_id);
        w.i16(self.producer_epoch);
        w.array(&self.topics, true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `TopicData` in `DescribeTransactionsResponse`, versions 0.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct TopicData {
    /// `Topic`: string, versions 0+.
    pub topic: String,
    /// `Partitions`: []int32, versions 0+.
    pub partitions: Vec<i32>,
}

impl TopicData {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let topic = r.string(true)?;
        let partitions = r.array(true, Reader::i32)?;
        r.skip_tags()?;
        Ok(Self { topic, partitions })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.string(&self.topic, true)?;
        w.array(&self.partitions, true, |w, it| {
            w.i32(*it);
            Ok(())
        })?;
        w.no_tags();
        Ok(())
    }
}
