//! The 61 bytes in front of every batch, and the few of them that a leader changes.
//!
//! A [`BatchHeader`] is a copy of those bytes that has been checked once: its magic is 2, its
//! length covers at least itself, and no count, offset or delta in it is negative. Base offset and
//! leader epoch lie outside the checksum, so stamping them costs nothing; timestamps lie inside it.

use std::fmt;

use super::checksum::Crc32c;
use super::codec::Codec;
use super::error::BatchError;
use crate::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Timestamp};

/// Size of a batch's header in bytes, and so of the smallest batch.
pub const HEADER_SIZE: usize = 61;

/// Bytes in front of what the length field counts: the base offset and the length field itself.
const LOG_OVERHEAD: usize = 12;
/// Bytes up to and including the magic byte, which batches of all versions share.
const UP_TO_MAGIC: usize = 17;
/// The smallest length field of any version (magic 0: checksum, magic, attributes, two lengths).
const SMALLEST_LENGTH: i32 = 14;

const BASE_OFFSET: usize = 0;
const LENGTH: usize = 8;
const LEADER_EPOCH: usize = 12;
const MAGIC: usize = 16;
const CRC: usize = 17;
/// Where the bytes that the checksum covers begin; they go on to the end of the batch.
const CRC_COVERS_FROM: usize = 21;
const ATTRIBUTES: usize = 21;
const LAST_OFFSET_DELTA: usize = 23;
const BASE_TIMESTAMP: usize = 27;
const MAX_TIMESTAMP: usize = 35;
const PRODUCER_ID: usize = 43;
const PRODUCER_EPOCH: usize = 51;
const BASE_SEQUENCE: usize = 53;
const COUNT: usize = 57;

const CODEC_BITS: u16 = 0b111;
const LOG_APPEND_TIME_BIT: u16 = 1 << 3;
const TRANSACTIONAL_BIT: u16 = 1 << 4;
const CONTROL_BIT: u16 = 1 << 5;
const DELETE_HORIZON_BIT: u16 = 1 << 6;
const KNOWN_BITS: u16 = 0x7f;

/// Who says when a record happened (`message.timestamp.type`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TimestampType {
    /// The producer: each record has its own time.
    #[default]
    CreateTime,
    /// The leader: all records of a batch have the time at which it was appended.
    LogAppendTime,
}

/// An idempotent producer's mark on a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProducerStamp {
    /// Who wrote the batch.
    pub id: ProducerId,
    /// The producer's incarnation, which fences earlier ones.
    pub epoch: ProducerEpoch,
    /// The sequence number of the first record; -1 in control batches.
    pub base_sequence: i32,
}

/// A batch's header, checked once.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct BatchHeader {
    bytes: [u8; HEADER_SIZE],
}

impl BatchHeader {
    /// Reads the header that `bytes` begin with. The records need not be there yet.
    ///
    /// # Errors
    /// [`BatchError::Cut`] with fewer bytes than a header has, [`BatchError::Length`],
    /// [`BatchError::Magic`] for any version but 2, and [`BatchError::Field`] for a negative number
    /// where there is none.
    pub fn parse(bytes: &[u8]) -> Result<Self, BatchError> {
        let header = Self::parse_frame(bytes)?;
        header.check_fields()?;
        Ok(header)
    }

    /// As [`BatchHeader::parse`], but looks at length and magic only; until
    /// [`BatchHeader::check_fields`] is called as well, nothing else in it is to be relied on.
    pub(super) fn parse_frame(bytes: &[u8]) -> Result<Self, BatchError> {
        let cut = |needed: usize| BatchError::Cut { needed: needed as u64, available: bytes.len() as u64 };
        let front = bytes.first_chunk::<UP_TO_MAGIC>().ok_or_else(|| cut(HEADER_SIZE))?;
        let length = i32::from_be_bytes(field(front, LENGTH));
        if length < SMALLEST_LENGTH {
            return Err(BatchError::Length(length));
        }
        let magic = front[MAGIC] as i8;
        if magic != 2 {
            return Err(BatchError::Magic {
                magic,
                size: LOG_OVERHEAD as u64 + length.unsigned_abs() as u64,
            });
        }
        if (length.unsigned_abs() as usize) < HEADER_SIZE - LOG_OVERHEAD {
            return Err(BatchError::Length(length));
        }
        Ok(Self { bytes: *bytes.first_chunk().ok_or_else(|| cut(HEADER_SIZE))? })
    }

    pub(super) fn check_fields(&self) -> Result<(), BatchError> {
        let never_negative = [
            ("baseOffset", self.i64_at(BASE_OFFSET)),
            ("lastOffsetDelta", i64::from(self.i32_at(LAST_OFFSET_DELTA))),
            ("recordsCount", i64::from(self.i32_at(COUNT))),
        ];
        for (field, value) in never_negative {
            if value < 0 {
                return Err(BatchError::Field { field, value });
            }
        }
        let (base, delta) = (self.i64_at(BASE_OFFSET), i64::from(self.i32_at(LAST_OFFSET_DELTA)));
        // One offset is kept free above the last, for the log end that follows it.
        if base.checked_add(delta).is_none_or(|last| last == i64::MAX) {
            return Err(BatchError::Field { field: "baseOffset", value: base });
        }
        Ok(())
    }

    /// The bytes, with whatever was stamped since.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; HEADER_SIZE] {
        &self.bytes
    }

    /// Whether the base offset is 0, as producers send it.
    pub(super) fn starts_at_zero(&self) -> bool {
        self.i64_at(BASE_OFFSET) == 0
    }

    /// The offset of the batch's first record, or of the first that it once had.
    #[must_use]
    pub fn base_offset(&self) -> Offset {
        Offset::new(self.i64_at(BASE_OFFSET).unsigned_abs())
    }

    /// The offset of the batch's last record, or of the last that it once had.
    #[must_use]
    pub fn last_offset(&self) -> Offset {
        self.base_offset().plus(u64::from(self.last_offset_delta()))
    }

    /// From the first offset to the last.
    #[must_use]
    pub fn last_offset_delta(&self) -> u32 {
        self.i32_at(LAST_OFFSET_DELTA).unsigned_abs()
    }

    /// Size of the whole batch in bytes, header included.
    #[must_use]
    pub fn size(&self) -> usize {
        LOG_OVERHEAD + self.i32_at(LENGTH).unsigned_abs() as usize
    }

    /// Size in bytes of what follows the header.
    #[must_use]
    pub fn records_size(&self) -> usize {
        self.size() - HEADER_SIZE
    }

    /// The epoch of the leader that appended the batch; `None` before it has been appended.
    #[must_use]
    pub fn leader_epoch(&self) -> Option<LeaderEpoch> {
        LeaderEpoch::from_wire(self.i32_at(LEADER_EPOCH))
    }

    /// The checksum that the header says, right or wrong.
    #[must_use]
    pub fn crc(&self) -> u32 {
        u32::from_be_bytes(field(&self.bytes, CRC))
    }

    /// How the records are compressed.
    ///
    /// # Errors
    /// [`BatchError::UnknownCodec`] for the numbers 5 to 7.
    pub fn codec(&self) -> Result<Codec, BatchError> {
        let id = (self.attributes() & CODEC_BITS) as u8;
        Codec::from_id(id).ok_or(BatchError::UnknownCodec(id))
    }

    /// Who set the timestamps.
    #[must_use]
    pub fn timestamp_type(&self) -> TimestampType {
        if self.attributes() & LOG_APPEND_TIME_BIT == 0 {
            TimestampType::CreateTime
        } else {
            TimestampType::LogAppendTime
        }
    }

    /// Whether the batch belongs to a transaction.
    #[must_use]
    pub fn is_transactional(&self) -> bool {
        self.attributes() & TRANSACTIONAL_BIT != 0
    }

    /// Whether the batch holds a control record, which consumers do not see.
    #[must_use]
    pub fn is_control(&self) -> bool {
        self.attributes() & CONTROL_BIT != 0
    }

    /// When compaction may drop the batch's tombstones and markers, if a pass has decided that.
    #[must_use]
    pub fn delete_horizon(&self) -> Option<Timestamp> {
        (self.attributes() & DELETE_HORIZON_BIT != 0).then(|| self.base_timestamp())
    }

    /// What the records' timestamp deltas are counted from.
    #[must_use]
    pub fn base_timestamp(&self) -> Timestamp {
        Timestamp(self.i64_at(BASE_TIMESTAMP))
    }

    /// The largest timestamp of the batch's records.
    #[must_use]
    pub fn max_timestamp(&self) -> Timestamp {
        Timestamp(self.i64_at(MAX_TIMESTAMP))
    }

    /// The idempotent producer that wrote the batch, if one did.
    #[must_use]
    pub fn producer(&self) -> Option<ProducerStamp> {
        Some(ProducerStamp {
            id: ProducerId::from_wire(self.i64_at(PRODUCER_ID))?,
            epoch: ProducerEpoch(i16::from_be_bytes(field(&self.bytes, PRODUCER_EPOCH))),
            base_sequence: self.i32_at(BASE_SEQUENCE),
        })
    }

    /// The sequence number of the last record; `None` if the batch has none. After 2^31-1 comes 0.
    #[must_use]
    pub fn last_sequence(&self) -> Option<i32> {
        let base = u32::try_from(self.i32_at(BASE_SEQUENCE)).ok()?;
        let last = (base + self.last_offset_delta()) & i32::MAX.unsigned_abs();
        Some(last.cast_signed())
    }

    /// How many records the batch holds. Compaction may leave fewer than the offsets it spans, and
    /// none at all.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.i32_at(COUNT).unsigned_abs()
    }

    /// The timestamp of a record of this batch, from its delta. Overflow wraps, as in Java.
    #[must_use]
    pub fn record_timestamp(&self, delta: i64) -> Timestamp {
        match self.timestamp_type() {
            TimestampType::CreateTime => Timestamp(self.base_timestamp().0.wrapping_add(delta)),
            TimestampType::LogAppendTime => self.max_timestamp(),
        }
    }

    /// The offset of a record of this batch, from its delta; `None` if that is no offset.
    #[must_use]
    pub fn record_offset(&self, delta: i32) -> Option<Offset> {
        Offset::from_wire(self.base_offset().to_wire().checked_add(i64::from(delta))?)
    }

    /// Sets the offset of the first record. The checksum does not cover it.
    pub fn stamp_base_offset(&mut self, base: Offset) {
        stamp_base_offset(&mut self.bytes, base);
    }

    /// Sets the epoch of the appending leader. The checksum does not cover it.
    pub fn stamp_leader_epoch(&mut self, epoch: LeaderEpoch) {
        stamp_leader_epoch(&mut self.bytes, epoch);
    }

    /// Sets the timestamp type and the largest timestamp, and returns whether that changed
    /// anything. Only then is the checksum computed anew, over this header and `records`, all bytes
    /// behind it, and attributes without a meaning are cleared, as Apache Kafka does.
    ///
    /// # Panics
    /// If `records` are not as long as the header says.
    pub fn stamp_timestamps(&mut self, kind: TimestampType, max: Timestamp, records: &[u8]) -> bool {
        assert_eq!(records.len(), self.records_size(), "the checksum needs the whole batch");
        if self.timestamp_type() == kind && self.max_timestamp() == max {
            return false;
        }
        let attributes = match kind {
            TimestampType::CreateTime => self.attributes() & KNOWN_BITS & !LOG_APPEND_TIME_BIT,
            TimestampType::LogAppendTime => self.attributes() & KNOWN_BITS | LOG_APPEND_TIME_BIT,
        };
        self.bytes[ATTRIBUTES..][..2].copy_from_slice(&attributes.to_be_bytes());
        self.bytes[MAX_TIMESTAMP..][..8].copy_from_slice(&max.0.to_be_bytes());
        self.stamp_crc(records);
        true
    }

    /// The header of this batch once compaction has taken all records out: it keeps their offsets,
    /// and the producer's last sequence number (`DefaultRecordBatch.writeEmptyHeader`).
    #[must_use]
    pub fn emptied(&self) -> Self {
        let mut emptied = *self;
        let attributes = self.attributes() & KNOWN_BITS & !CODEC_BITS & !DELETE_HORIZON_BIT;
        let mut put = |at: usize, value: &[u8]| emptied.bytes[at..][..value.len()].copy_from_slice(value);
        put(LENGTH, &((HEADER_SIZE - LOG_OVERHEAD) as i32).to_be_bytes());
        put(ATTRIBUTES, &attributes.to_be_bytes());
        put(BASE_TIMESTAMP, &Timestamp::NONE.0.to_be_bytes());
        put(COUNT, &0_i32.to_be_bytes());
        emptied.stamp_crc(&[]);
        emptied
    }

    /// Compares the stored checksum with that of the bytes. `records` are all bytes behind the
    /// header.
    ///
    /// # Errors
    /// [`BatchError::Crc`] if they differ.
    pub fn check_crc(&self, records: &[u8]) -> Result<(), BatchError> {
        let mut crc = self.crc_so_far();
        crc.update(records);
        let (stored, computed) = (self.crc(), crc.finish());
        if stored == computed { Ok(()) } else { Err(BatchError::Crc { stored, computed }) }
    }

    /// The checksum of the header's part of a batch, to be continued with its records.
    pub(super) fn crc_so_far(&self) -> Crc32c {
        let mut crc = Crc32c::new();
        crc.update(&self.bytes[CRC_COVERS_FROM..]);
        crc
    }

    fn stamp_crc(&mut self, records: &[u8]) {
        let mut crc = self.crc_so_far();
        crc.update(records);
        self.bytes[CRC..][..4].copy_from_slice(&crc.finish().to_be_bytes());
    }

    fn attributes(&self) -> u16 {
        u16::from_be_bytes(field(&self.bytes, ATTRIBUTES))
    }

    fn i32_at(&self, at: usize) -> i32 {
        i32::from_be_bytes(field(&self.bytes, at))
    }

    fn i64_at(&self, at: usize) -> i64 {
        i64::from_be_bytes(field(&self.bytes, at))
    }
}

impl fmt::Debug for BatchHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchHeader")
            .field("base_offset", &self.base_offset())
            .field("last_offset", &self.last_offset())
            .field("size", &self.size())
            .field("leader_epoch", &self.leader_epoch())
            .field("crc", &format_args!("{:#010x}", self.crc()))
            .field("attributes", &format_args!("{:#09b}", self.attributes()))
            .field("base_timestamp", &self.base_timestamp().0)
            .field("max_timestamp", &self.max_timestamp().0)
            .field("producer", &self.producer())
            .field("count", &self.count())
            .finish()
    }
}

/// Everything that a header says, for writing one.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeaderFields {
    pub(super) base_offset: Offset,
    pub(super) leader_epoch: Option<LeaderEpoch>,
    pub(super) codec: Codec,
    pub(super) timestamp_type: TimestampType,
    pub(super) transactional: bool,
    pub(super) control: bool,
    pub(super) has_delete_horizon: bool,
    pub(super) last_offset_delta: u32,
    pub(super) base_timestamp: Timestamp,
    pub(super) max_timestamp: Timestamp,
    pub(super) producer: Option<ProducerStamp>,
    /// Whether records have sequence numbers, from 0, without a producer.
    pub(super) is_numbered: bool,
    pub(super) count: u32,
}

impl HeaderFields {
    /// The header of these fields in front of `records`, all bytes that follow it.
    ///
    /// # Panics
    /// If a number does not fit its field: a batch is at most 2 GiB and has at most 2^31 records.
    pub(super) fn seal(&self, records: &[u8]) -> BatchHeader {
        let length = i32::try_from(HEADER_SIZE - LOG_OVERHEAD + records.len()).expect("a batch fits 2 GiB");
        let last_offset_delta = i32::try_from(self.last_offset_delta).expect("a batch spans fewer offsets");
        let count = i32::try_from(self.count).expect("a batch has fewer records");
        let of_nobody = (-1, -1, if self.is_numbered { 0 } else { -1 });
        let (id, epoch, sequence) =
            self.producer.map_or(of_nobody, |p| (p.id.to_wire(), p.epoch.0, p.base_sequence));
        let mut attributes = u16::from(self.codec.id());
        for (set, bit) in [
            (self.timestamp_type == TimestampType::LogAppendTime, LOG_APPEND_TIME_BIT),
            (self.transactional, TRANSACTIONAL_BIT),
            (self.control, CONTROL_BIT),
            (self.has_delete_horizon, DELETE_HORIZON_BIT),
        ] {
            if set {
                attributes |= bit;
            }
        }

        let mut bytes = [0; HEADER_SIZE];
        let mut put = |at: usize, value: &[u8]| bytes[at..][..value.len()].copy_from_slice(value);
        put(BASE_OFFSET, &self.base_offset.to_wire().to_be_bytes());
        put(LENGTH, &length.to_be_bytes());
        put(LEADER_EPOCH, &self.leader_epoch.map_or(-1, LeaderEpoch::to_wire).to_be_bytes());
        put(MAGIC, &[2]);
        put(ATTRIBUTES, &attributes.to_be_bytes());
        put(LAST_OFFSET_DELTA, &last_offset_delta.to_be_bytes());
        put(BASE_TIMESTAMP, &self.base_timestamp.0.to_be_bytes());
        put(MAX_TIMESTAMP, &self.max_timestamp.0.to_be_bytes());
        put(PRODUCER_ID, &id.to_be_bytes());
        put(PRODUCER_EPOCH, &epoch.to_be_bytes());
        put(BASE_SEQUENCE, &sequence.to_be_bytes());
        put(COUNT, &count.to_be_bytes());
        let mut header = BatchHeader { bytes };
        header.stamp_crc(records);
        header
    }
}

/// Sets the base offset of the batch that `batch` begins with, in place. The checksum does not
/// cover it.
///
/// # Panics
/// If `batch` is shorter than a header.
pub fn stamp_base_offset(batch: &mut [u8], base: Offset) {
    assert!(batch.len() >= HEADER_SIZE, "a batch has a header");
    batch[BASE_OFFSET..][..8].copy_from_slice(&base.to_wire().to_be_bytes());
}

/// Sets the leader epoch of the batch that `batch` begins with, in place. The checksum does not
/// cover it.
///
/// # Panics
/// If `batch` is shorter than a header.
pub fn stamp_leader_epoch(batch: &mut [u8], epoch: LeaderEpoch) {
    assert!(batch.len() >= HEADER_SIZE, "a batch has a header");
    batch[LEADER_EPOCH..][..4].copy_from_slice(&epoch.to_wire().to_be_bytes());
}

/// Sets the idempotent producer of a batch in place and computes its checksum anew: for clients,
/// which learn a batch's sequence number when they send it.
///
/// # Errors
/// Whatever [`BatchHeader::parse`] finds, and [`BatchError::Cut`] if the batch is not all there.
pub fn stamp_producer(batch: &mut [u8], producer: ProducerStamp) -> Result<(), BatchError> {
    let mut header = BatchHeader::parse(batch)?;
    let available = batch.len() as u64;
    let batch =
        batch.get_mut(..header.size()).ok_or(BatchError::Cut { needed: header.size() as u64, available })?;
    let (front, records) = batch.split_at_mut(HEADER_SIZE);
    header.bytes[PRODUCER_ID..][..8].copy_from_slice(&producer.id.to_wire().to_be_bytes());
    header.bytes[PRODUCER_EPOCH..][..2].copy_from_slice(&producer.epoch.0.to_be_bytes());
    header.bytes[BASE_SEQUENCE..][..4].copy_from_slice(&producer.base_sequence.to_be_bytes());
    header.stamp_crc(records);
    front.copy_from_slice(header.as_bytes());
    Ok(())
}

/// Sets timestamp type and largest timestamp of a batch in place, and returns whether that changed
/// anything. Only then is its checksum computed anew.
///
/// # Errors
/// Whatever [`BatchHeader::parse`] finds, and [`BatchError::Cut`] if the batch is not all there.
pub fn stamp_timestamps(batch: &mut [u8], kind: TimestampType, max: Timestamp) -> Result<bool, BatchError> {
    let mut header = BatchHeader::parse(batch)?;
    let available = batch.len() as u64;
    let batch =
        batch.get_mut(..header.size()).ok_or(BatchError::Cut { needed: header.size() as u64, available })?;
    let (front, records) = batch.split_at_mut(HEADER_SIZE);
    let changed = header.stamp_timestamps(kind, max, records);
    front.copy_from_slice(header.as_bytes());
    Ok(changed)
}

/// The `N` bytes at `at`; the offsets are constants of this file, all inside a header.
fn field<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    *bytes[at..].first_chunk().expect("fields lie inside the header")
}
