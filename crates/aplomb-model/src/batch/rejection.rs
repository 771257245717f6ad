//! Why a produced batch is refused, and with which error code.
//!
//! Damage on the way (`CORRUPT_MESSAGE`) makes a producer send the batch again; what it did wrong
//! itself (`INVALID_RECORD` and others) does not, since it would do the same again.

use super::error::BatchError;
use crate::{ByteCount, ErrorCode, Timestamp};

/// Why a batch is not appended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProduceRejection {
    /// The bytes are not a batch, or not one that can be read.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// More bytes follow behind the batch.
    #[error("a partition's records are to be exactly one batch")]
    MoreThanOneBatch,
    /// Producers do not assign offsets.
    #[error("base offset of a produced batch should be 0")]
    BaseOffset,
    /// The batch is larger than its topic allows.
    #[error("batch of {size} is over the topic's limit of {limit}")]
    BatchTooLarge {
        /// Bytes of the batch, header included.
        size: ByteCount,
        /// `max.message.bytes` of the topic.
        limit: ByteCount,
    },
    /// The header's two counts disagree, or there are no records.
    #[error("batch says it has {count} records, the last {last_offset_delta} offsets after the first")]
    Count {
        /// The header's record count.
        count: u32,
        /// The header's last offset delta.
        last_offset_delta: u32,
    },
    /// The offset deltas of a compressed batch's records are not 0, 1, 2 ...
    #[error("record {index} of a compressed batch has offset delta {delta}")]
    Offset {
        /// Which record of the batch, from 0.
        index: u32,
        /// What it says.
        delta: i32,
    },
    /// Control records are for brokers to write.
    #[error("clients are not allowed to write control records")]
    ControlBatch,
    /// The producer has an id, and no sequence number.
    #[error("base sequence {0} is no sequence number")]
    Sequence(i32),
    /// A transaction needs a producer with an id.
    #[error("transactional batch has no producer id")]
    TransactionOfNobody,
    /// Producers do not set the time of appending.
    #[error("producers should not set the timestamp type to LogAppendTime")]
    ClaimsLogAppendTime,
    /// Some records break the topic's rules. Never empty.
    #[error("{} of the records are rejected, the first: {}", .0.len(), .0[0])]
    Records(Vec<RecordRejection>),
}

/// A record that its topic does not take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("record {index}: {fault}")]
pub struct RecordRejection {
    /// Which record of the batch, from 0.
    pub index: u32,
    /// What is wrong with it.
    pub fault: RecordFault,
}

/// What a topic may not like about a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordFault {
    /// The topic is compacted, and the record has no key.
    #[error("a compacted topic cannot accept a record without a key")]
    NoKey,
    /// The timestamp is outside the topic's window.
    #[error("timestamp {} is too far from the broker's time {}", .timestamp.0, .now.0)]
    Timestamp {
        /// The timestamp that the record has.
        timestamp: Timestamp,
        /// The broker's time when it came.
        now: Timestamp,
    },
}

impl ProduceRejection {
    /// The records to blame, for the response; empty if it is not about single records.
    #[must_use]
    pub fn records(&self) -> &[RecordRejection] {
        match self {
            Self::Records(records) => records,
            Self::Batch(_)
            | Self::MoreThanOneBatch
            | Self::BaseOffset
            | Self::BatchTooLarge { .. }
            | Self::Count { .. }
            | Self::Offset { .. }
            | Self::ControlBatch
            | Self::Sequence(_)
            | Self::TransactionOfNobody
            | Self::ClaimsLogAppendTime => &[],
        }
    }
}

impl From<&ProduceRejection> for ErrorCode {
    fn from(rejection: &ProduceRejection) -> Self {
        match rejection {
            ProduceRejection::Batch(error) => code_of(error),
            ProduceRejection::BatchTooLarge { .. } => Self::MessageTooLarge,
            ProduceRejection::MoreThanOneBatch
            | ProduceRejection::BaseOffset
            | ProduceRejection::Count { .. }
            | ProduceRejection::Offset { .. }
            | ProduceRejection::ControlBatch
            | ProduceRejection::Sequence(_)
            | ProduceRejection::TransactionOfNobody => Self::InvalidRecord,
            ProduceRejection::ClaimsLogAppendTime => Self::InvalidTimestamp,
            // One wrong timestamp decides the code for all, as in Apache Kafka.
            ProduceRejection::Records(records) => {
                if records.iter().any(|record| matches!(record.fault, RecordFault::Timestamp { .. })) {
                    Self::InvalidTimestamp
                } else {
                    Self::InvalidRecord
                }
            }
        }
    }
}

fn code_of(error: &BatchError) -> ErrorCode {
    match error {
        BatchError::Length(_) | BatchError::Crc { .. } => ErrorCode::CorruptMessage,
        // An old version is a client's choice; an unknown one is damage.
        BatchError::Magic { magic: 0 | 1, .. } => ErrorCode::InvalidRecord,
        BatchError::Magic { .. } => ErrorCode::CorruptMessage,
        BatchError::UnknownCodec(_) => ErrorCode::UnsupportedCompressionType,
        BatchError::TooLarge { .. } => ErrorCode::MessageTooLarge,
        BatchError::Cut { .. }
        | BatchError::Field { .. }
        | BatchError::Record { .. }
        | BatchError::Compressed { .. } => ErrorCode::InvalidRecord,
    }
}
