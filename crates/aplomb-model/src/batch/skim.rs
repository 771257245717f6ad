//! The outlines of a batch's records, read while they are decompressed.
//!
//! Validating a compressed batch needs each record's deltas and whether it has a key, not the
//! record. So output is looked at block by block and dropped: memory stays at one block, however
//! much a batch stands for. What is accepted is exactly what [`RecordIter`](super::RecordIter)
//! accepts. Reading can pause between any two blocks, within a record too: its time is the caller's
//! to give.

use bytes::Bytes;

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

/// What a step of reading gives.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The next record's outline.
    Record(Outline),
    /// As much was decompressed as may be for now.
    Pause,
    /// All records were read.
    End,
}

/// Reads the outlines of a batch's records.
pub(super) struct Skim {
    blocks: Blocks<Bytes>,
    block: Vec<u8>,
    at: usize,
    /// What is left of the record that is being read across blocks; `None` in its length field.
    body_left: Option<usize>,
    /// How much may be decompressed for now.
    until: usize,
    /// The record in which reading paused.
    within: Option<Within>,
    max_record: usize,
    index: u32,
    count: u32,
}

/// How far a record is read that lies across blocks.
struct Within {
    outline: Outline,
    /// Bytes to pass over before `then`.
    skip: usize,
    skipping: &'static str,
    then: Then,
}

/// What comes next in a record.
#[derive(Clone, Copy)]
enum Then {
    Value,
    Headers,
    /// So many headers are left.
    Header(u32),
    /// The value of a header, so many being left behind it.
    HeaderValue(u32),
}

impl Skim {
    /// The `count` records in `bytes`, which are to give at most `limit` bytes when decompressed.
    pub(super) fn new(codec: Codec, bytes: Bytes, count: u32, limit: usize) -> Result<Self, BatchError> {
        let blocks = Blocks::new(codec, bytes, limit)?;
        Ok(Self {
            blocks,
            block: Vec::new(),
            at: 0,
            body_left: None,
            until: 0,
            within: None,
            max_record: usize::MAX,
            index: 0,
            count,
        })
    }

    /// Ends with an error at the first record of more than `max` bytes.
    pub(super) fn records_up_to(self, max: usize) -> Self {
        Self { max_record: max, ..self }
    }

    /// Bytes that were decompressed so far.
    pub(super) fn decompressed(&self) -> usize {
        self.blocks.produced()
    }

    /// Which record is the next one.
    pub(super) fn index(&self) -> u32 {
        self.index
    }

    /// What the next step has to be allowed to decompress.
    pub(super) fn least_next(&self) -> usize {
        self.blocks.least_next()
    }

    /// Reads on. Pauses rather than decompress more than `until` bytes, but for the rest of a
    /// number that has begun.
    #[inline]
    pub(super) fn next(&mut self, until: usize) -> Result<Step, BatchError> {
        if self.index == self.count {
            return Ok(Step::End);
        }
        self.until = until;
        let result = self.read();
        match result {
            Ok(Step::Record(_)) => self.index += 1,
            Ok(Step::Pause | Step::End) => {}
            Err(_) => self.count = self.index,
        }
        result
    }

    #[inline]
    fn read(&mut self) -> Result<Step, BatchError> {
        if self.within.is_none() && self.must_pause() {
            return Ok(Step::Pause);
        }
        let in_block = if self.within.is_none() { self.read_in_block() } else { None };
        let outline = match in_block {
            Some(result) => result?,
            None => match self.read_across_blocks()? {
                Some(outline) => outline,
                None => return Ok(Step::Pause),
            },
        };
        if self.index + 1 == self.count && (self.at < self.block.len() || self.refill()?) {
            return Err(self.complaint("bytes are left behind the last record"));
        }
        Ok(Step::Record(outline))
    }

    /// Whether the next byte costs another block, and none is to be had.
    #[inline]
    fn must_pause(&self) -> bool {
        self.at == self.block.len()
            && self.blocks.produced().saturating_add(self.blocks.least_next()) > self.until
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

    /// Reads a record, or goes on with it. `None` if that has to pause.
    fn read_across_blocks(&mut self) -> Result<Option<Outline>, BatchError> {
        let mut within = match self.within.take() {
            Some(within) => within,
            None => self.begin_record()?,
        };
        loop {
            if !self.skip(&mut within)? || self.must_pause() {
                self.within = Some(within);
                return Ok(None);
            }
            (within.skip, within.skipping, within.then) = match within.then {
                Then::Value => {
                    let what = "value is cut";
                    (self.nullable(what)?.unwrap_or(0), what, Then::Headers)
                }
                Then::Headers => {
                    let count = self.varint("header count is cut")?;
                    let count =
                        u32::try_from(count).map_err(|_| self.complaint("header count is negative"))?;
                    (0, "", Then::Header(count))
                }
                Then::Header(0) => break,
                Then::Header(left) => {
                    let len = self.varint("header key length is cut")?;
                    let len =
                        usize::try_from(len).map_err(|_| self.complaint("header key length is negative"))?;
                    let what = "header key is cut";
                    (self.within_body(len, what)?, what, Then::HeaderValue(left - 1))
                }
                Then::HeaderValue(left) => {
                    let what = "header value is cut";
                    (self.nullable(what)?.unwrap_or(0), what, Then::Header(left))
                }
            };
        }
        if self.body_left != Some(0) {
            return Err(self.complaint("record is longer than its content"));
        }
        Ok(Some(within.outline))
    }

    fn begin_record(&mut self) -> Result<Within, BatchError> {
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
        let skipping = "key is cut";
        let key = self.nullable(skipping)?;
        let outline = Outline { offset_delta, timestamp_delta, has_key: key.is_some() };
        Ok(Within { outline, skip: key.unwrap_or(0), skipping, then: Then::Value })
    }

    /// The length of something that may be null.
    fn nullable(&mut self, otherwise: &'static str) -> Result<Option<usize>, BatchError> {
        match usize::try_from(self.varint(otherwise)?) {
            Ok(len) => self.within_body(len, otherwise).map(Some),
            Err(_) => Ok(None),
        }
    }

    /// Counts `len` bytes of the record as read.
    fn within_body(&mut self, len: usize, otherwise: &'static str) -> Result<usize, BatchError> {
        let left = self.body_left.and_then(|left| left.checked_sub(len));
        self.body_left = Some(left.ok_or_else(|| self.complaint(otherwise))?);
        Ok(len)
    }

    /// Passes over what is to be skipped. `false` if that has to pause.
    fn skip(&mut self, within: &mut Within) -> Result<bool, BatchError> {
        while within.skip > 0 {
            if self.must_pause() {
                return Ok(false);
            }
            if self.at == self.block.len() && !self.refill()? {
                return Err(self.complaint(within.skipping));
            }
            let step = within.skip.min(self.block.len() - self.at);
            self.at += step;
            within.skip -= step;
        }
        Ok(true)
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
            let piece = self.until.saturating_sub(self.blocks.produced());
            if !self.blocks.append_next(&mut self.block, piece)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn complaint(&self, what: &'static str) -> BatchError {
        BatchError::Record { index: self.index, what }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{BatchBuilder, Batches, Header, RecordIter};
    use crate::{Offset, Timestamp};

    /// All that reading gives, in turns of so many bytes.
    fn read(mut skim: Skim, turn: usize) -> Vec<Result<Outline, BatchError>> {
        let mut outlines = Vec::new();
        loop {
            let until = skim.decompressed().saturating_add(turn.max(skim.least_next()));
            match skim.next(until) {
                Ok(Step::Record(outline)) => outlines.push(Ok(outline)),
                Ok(Step::Pause) => {}
                Ok(Step::End) => return outlines,
                Err(error) => outlines.push(Err(error)),
            }
        }
    }

    /// A reader of what is behind the header of `batch`.
    fn skim(codec: Codec, batch: &Bytes, count: u32, limit: usize) -> Skim {
        Skim::new(codec, batch.slice(61..), count, limit).expect("it begins")
    }

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
            let plain = view.uncompressed(1 << 24).expect("it decompresses");
            let outlines: Vec<_> = RecordIter::new(&plain, 60)
                .map(|record| record.expect("whole"))
                .map(|r| {
                    Ok(Outline {
                        offset_delta: r.offset_delta,
                        timestamp_delta: r.timestamp_delta,
                        has_key: r.key.is_some(),
                    })
                })
                .collect();
            // Turns as short as a block pause within records, too.
            for turn in [usize::MAX, 100_000, 1] {
                assert_eq!(read(skim(codec, &batch, 60, 1 << 24), turn), outlines, "{codec} {turn}");
            }
        }
    }

    #[test]
    fn a_turn_ends_within_a_record_that_stands_for_more() {
        let mut builder = BatchBuilder::new(Offset::ZERO).compression(Codec::Zstd);
        builder.append(Timestamp(0), None, Some(&[0; 5_000_000]), &[]);
        let mut skim = skim(Codec::Zstd, &builder.build(), 1, 1 << 24);
        let mut turns = 0;
        while skim.next((turns + 1) * 100_000).expect("it is whole") == Step::Pause {
            turns += 1;
            assert!(skim.decompressed() <= turns * 100_000, "{} in {turns}", skim.decompressed());
        }
        assert!(turns >= 50, "{turns}");
    }

    #[test]
    fn a_wrong_count_is_found_at_the_end() {
        let batch = batch(Codec::Lz4);
        for (count, what) in [(59, "bytes are left behind the last record"), (61, "length is cut")] {
            let last = read(skim(Codec::Lz4, &batch, count, 1 << 24), usize::MAX).pop();
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
        let last = |max| read(skim(Codec::Gzip, &batch, 1, 1 << 20).records_up_to(max), 1).pop();
        assert!(last(size).expect("a record").is_ok());
        let what = "larger than the topic allows when decompressed";
        assert_eq!(last(size - 1), Some(Err(BatchError::Record { index: 0, what })));
    }

    #[test]
    fn the_limit_holds_for_all_blocks_together() {
        let batch = batch(Codec::Zstd);
        let last = read(skim(Codec::Zstd, &batch, 60, 100_000), usize::MAX).pop();
        assert_eq!(last, Some(Err(BatchError::TooLarge { limit: 100_000 })));
    }
}
