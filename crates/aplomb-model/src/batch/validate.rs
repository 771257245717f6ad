//! How a partition's leader validates a produced batch before it appends it.
//!
//! A pure function of the bytes, the topic's rules and the time. In the common case nothing has to
//! change but header fields, and the records are handed on as the slice of the request that they
//! are: one pass for the checksum, one over the varints, no copy. Otherwise (another codec is
//! wanted, or offsets have gaps) the batch is rebuilt.
//!
//! Rules and their order are those of Apache Kafka 4.4 (`LogValidator`, `UnifiedLog`,
//! `ProduceRequest`), with five differences, all for input that its own clients never send: a batch
//! that claims log-append time is refused on every topic; a batch whose record offsets are not 0,
//! 1, 2 ... is renumbered (Kafka appends an uncompressed one as it is, and fails at a compressed
//! one); bytes behind the batch are refused rather than dropped; a transactional batch without a
//! producer is refused; records that cannot be decompressed or read to their end are
//! INVALID_RECORD, and not an internal error or appended. `tests/oracle-batches` compares the two.

use bytes::Bytes;

use super::builder::BatchBuilder;
use super::codec::{Codec, Compression};
use super::compression::decompress;
use super::error::BatchError;
use super::header::{BatchHeader, HEADER_SIZE, ProducerStamp, TimestampType};
use super::records::RecordIter;
use super::rejection::{ProduceRejection, RecordFault, RecordRejection};
use super::skim::{Outline, Skim};
use crate::{ByteCount, Offset, Timestamp};

/// How many records of a refused batch are told to its producer.
const MOST_RECORD_REJECTIONS: usize = 1000;

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

/// Decides whether a produced batch may be appended, and in which form. `batch` is all that the
/// request has for the partition, and `now` the time at which it is appended.
///
/// # Errors
/// The first reason to refuse it; if records are to blame, all of them, up to a thousand.
pub fn validate_produced(
    batch: &Bytes,
    rules: &ProduceRules,
    now: Timestamp,
) -> Result<Validated, ProduceRejection> {
    let header = read_header(batch, rules)?;
    check_batch(&header)?;
    let codec = header.codec()?;
    let records = batch.slice(HEADER_SIZE..);
    let seen = inspect(&header, codec, &records, rules, now)?;

    let target = match rules.compression {
        CompressionRule::Recompress(wanted) if wanted.codec() != codec => wanted,
        CompressionRule::Recompress(_) | CompressionRule::KeepProducers => codec.into(),
    };
    let max_timestamp = match rules.timestamp_type {
        TimestampType::CreateTime => seen.max_timestamp,
        TimestampType::LogAppendTime => now,
    };
    let rebuilt = target.codec() != codec || !seen.offsets_follow;
    let append = if rebuilt {
        rebuild(&header, codec, &records, target, rules, now)?
    } else {
        let mut header = header;
        header.stamp_timestamps(rules.timestamp_type, max_timestamp, &records);
        AppendBytes { header, records }
    };
    Ok(Validated {
        count: append.header.count(),
        max_timestamp,
        producer: append.header.producer(),
        transactional: append.header.is_transactional(),
        rebuilt,
        append,
    })
}

/// Finds the one batch there has to be, of a size that is allowed, with the checksum that it says.
fn read_header(batch: &Bytes, rules: &ProduceRules) -> Result<BatchHeader, ProduceRejection> {
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
    check_size(size, rules)?;
    header.check_crc(&batch[HEADER_SIZE..])?;
    // Behind the checksum: damage to a field is told as damage, after which a producer sends again.
    header.check_fields()?;
    Ok(header)
}

fn check_size(size: usize, rules: &ProduceRules) -> Result<(), ProduceRejection> {
    if size <= rules.max_message_bytes {
        return Ok(());
    }
    let limit = ByteCount(rules.max_message_bytes as u64);
    Err(ProduceRejection::BatchTooLarge { size: ByteCount(size as u64), limit })
}

fn check_batch(header: &BatchHeader) -> Result<(), ProduceRejection> {
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

/// What a pass over the records has shown.
struct Seen {
    /// -1 if no record has a later one.
    max_timestamp: Timestamp,
    /// Whether the offset deltas are 0, 1, 2 ...
    offsets_follow: bool,
}

fn inspect(
    header: &BatchHeader,
    codec: Codec,
    records: &[u8],
    rules: &ProduceRules,
    now: Timestamp,
) -> Result<Seen, ProduceRejection> {
    let mut inspection = Inspection {
        header,
        rules,
        now,
        seen: Seen { max_timestamp: Timestamp::NONE, offsets_follow: true },
        rejections: Vec::new(),
    };
    if codec == Codec::None {
        for (index, record) in (0..).zip(RecordIter::new(records, header.count())) {
            let record = record?;
            inspection.see(
                index,
                Outline {
                    offset_delta: record.offset_delta,
                    timestamp_delta: record.timestamp_delta,
                    has_key: record.key.is_some(),
                },
            );
        }
    } else {
        let outlines = Skim::new(codec, records, header.count(), rules.max_decompressed_batch_bytes)?
            .records_up_to(rules.max_decompressed_message_bytes);
        for (index, outline) in (0..).zip(outlines) {
            inspection.see(index, outline?);
        }
    }
    if inspection.rejections.is_empty() {
        Ok(inspection.seen)
    } else {
        Err(ProduceRejection::Records(inspection.rejections))
    }
}

struct Inspection<'a> {
    header: &'a BatchHeader,
    rules: &'a ProduceRules,
    now: Timestamp,
    seen: Seen,
    rejections: Vec<RecordRejection>,
}

impl Inspection<'_> {
    #[inline]
    fn see(&mut self, index: u32, record: Outline) {
        let timestamp = self.header.record_timestamp(record.timestamp_delta);
        self.seen.max_timestamp = self.seen.max_timestamp.max(timestamp);
        self.seen.offsets_follow &= i64::from(record.offset_delta) == i64::from(index);
        if let Some(fault) = self.fault(timestamp, record.has_key)
            && self.rejections.len() < MOST_RECORD_REJECTIONS
        {
            self.rejections.push(RecordRejection { index, fault });
        }
    }

    #[inline]
    fn fault(&self, timestamp: Timestamp, has_key: bool) -> Option<RecordFault> {
        if self.rules.compaction && !has_key {
            return Some(RecordFault::NoKey);
        }
        let checked = self.rules.timestamp_type == TimestampType::CreateTime && timestamp != Timestamp::NONE;
        if checked && !self.is_in_window(timestamp) {
            return Some(RecordFault::Timestamp { timestamp, now: self.now });
        }
        None
    }

    #[inline]
    fn is_in_window(&self, timestamp: Timestamp) -> bool {
        // A distance that 64 bits cannot say is outside every window, even the unlimited one.
        let Some(age) = self.now.0.checked_sub(timestamp.0) else { return false };
        let limit = if age < 0 { self.rules.after_max_ms } else { self.rules.before_max_ms };
        limit.is_none_or(|limit| age.unsigned_abs() <= limit)
    }
}

/// Writes the batch anew, with offsets that follow each other and the codec that is wanted.
fn rebuild(
    header: &BatchHeader,
    codec: Codec,
    records: &[u8],
    target: Compression,
    rules: &ProduceRules,
    now: Timestamp,
) -> Result<AppendBytes, ProduceRejection> {
    let plain = decompress(codec, records, rules.max_decompressed_batch_bytes)?;
    let mut builder = BatchBuilder::new(Offset::ZERO).compression(target);
    if let Some(producer) = header.producer() {
        builder = builder.producer(producer);
    }
    if header.is_transactional() {
        builder = builder.transactional();
    }
    if rules.timestamp_type == TimestampType::LogAppendTime {
        builder = builder.log_append_time(now);
    }
    for (delta, record) in (0..).zip(RecordIter::new(&plain, header.count())) {
        let record = record?;
        let timestamp = header.record_timestamp(record.timestamp_delta);
        builder.append_at(delta, timestamp, record.key, record.value, record.headers.iter());
    }
    let batch = builder.build();
    check_size(batch.len(), rules)?;
    let header = BatchHeader::parse(&batch).expect("a batch that was just built");
    Ok(AppendBytes { header, records: batch.slice(HEADER_SIZE..) })
}
