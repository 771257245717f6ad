//! Builds batches: markers, the metadata log, rebuilt batches of producers, tests.
//!
//! Records are written as they are appended; compression and the checksum come with
//! [`BatchBuilder::build`]. As in Apache Kafka the first record's timestamp is the batch's base.

use bytes::{BufMut, Bytes, BytesMut};

use super::codec::Compression;
use super::compression::compress;
use super::header::{HEADER_SIZE, HeaderFields, ProducerStamp, TimestampType};
use super::records::Header;
use super::varint;
use crate::{LeaderEpoch, Offset, Timestamp};

/// A batch in the making.
#[derive(Clone, Debug)]
pub struct BatchBuilder {
    base_offset: Offset,
    leader_epoch: Option<LeaderEpoch>,
    compression: Compression,
    log_append_time: Option<Timestamp>,
    delete_horizon: Option<Timestamp>,
    transactional: bool,
    control: bool,
    producer: Option<ProducerStamp>,
    is_numbered: bool,
    /// At least this, however few the records.
    last_offset_delta: u32,
    next_delta: u32,
    base_timestamp: Option<Timestamp>,
    max_timestamp: Timestamp,
    count: u32,
    records: BytesMut,
}

impl BatchBuilder {
    /// An empty batch whose first record will have the offset `base`.
    #[must_use]
    pub fn new(base: Offset) -> Self {
        Self {
            base_offset: base,
            leader_epoch: None,
            compression: Compression::default(),
            log_append_time: None,
            delete_horizon: None,
            transactional: false,
            control: false,
            producer: None,
            is_numbered: false,
            last_offset_delta: 0,
            next_delta: 0,
            base_timestamp: None,
            max_timestamp: Timestamp::NONE,
            count: 0,
            records: BytesMut::new(),
        }
    }

    /// Compresses the records, at the codec's default level if only a codec is given.
    #[must_use]
    pub fn compression(self, compression: impl Into<Compression>) -> Self {
        Self { compression: compression.into(), ..self }
    }

    /// Sets the epoch of the leader; without it the batch looks like a producer's.
    #[must_use]
    pub fn leader_epoch(self, epoch: LeaderEpoch) -> Self {
        Self { leader_epoch: Some(epoch), ..self }
    }

    /// Sets the idempotent producer.
    #[must_use]
    pub fn producer(self, producer: ProducerStamp) -> Self {
        Self { producer: Some(producer), ..self }
    }

    /// Gives the records sequence numbers from 0 though no idempotent producer wrote them, as
    /// coordinators of Apache Kafka do (`CoordinatorRuntime`, 4.4).
    #[must_use]
    pub fn numbered(self) -> Self {
        Self { is_numbered: true, ..self }
    }

    /// Makes the batch part of its producer's transaction.
    #[must_use]
    pub fn transactional(self) -> Self {
        Self { transactional: true, ..self }
    }

    /// Makes this a control batch.
    #[must_use]
    pub fn control(self) -> Self {
        Self { control: true, ..self }
    }

    /// Gives all records the time `now`, at which they are appended.
    #[must_use]
    pub fn log_append_time(self, now: Timestamp) -> Self {
        Self { log_append_time: Some(now), ..self }
    }

    /// Sets when compaction may drop tombstones; timestamps are then counted from it.
    #[must_use]
    pub fn delete_horizon(self, horizon: Timestamp) -> Self {
        Self { delete_horizon: Some(horizon), base_timestamp: Some(horizon), ..self }
    }

    /// Makes the batch span offsets up to `base + delta` even if its last record is an earlier one:
    /// compaction drops records and keeps the range.
    #[must_use]
    pub fn last_offset_delta(self, delta: u32) -> Self {
        Self { last_offset_delta: delta, ..self }
    }

    /// Adds a record at the offset after the last one.
    ///
    /// # Panics
    /// If the batch grows beyond what its fields can say: 2 GiB, or 2^31 offsets.
    pub fn append(
        &mut self,
        timestamp: Timestamp,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: &[Header<'_>],
    ) -> &mut Self {
        self.append_at(self.next_delta, timestamp, key, value, headers.iter().copied())
    }

    /// Adds a record at the offset `base + delta`.
    ///
    /// # Panics
    /// If the batch grows beyond what its fields can say: 2 GiB, or 2^31 offsets.
    pub fn append_at<'h>(
        &mut self,
        delta: u32,
        timestamp: Timestamp,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: impl ExactSizeIterator<Item = Header<'h>> + Clone,
    ) -> &mut Self {
        let base = *self.base_timestamp.get_or_insert(timestamp);
        let timestamp_delta = timestamp.0.wrapping_sub(base.0);
        let delta = i32::try_from(delta).expect("a batch spans less than 2^31 offsets");
        let header_size: usize =
            headers.clone().map(|h| size_of_bytes(Some(h.key)) + size_of_bytes(h.value)).sum();
        let size = 1
            + varint::size_of(timestamp_delta)
            + varint::size_of(i64::from(delta))
            + size_of_bytes(key)
            + size_of_bytes(value)
            + varint::size_of(headers.len() as i64)
            + header_size;
        assert!(i32::try_from(self.records.len() + size).is_ok(), "a batch fits 2 GiB");

        let out = &mut self.records;
        out.reserve(size + 5);
        varint::put(out, size as i64);
        out.put_u8(0);
        varint::put(out, timestamp_delta);
        varint::put(out, i64::from(delta));
        put_bytes(out, key);
        put_bytes(out, value);
        varint::put(out, headers.len() as i64);
        for header in headers {
            put_bytes(out, Some(header.key));
            put_bytes(out, header.value);
        }

        self.count += 1;
        self.max_timestamp = self.max_timestamp.max(timestamp);
        self.last_offset_delta = self.last_offset_delta.max(delta.unsigned_abs());
        self.next_delta = delta.unsigned_abs() + 1;
        self
    }

    /// Size of the batch so far, in bytes, before compression.
    #[must_use]
    pub fn uncompressed_size(&self) -> usize {
        HEADER_SIZE + self.records.len()
    }

    /// How many records there are so far.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// The batch. A batch without records is not compressed: compaction leaves such ones to keep
    /// offsets and sequence numbers.
    #[must_use]
    pub fn build(&self) -> Bytes {
        let compression = if self.count == 0 { Compression::default() } else { self.compression };
        let records = compress(compression, &self.records);
        let header = HeaderFields {
            base_offset: self.base_offset,
            leader_epoch: self.leader_epoch,
            codec: compression.codec(),
            timestamp_type: match self.log_append_time {
                Some(_) => TimestampType::LogAppendTime,
                None => TimestampType::CreateTime,
            },
            transactional: self.transactional,
            control: self.control,
            has_delete_horizon: self.delete_horizon.is_some(),
            last_offset_delta: self.last_offset_delta,
            base_timestamp: self.base_timestamp.unwrap_or(Timestamp::NONE),
            max_timestamp: self.log_append_time.unwrap_or(self.max_timestamp),
            producer: self.producer,
            is_numbered: self.is_numbered,
            count: self.count,
        }
        .seal(&records);
        let mut batch = BytesMut::with_capacity(HEADER_SIZE + records.len());
        batch.put_slice(header.as_bytes());
        batch.put_slice(&records);
        batch.freeze()
    }
}

fn size_of_bytes(bytes: Option<&[u8]>) -> usize {
    match bytes {
        Some(bytes) => varint::size_of(bytes.len() as i64) + bytes.len(),
        None => 1,
    }
}

fn put_bytes(out: &mut BytesMut, bytes: Option<&[u8]>) {
    match bytes {
        Some(bytes) => {
            varint::put(out, bytes.len() as i64);
            out.put_slice(bytes);
        }
        None => varint::put(out, -1),
    }
}
