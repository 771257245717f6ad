//! What a topic demands of produced batches, what becomes of one that fits, and what a batch's
//! header has to say. The whole of validation is in `validation`.

use bytes::Bytes;

use super::codec::Compression;
use super::error::BatchError;
use super::header::{BatchHeader, HEADER_SIZE, ProducerStamp, TimestampType};
use super::rejection::ProduceRejection;
use crate::{ByteCount, Timestamp};

/// What a topic demands of the batches produced to it. The default is Apache Kafka's default topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProduceRules {
    /// The largest batch, compressed as it is (`max.message.bytes`).
    pub max_message_bytes: usize,
    /// The largest record of a compressed batch, in bytes without its length field
    /// (`max.decompressed.message.bytes`, since 4.4).
    pub max_decompressed_message_bytes: usize,
    /// The most that a compressed batch may stand for as a whole; Apache Kafka has no such limit.
    pub max_decompressed_batch_bytes: usize,
    /// Who sets timestamps (`message.timestamp.type`).
    pub timestamp_type: TimestampType,
    /// How old a record may be, in milliseconds (`message.timestamp.before.max.ms`); `None` is any
    /// age.
    pub before_max_ms: Option<u64>,
    /// How far in the future a record may be, in milliseconds (`message.timestamp.after.max.ms`).
    pub after_max_ms: Option<u64>,
    /// Whether records need keys (`cleanup.policy` contains `compact`).
    pub compaction: bool,
    /// How batches are stored (`compression.type`).
    pub compression: CompressionRule,
}

/// How a topic wants its batches compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CompressionRule {
    /// As the producer sent them.
    #[default]
    KeepProducers,
    /// With this codec; batches that have it already are kept, whatever their level.
    Recompress(Compression),
}

impl Default for ProduceRules {
    fn default() -> Self {
        Self {
            max_message_bytes: 1_048_588,
            max_decompressed_message_bytes: 2_147_483_639,
            max_decompressed_batch_bytes: 256 << 20,
            timestamp_type: TimestampType::CreateTime,
            before_max_ms: None,
            after_max_ms: Some(3_600_000),
            compaction: false,
            compression: CompressionRule::KeepProducers,
        }
    }
}

/// A batch that may be appended.
#[derive(Clone, Debug)]
pub struct Validated {
    /// What to append, once base offset and leader epoch are stamped into its header.
    pub append: AppendBytes,
    /// How many records it has; their offsets follow each other.
    pub count: u32,
    /// The largest timestamp: of the records, or of now. An index attributes it to the last offset.
    pub max_timestamp: Timestamp,
    /// The idempotent producer, if it comes from one.
    pub producer: Option<ProducerStamp>,
    /// Whether it is part of a transaction.
    pub transactional: bool,
    /// Whether the records are not the producer's bytes any more.
    pub rebuilt: bool,
}

/// A batch in two parts: the header, to be stamped, and the records, to be copied as they are.
#[derive(Clone, Debug)]
pub struct AppendBytes {
    /// The header; its checksum is right.
    pub header: BatchHeader,
    /// What follows the header: a slice of the request, unless the batch was rebuilt.
    pub records: Bytes,
}

impl AppendBytes {
    /// Size of the batch in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        HEADER_SIZE + self.records.len()
    }
}

/// Finds the one batch there has to be, of a size that is allowed, with the checksum that it says.
pub(super) fn read_header(batch: &Bytes, rules: &ProduceRules) -> Result<BatchHeader, ProduceRejection> {
    let header = BatchHeader::parse_frame(batch)?;
    let (size, available) = (header.size(), batch.len());
    if size > available {
        return Err(BatchError::Cut { needed: size as u64, available: available as u64 }.into());
    }
    if size < available {
        return Err(ProduceRejection::MoreThanOneBatch);
    }
    if !header.starts_at_zero() {
        return Err(ProduceRejection::BaseOffset);
    }
    check_size(size, rules.max_message_bytes)?;
    header.check_crc(&batch[HEADER_SIZE..])?;
    // Behind the checksum: damage to a field is told as damage, after which a producer sends again.
    header.check_fields()?;
    Ok(header)
}

pub(super) fn check_size(size: usize, limit: usize) -> Result<(), ProduceRejection> {
    if size <= limit {
        return Ok(());
    }
    Err(ProduceRejection::BatchTooLarge { size: ByteCount(size as u64), limit: ByteCount(limit as u64) })
}

pub(super) fn check_batch(header: &BatchHeader) -> Result<(), ProduceRejection> {
    let (count, last_offset_delta) = (header.count(), header.last_offset_delta());
    if count == 0 || count - 1 != last_offset_delta {
        return Err(ProduceRejection::Count { count, last_offset_delta });
    }
    if header.is_control() {
        return Err(ProduceRejection::ControlBatch);
    }
    match header.producer() {
        Some(producer) if producer.base_sequence < 0 => {
            return Err(ProduceRejection::Sequence(producer.base_sequence));
        }
        None if header.is_transactional() => return Err(ProduceRejection::TransactionOfNobody),
        Some(_) | None => {}
    }
    if header.timestamp_type() == TimestampType::LogAppendTime {
        return Err(ProduceRejection::ClaimsLogAppendTime);
    }
    Ok(())
}
