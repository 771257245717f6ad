//! How a partition's leader validates a produced batch before it appends it.
//!
//! A pure function of the bytes, the topic's rules and the time, in one go ([`validate_produced`])
//! or in turns ([`Validation`]). In the common case nothing has to change but header fields, and
//! the records are handed on as the slice of the request that they are: one pass for the checksum,
//! one over the varints, no copy. Otherwise (another codec is wanted, or offsets have gaps) the
//! batch is rebuilt.
//!
//! Rules and their order are those of Apache Kafka 4.4 (`LogValidator`, `UnifiedLog`,
//! `ProduceRequest`), with six differences, all for input that its own clients never send: a batch
//! that claims log-append time is refused on every topic; a batch whose record offsets are not 0,
//! 1, 2 ... is renumbered if it is not compressed (Kafka appends it as it is), and refused at the
//! first wrong one if it is (Kafka fails at it, or renumbers it if the topic wants another codec);
//! a compressed batch that stands for too much is MESSAGE_TOO_LARGE; bytes behind the batch are
//! refused rather than dropped; a transactional batch without a producer is refused; records that
//! cannot be decompressed or read to their end are INVALID_RECORD, and not an internal error or
//! appended. A batch that gets another codec keeps its base timestamp, which Kafka moves to the
//! first record's. `tests/oracle-batches` compares the two.
//!
//! What a batch costs is counted in bytes that are decompressed, and [`Validation::work`] pauses
//! before it exceeds what it was given (by more than the block in which a number ends that it is
//! in the middle of: 512 bytes, or 255 times what it is compressed), so that a batch of a few
//! kilobytes that stands for hundreds of megabytes keeps no thread. A turn has to be worth a block
//! ([`Validation::least_step`]). Recompressing counts [`ENCODING_COSTS`] times as much.
//!
//! Memory: a block and the codec's window (at most 128 MiB, touched as far as it is filled); where
//! a batch is recompressed, the result too, which ends beyond `max.message.bytes`.

use bytes::Bytes;

use super::builder::BatchBuilder;
use super::codec::{Codec, Compression};
use super::compression::{Blocks, Encoder};
use super::header::{BatchHeader, HEADER_SIZE, HeaderFields, TimestampType};
use super::records::RecordIter;
use super::rejection::{ProduceRejection, RecordFault, RecordRejection};
use super::skim::{Outline, Skim, Step};
use super::validate::{
    AppendBytes, CompressionRule, ProduceRules, Validated, check_batch, check_size, read_header,
};
use crate::{Offset, Timestamp};

/// How many records of a refused batch are told to its producer.
const MOST_RECORD_REJECTIONS: usize = 1000;

/// Compressing a byte takes about as long as decompressing so many.
const ENCODING_COSTS: usize = 8;

/// Decides whether a produced batch may be appended, and in which form. `batch` is all that the
/// request has for the partition, and `now` the time at which it is appended.
///
/// # Errors
/// The first reason to refuse it; if records are to blame, all of them, up to a thousand.
///
/// # Panics
/// Never: work without a limit comes to an end.
pub fn validate_produced(
    batch: &Bytes,
    rules: &ProduceRules,
    now: Timestamp,
) -> Result<Validated, ProduceRejection> {
    let validated = Validation::new(batch, rules, now)?.work(usize::MAX)?;
    Ok(validated.expect("work without a limit does not pause"))
}

/// A produced batch that is being validated.
pub struct Validation {
    inspection: Inspection,
    codec: Codec,
    target: Compression,
    records: Bytes,
    stage: Stage,
    /// What earlier stages have cost.
    spent: usize,
    renumbered: bool,
}

/// How far it is.
enum Stage {
    /// Records that are not compressed are to be looked at.
    Plain,
    /// Records are looked at while they are decompressed.
    Skimming(Box<Skim>),
    /// Records are right, and get the topic's codec.
    Transcoding(Box<Transcoding>),
}

/// Records on their way from one codec to another. Their bytes stay as they are.
struct Transcoding {
    blocks: Blocks<Bytes>,
    encoder: Encoder,
    piece: Vec<u8>,
}

impl Validation {
    /// Begins with a batch: with its header and its checksum. `batch` is all that the request has
    /// for the partition, and `now` the time at which it is appended.
    ///
    /// # Errors
    /// A reason to refuse it.
    pub fn new(batch: &Bytes, rules: &ProduceRules, now: Timestamp) -> Result<Self, ProduceRejection> {
        let header = read_header(batch, rules)?;
        check_batch(&header)?;
        let codec = header.codec()?;
        let records = batch.slice(HEADER_SIZE..);
        let target = match rules.compression {
            CompressionRule::Recompress(wanted) if wanted.codec() != codec => wanted,
            CompressionRule::Recompress(_) | CompressionRule::KeepProducers => codec.into(),
        };
        let stage = if codec == Codec::None {
            Stage::Plain
        } else {
            let limit = rules.max_decompressed_batch_bytes;
            let skim = Skim::new(codec, records.clone(), header.count(), limit)?;
            Stage::Skimming(Box::new(skim.records_up_to(rules.max_decompressed_message_bytes)))
        };
        let inspection = Inspection {
            header,
            rules: *rules,
            now,
            max_timestamp: Timestamp::NONE,
            offsets_follow: true,
            rejections: Vec::new(),
        };
        Ok(Self { inspection, codec, target, records, stage, spent: 0, renumbered: false })
    }

    /// What it has cost so far, in bytes that were decompressed.
    #[must_use]
    pub fn cost(&self) -> usize {
        let stage = match &self.stage {
            Stage::Plain => 0,
            Stage::Skimming(skim) => skim.decompressed(),
            Stage::Transcoding(transcoding) => transcoding.cost(),
        };
        self.spent.saturating_add(stage)
    }

    /// What the next step can cost. With less, no work is done.
    #[must_use]
    pub fn least_step(&self) -> usize {
        match &self.stage {
            Stage::Plain => 0,
            Stage::Skimming(skim) => skim.least_next(),
            Stage::Transcoding(transcoding) => transcoding.next_cost(),
        }
    }

    /// Goes on, at a cost of up to `budget`. `None`: there is more to do.
    ///
    /// # Errors
    /// The first reason to refuse the batch; if records are to blame, all of them, up to a
    /// thousand.
    pub fn work(&mut self, budget: usize) -> Result<Option<Validated>, ProduceRejection> {
        let until = self.cost().saturating_add(budget);
        if !matches!(self.stage, Stage::Transcoding(_)) {
            let Some(plain_len) = self.inspect(until)? else { return Ok(None) };
            if self.target.codec() == self.codec {
                return Ok(Some(self.as_it_came()));
            }
            self.begin_transcoding(plain_len)?;
        }
        let limit = self.inspection.rules.max_message_bytes;
        let spent = self.spent;
        let Stage::Transcoding(transcoding) = &mut self.stage else { unreachable!("it has begun") };
        while spent.saturating_add(transcoding.cost()).saturating_add(transcoding.next_cost()) <= until {
            let left = until.saturating_sub(spent.saturating_add(transcoding.cost()));
            if transcoding.step(left / ENCODING_COSTS)? {
                check_size(HEADER_SIZE + transcoding.encoder.made(), limit)?;
            } else {
                return self.transcoded().map(Some);
            }
        }
        Ok(None)
    }

    /// Looks at the records. Gives their size when they are found to be good; `None` is a pause.
    fn inspect(&mut self, until: usize) -> Result<Option<usize>, ProduceRejection> {
        let inspection = &mut self.inspection;
        match &mut self.stage {
            Stage::Plain => {
                for (index, record) in (0..).zip(RecordIter::new(&self.records, inspection.header.count())) {
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
                inspection.verdict()?;
                if !inspection.offsets_follow {
                    self.renumber()?;
                }
                Ok(Some(self.records.len()))
            }
            Stage::Skimming(skim) => {
                for index in skim.index().. {
                    match skim.next(until.saturating_sub(self.spent))? {
                        Step::Record(Outline { offset_delta: delta, .. })
                            if i64::from(delta) != i64::from(index) =>
                        {
                            return Err(ProduceRejection::Offset { index, delta });
                        }
                        Step::Record(outline) => inspection.see(index, outline),
                        Step::Pause => return Ok(None),
                        Step::End => break,
                    }
                }
                inspection.verdict()?;
                Ok(Some(skim.decompressed()))
            }
            Stage::Transcoding(_) => unreachable!("its records are good"),
        }
    }

    /// Writes the records anew, with offsets that follow each other. Takes as long as a copy.
    fn renumber(&mut self) -> Result<(), ProduceRejection> {
        let header = &self.inspection.header;
        let mut builder = BatchBuilder::new(Offset::ZERO);
        if let Some(producer) = header.producer() {
            builder = builder.producer(producer);
        }
        if header.is_transactional() {
            builder = builder.transactional();
        }
        for (delta, record) in (0..).zip(RecordIter::new(&self.records, header.count())) {
            let record = record?;
            let timestamp = header.record_timestamp(record.timestamp_delta);
            builder.append_at(delta, timestamp, record.key, record.value, record.headers.iter());
        }
        let batch = builder.build();
        check_size(batch.len(), self.inspection.rules.max_message_bytes)?;
        self.inspection.header = BatchHeader::parse(&batch).expect("a batch that was just built");
        self.records = batch.slice(HEADER_SIZE..);
        self.renumbered = true;
        Ok(())
    }

    fn begin_transcoding(&mut self, plain_len: usize) -> Result<(), ProduceRejection> {
        if self.target.codec() == Codec::None {
            check_size(HEADER_SIZE + plain_len, self.inspection.rules.max_message_bytes)?;
        }
        let transcoding = Transcoding {
            blocks: Blocks::new(self.codec, self.records.clone(), plain_len)?,
            encoder: Encoder::new(self.target, plain_len),
            piece: Vec::new(),
        };
        self.spent = self.cost();
        self.stage = Stage::Transcoding(Box::new(transcoding));
        Ok(())
    }

    /// The batch with the records that it came with, or with the same ones renumbered.
    fn as_it_came(&mut self) -> Validated {
        let (kind, max) = self.inspection.stamp();
        let mut header = self.inspection.header;
        header.stamp_timestamps(kind, max, &self.records);
        self.validated(AppendBytes { header, records: self.records.clone() }, self.renumbered)
    }

    /// The batch with the topic's codec.
    fn transcoded(&mut self) -> Result<Validated, ProduceRejection> {
        self.spent = self.cost();
        let Stage::Transcoding(transcoding) = std::mem::replace(&mut self.stage, Stage::Plain) else {
            unreachable!("it has come to its end")
        };
        let records = Bytes::from(transcoding.encoder.finish());
        check_size(HEADER_SIZE + records.len(), self.inspection.rules.max_message_bytes)?;
        let (timestamp_type, max_timestamp) = self.inspection.stamp();
        let old = &self.inspection.header;
        let fields = HeaderFields {
            base_offset: Offset::ZERO,
            leader_epoch: None,
            codec: self.target.codec(),
            timestamp_type,
            transactional: old.is_transactional(),
            control: false,
            has_delete_horizon: false,
            last_offset_delta: old.last_offset_delta(),
            base_timestamp: old.base_timestamp(),
            max_timestamp,
            producer: old.producer(),
            is_numbered: false,
            count: old.count(),
        };
        let header = fields.seal(&records);
        Ok(self.validated(AppendBytes { header, records }, true))
    }

    fn validated(&self, append: AppendBytes, rebuilt: bool) -> Validated {
        Validated {
            count: append.header.count(),
            max_timestamp: self.inspection.stamp().1,
            producer: append.header.producer(),
            transactional: append.header.is_transactional(),
            rebuilt,
            append,
        }
    }
}

impl std::fmt::Debug for Validation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Validation")
            .field("header", &self.inspection.header)
            .field("target", &self.target)
            .field("cost", &self.cost())
            .finish_non_exhaustive()
    }
}

impl Transcoding {
    fn cost(&self) -> usize {
        self.blocks.produced().saturating_mul(ENCODING_COSTS)
    }

    fn next_cost(&self) -> usize {
        self.blocks.least_next().saturating_mul(ENCODING_COSTS)
    }

    /// One block more, of about `piece` bytes. `false`: that was all.
    fn step(&mut self, piece: usize) -> Result<bool, ProduceRejection> {
        self.piece.clear();
        let more = self.blocks.append_next(&mut self.piece, piece)?;
        self.encoder.write(&self.piece);
        Ok(more)
    }
}

/// What looking at the records has shown.
struct Inspection {
    header: BatchHeader,
    rules: ProduceRules,
    now: Timestamp,
    /// -1 if no record has a later one.
    max_timestamp: Timestamp,
    /// Whether the offset deltas are 0, 1, 2 ...
    offsets_follow: bool,
    rejections: Vec<RecordRejection>,
}

impl Inspection {
    #[inline]
    fn see(&mut self, index: u32, record: Outline) {
        let timestamp = self.header.record_timestamp(record.timestamp_delta);
        self.max_timestamp = self.max_timestamp.max(timestamp);
        self.offsets_follow &= i64::from(record.offset_delta) == i64::from(index);
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

    /// All records were seen.
    fn verdict(&mut self) -> Result<(), ProduceRejection> {
        match std::mem::take(&mut self.rejections) {
            none if none.is_empty() => Ok(()),
            rejections => Err(ProduceRejection::Records(rejections)),
        }
    }

    /// The timestamp type of the batch that is appended, and its largest timestamp.
    fn stamp(&self) -> (TimestampType, Timestamp) {
        let max = match self.rules.timestamp_type {
            TimestampType::CreateTime => self.max_timestamp,
            TimestampType::LogAppendTime => self.now,
        };
        (self.rules.timestamp_type, max)
    }
}
