//! `DescribeProducersResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/DescribeProducersResponse.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `DescribeProducersResponse`: response, key 61, versions 0, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct DescribeProducersResponse {
    /// `ThrottleTimeMs`: int32, versions 0+.
    pub throttle_time_ms: i32,
    /// `Topics`: []TopicResponse, versions 0+.
    pub topics: Vec<TopicResponse>,
}

impl Message for DescribeProducersResponse {
    const NAME: &'static str = "DescribeProducersResponse";
    const API_KEY: Option<i16> = Some(61);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let throttle_time_ms = r.i32()?;
        let topics = r.array(true, |r| TopicResponse::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self { throttle_time_ms, topics })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.throttle_time(self.throttle_time_ms);
        w.array(&self.topics, true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `TopicResponse` in `DescribeProducersResponse`, versions 0.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct TopicResponse {
    /// `Name`: string, versions 0+.
    pub name: String,
    /// `Partitions`: []PartitionResponse, versions 0+.
    pub partitions: Vec<PartitionResponse>,
}

impl TopicResponse {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let name = r.string(true)?;
        let partitions = r.array(true, |r| PartitionResponse::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self { name, partitions })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        w.string(&self.name, true)?;
        w.array(&self.partitions, true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `PartitionResponse` in `DescribeProducersResponse`, versions 0.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct PartitionResponse {
    /// `PartitionIndex`: int32, versions 0+.
    pub partition_index: i32,
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `ErrorMessage`: string, versions 0+, nullable in 0+, default null.
    pub error_message: Option<String>,
    /// `ActiveProducers`: []ProducerState, versions 0+.
    pub active_producers: Vec<ProducerState>,
}

impl PartitionResponse {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let partition_index = r.i32()?;
        let error_code = r.i16()?;
        let error_message = r.nullable_string(true)?;
        let active_producers = r.array(true, |r| ProducerState::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self { partition_index, error_code, error_message, active_producers })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        w.i32(self.partition_index);
        w.error_code(self.error_code);
        w.nullable_string(self.error_message.as_deref(), true)?;
        w.array(&self.active_producers, true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `ProducerState` in `DescribeProducersResponse`, versions 0.
#[derive(Clone, Debug, PartialEq)]
pub struct ProducerState {
    /// `ProducerId`: int64, versions 0+.
    pub producer_id: i64,
    /// `ProducerEpoch`: int32, versions 0+.
    pub producer_epoch: i32,
    /// `LastSequence`: int32, versions 0+, default -1.
    pub last_sequence: i32,
    /// `LastTimestamp`: int64, versions 0+, default -1.
    pub last_timestamp: i64,
    /// `CoordinatorEpoch`: int32, versions 0+.
    pub coordinator_epoch: i32,
    /// `CurrentTxnStartOffset`: int64, versions 0+, default -1.
    pub current_txn_start_offset: i64,
}

impl Default for ProducerState {
    fn default() -> Self {
        Self {
            producer_id: 0,
            producer_epoch: 0,
            last_sequence: -1,
            last_timestamp: -1,
            coordinator_epoch: 0,
            current_txn_start_offset: -1,
        }
    }
}

impl ProducerState {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let producer_id = r.i64()?;
        let producer_epoch = r.i32()?;
        let last_sequence = r.i32()?;
        let last_timestamp = r.i64()?;
        let coordinator_epoch = r.i32()?;
        let current_txn_start_offset = r.i64()?;
        r.skip_tags()?;
        Ok(Self {
            producer_id,
            producer_epoch,
            last_sequence,
            last_timestamp,
            coordinator_epoch,
            current_txn_start_offset,
        })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.i64(self.producer_id);
        w.i32(self.producer_epoch);
        w.i32(self.last_sequence);
        w.i64(self.last_timestamp);
        w.i32(self.coordinator_epoch);
        w.i64(self.current_txn_start_offset);
        w.no_tags();
        Ok(())
    }
}
