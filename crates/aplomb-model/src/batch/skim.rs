//! The outlines of a batch's records, read while they are decompressed.
//!
//! Validating a compressed batch needs each record's deltas and whether it has a key, not the
//! record. So output is looked at block by block and dropped: memory stays at one block, however
//! much a batch stands for. What is accepted is exactly what [`RecordIter`](super::RecordIter)
//! accepts.

use super::codec::Codec;
use super::compression::Blocks;
use super::error::BatchError;
use super::records::read_body;
use super::varint::{ByteCursor, read_varint, read_varlong};

/// What validation wants to know of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outline {
    pub(super) offset_delta: i32,
    pub(super) timestamp_delta: i64,
    pub(super) has_key: bool,
}

/// Iterates over the outlines of a batch's records.
pub(super) struct Skim<'a> {
    blocks: Blocks<'a>,
    block: Vec<u8>,
    at: usize,
    /// What is left of the record that is being read across blocks; `None` in its length field.
    body_left: Option<usize>,
    max_record: usize,
    index: u32,
    count: u32,
}

impl<'a> Skim<'a> {
    /// The `count` records in `bytes`, which are to give at most `limit` bytes when decompressed.
    pub(super) fn new(codec: Codec, bytes: &'a [u8], count: u32, limit: usize) -> Result<Self, BatchError> {
        let blocks = Blocks::new(codec, bytes, limit)?;
        Ok(Self {
            blocks,
            block: Vec::new(),
            at: 0,
            body_left: None,
            max_record: usize::MAX,
            index: 0,
            count,
        })
    }

    /// Ends with an error at the first record of more than `max` bytes.
    pub(super) fn records_up_to(self, max: usize) -> Self {
        Self { max_record: max, ..self }
    }

    fn read(&mut self) -> Result<Outline, BatchError> {
        let outline = match self.read_in_block() {
            Some(result) => result,
            None => self.read_across_blocks(),
        }?;
        if self.index + 1 == self.count && (self.at < self.block.len() || self.refill()?) {
            return Err(self.complaint("bytes are left behind the last record"));
        }
        Ok(outline)
    }

    /// Reads a record that lies in the current block as a whole; most do.
    #[inline]
    fn read_in_block(&mut self) -> Option<Result<Outline, BatchError>> {
        let mut cursor = ByteCursor::new(&self.block[self.at..]);
        let len = usize::try_from(cursor.varint()?).ok().filter(|len| *len <= self.max_record)?;
        let body = cursor.take(len)?;
        self.at = self.block.len() - cursor.rest().len();
        Some(match read_body(body) {
            Ok(record) => Ok(Outline {
                offset_delta: record.offset_delta,
                timestamp_delta: record.timestamp_delta,
                has_key: record.key.is_some(),
            }),
            Err(what) => Err(self.complaint(what)),
        })
    }

    fn read_across_blocks(&mut self) -> Result<Outline, BatchError> {
        self.body_left = None;
        let len = self.varint("length is cut")?;
        let len = usize::try_from(len).map_err(|_| self.complaint("length is negative"))?;
        if len > self.max_record {
            return Err(self.complaint("larger than the topic allows when decompressed"));
        }
        self.body_left = Some(len);
        self.byte()?.ok_or_else(|| self.complaint("attributes are cut"))?;
        let timestamp_delta = self.varlong("timestamp delta is cut")?;
        let offset_delta = self.varint("offset delta is cut")?;
        let has_key = self.skip_nullable("key is cut")?;
        self.skip_nullable("value is cut")?;
        let headers = self.varint("header count is cut")?;
        for _ in 0..u32::try_from(headers).map_err(|_| self.complaint("header count is negative"))? {
            let len = self.varint("header key length is cut")?;
            let len = usize::try_from(len).map_err(|_| self.complaint("header key length is negative"))?;
            self.skip(len, "header key is cut")?;
            self.skip_nullable("header value is cut")?;
        }
        if self.body_left != Some(0) {
            return Err(self.complaint("record is longer than its content"));
        }
        Ok(Outline { offset_delta, timestamp_delta, has_key })
    }

    fn skip_nullable(&mut self, otherwise: &'static str) -> Result<bool, BatchError> {
        match usize::try_from(self.varint(otherwise)?) {
            Ok(len) => self.skip(len, otherwise).map(|()| true),
            Err(_) => Ok(false),
        }
    }

    fn skip(&mut self, mut len: usize, otherwise: &'static str) -> Result<(), BatchError> {
        match self.body_left.and_then(|left| left.checked_sub(len)) {
            Some(left) => self.body_left = Some(left),
            None => return Err(self.complaint(otherwise)),
        }
        while len > 0 {
            if self.at == self.block.len() && !self.refill()? {
                return Err(self.complaint(otherwise));
            }
            let step = len.min(self.block.len() - self.at);
            self.at += step;
            len -= step;
        }
        Ok(())
    }

    fn varint(&mut self, otherwise: &'static str) -> Result<i32, BatchError> {
        let mut failed = None;
        let value = read_varint(|| self.byte().map_err(|why| failed = Some(why)).ok().flatten());
        match failed {
            Some(why) => Err(why),
            None => value.ok_or_else(|| self.complaint(otherwise)),
        }
    }

    fn varlong(&mut self, otherwise: &'static str) -> Result<i64, BatchError> {
        let mut failed = None;
        let value = read_varlong(|| self.byte().map_err(|why| failed = Some(why)).ok().flatten());
        match failed {
            Some(why) => Err(why),
            None => value.ok_or_else(|| self.complaint(otherwise)),
        }
    }

    /// The next byte, unless the record or the output ends here.
    fn byte(&mut self) -> Result<Option<u8>, BatchError> {
        if let Some(left) = &mut self.body_left {
            let Some(less) = left.checked_sub(1) else { return Ok(None) };
            *left = less;
        }
        if self.at == self.block.len() && !self.refill()? {
            return Ok(None);
        }
        self.at += 1;
        Ok(Some(self.block[self.at - 1]))
    }

    /// Replaces the block, which has been read to its end. `false` if there is no more output.
    fn refill(&mut self) -> Result<bool, BatchError> {
        self.block.clear();
        self.at = 0;
        while self.block.is_empty() {
            if !self.blocks.append_next(&mut self.block)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn complaint(&self, what: &'static str) -> BatchError {
        BatchError::Record { index: self.index, what }
    }
}

impl Iterator for Skim<'_> {
    type Item = Result<Outline, BatchError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.index == self.count {
            return None;
        }
        let result = self.read();
        match result {
            Ok(_) => self.index += 1,
            Err(_) => self.count = self.index,
        }
        Some(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{BatchBuilder, Batches, Header, RecordIter};
    use crate::{Offset, Timestamp};

    /// Records from empty to several blocks long.
    fn batch(codec: Codec) -> bytes::Bytes {
        let mut builder = BatchBuilder::new(Offset::ZERO).compression(codec);
        for n in 0..60u32 {
            let value: Vec<u8> = (0..n * n * 40).map(|i| (i ^ (i >> 8).wrapping_mul(n)) as u8).collect();
            let header = Header { key: &value[..value.len() / 3], value: (n % 2 == 0).then_some(&value[..]) };
            let headers = vec![header; (n % 3) as usize];
            let key = (n % 5 != 0).then_some(&b"key"[..]);
            builder.append(Timestamp(i64::from(n) * 1000), key, Some(&value), &headers);
        }
        builder.build()
    }

    #[test]
    fn the_outlines_are_those_of_the_records() {
        for codec in Codec::ALL {
            let batch = batch(codec);
            let view = Batches::new(&batch).next().expect("a batch");
            let skimmed: Vec<_> = Skim::new(codec, &batch[61..], 60, 1 << 24)
                .expect("it begins")
                .map(|outline| outline.expect("whole"))
                .collect();
            let plain = view.uncompressed(1 << 24).expect("it decompresses");
            let read: Vec<_> = RecordIter::new(&plain, 60)
                .map(|record| record.expect("whole"))
                .map(|r| Outline {
                    offset_delta: r.offset_delta,
                    timestamp_delta: r.timestamp_delta,
                    has_key: r.key.is_some(),
                })
                .collect();
            assert_eq!(skimmed, read, "{codec}");
        }
    }

    #[test]
    fn a_wrong_count_is_found_at_the_end() {
        let batch = batch(Codec::Lz4);
        for (count, what) in [(59, "bytes are left behind the last record"), (61, "length is cut")] {
            let last = Skim::new(Codec::Lz4, &batch[61..], count, 1 << 24).expect("it begins").last();
            let index = count.min(60) - if count == 59 { 1 } else { 0 };
            assert_eq!(last, Some(Err(BatchError::Record { index, what })));
        }
    }

    #[test]
    fn a_record_may_be_as_large_as_its_topic_allows() {
        let mut builder = BatchBuilder::new(Offset::ZERO).compression(Codec::Gzip);
        builder.append(Timestamp(0), None, Some(&[0; 100_000]), &[]);
        let batch = builder.build();
        // Attributes, two deltas, null key, three bytes of value length, no headers.
        let size = 100_000 + 8;
        let last =
            |max| Skim::new(Codec::Gzip, &batch[61..], 1, 1 << 20).expect("begins").records_up_to(max).last();
        assert!(last(size).expect("a record").is_ok());
        let what = "larger than the topic allows when decompressed";
        assert_eq!(last(size - 1), Some(Err(BatchError::Record { index: 0, what })));
    }

    #[test]
    fn the_limit_holds_for_all_blocks_together() {
        let batch = batch(Codec::Zstd);
        let last = Skim::new(Codec::Zstd, &batch[61..], 60, 100_000).expect("it begins").last();
        assert_eq!(last, Some(Err(BatchError::TooLarge { limit: 100_000 })));
    }
}
