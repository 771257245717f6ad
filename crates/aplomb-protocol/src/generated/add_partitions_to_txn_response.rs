//! `AddPartitionsToTxnResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/AddPartitionsToTxnResponse.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `AddPartitionsToTxnResponse`: response, key 24, versions 0-5, flexible 3+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct AddPartitionsToTxnResponse {
    /// `ThrottleTimeMs`: int32, versions 0+.
    pub throttle_time_ms: i32,
    /// `ErrorCode`: int16, versions 4+, dropped by versions without it.
    pub error_code: i16,
    /// `ResultsByTransaction`: []AddPartitionsToTxnResult, versions 4+.
    pub results_by_transaction: Vec<AddPartitionsToTxnResult>,
    /// `ResultsByTopicV3AndBelow`: []AddPartitionsToTxnTopicResult, versions 0-3.
    pub results_by_topic_v3_and_below: Vec<AddPartitionsToTxnTopicResult>,
}

impl Message for AddPartitionsToTxnResponse {
    const NAME: &'static str = "AddPartitionsToTxnResponse";
    const API_KEY: Option<i16> = Some(24);
    const VERSIONS: VersionRange = VersionRange::new(0, 5);
    const FLEXIBLE_FROM: Option<i16> = Some(3);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 3;
        let throttle_time_ms = r.i32()?;
        let error_code = if v >= 4 { r.i16()? } else { 0 };
        let results_by_transaction =
            if v >= 4 { r.array(flexible, |r| AddPartitionsToTxnResult::decode(r, v))? } else { Vec::new() };
        let results_by_topic_v3_and_below = if v <= 3 {
            r.array(flexible, |r| AddPartitionsToTxnTopicResult::decode(r, v))?
        } else {
            Vec::new()
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { throttle_time_ms, error_code, results_by_transaction, results_by_topic_v3_and_below })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 3;
        w.throttle_time(self.throttle_time_ms);
        if v >= 4 {
            w.error_code(self.error_code);
        }
        if v >= 4 {
            w.array(&self.results_by_transaction, flexible, |w, it| it.encode(w, v))?;
        } else if !self.results_by_transaction.is_empty() {
            return Err(EncodeError::FieldNotInVersion {
                message: "AddPartitionsToTxnResponse",
                field: "ResultsByTransaction",
                version: v,
            });
        }
        if v <= 3 {
            w.array(&self.results_by_topic_v3_and_below, flexible, |w, it| it.encode(w, v))?;
        } else if !self.results_by_topic_v3_and_below.is_empty() {
            return Err(EncodeError::FieldNotInVersion {
                message: "AddPartitionsToTxnResponse",
                field: "ResultsByTopicV3AndBelow",
                version: v,
            });
        }
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `AddPartitionsToTxnResult` in `AddPartitionsToTxnResponse`, versions 4-5.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct AddPartitionsToTxnResult {
    /// `TransactionalId`: string, versions 4+.
    pub transactional_id: String,
    /// `TopicResults`: []AddPartitionsToTxnTopicResult, versions 4+.
    pub topic_results: Vec<AddPartitionsToTxnTopicResult>,
}

impl AddPartitionsToTxnResult {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let transactional_id = r.string(true)?;
        let topic_results = r.array(true, |r| AddPartitionsToTxnTopicResult::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self { transactional_id, topic_results })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        w.string(&self.transactional_id, true)?;
        w.array(&self.topic_results, true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `AddPartitionsToTxnTopicResult` in `AddPartitionsToTxnResponse`, versions 0-5.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct AddPartitionsToTxnTopicResult {
    /// `Name`: string, versions 0+.
    pub name: String,
    /// `ResultsByPartition`: []AddPartitionsToTxnPartitionResult, versions 0+.
    pub results_by_partition: Vec<AddPartitionsToTxnPartitionResult>,
}

impl AddPartitionsToTxnTopicResult {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 3;
        let name = r.string(flexible)?;
        let results_by_partition = r.array(flexible, |r| AddPartitionsToTxnPartitionResult::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { name, results_by_partition })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 3;
        w.string(&self.name, flexible)?;
        w.array(&self.results_by_partition, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `AddPartitionsToTxnPartitionResult` in `AddPartitionsToTxnResponse`, versions 0-5.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct AddPartitionsToTxnPartitionResult {
    /// `PartitionIndex`: int32, versions 0+.
    pub partition_index: i32,
    /// `PartitionErrorCode`: int16, versions 0+.
    pub partition_error_code: i16,
}

impl AddPartitionsToTxnPartitionResult {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 3;
        let partition_index = r.i32()?;
        let partition_error_code = r.i16()?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { partition_index, partition_error_code })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 3;
        w.i32(self.partition_index);
        w.i16(self.partition_error_code);
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}
