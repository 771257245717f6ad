//! The records of a batch, as views on its uncompressed bytes.
//!
//! A record is checked to its last byte before it is given out, headers included, so what it lends
//! can be used without further errors. What is accepted is what Apache Kafka's `DefaultRecord`
//! accepts: any negative length stands for null, and the attributes byte is not looked at.

use std::iter::FusedIterator;

use super::error::BatchError;
use super::varint::ByteCursor;

/// A record of a batch. Key, value and headers are slices of the batch.
#[derive(Clone, Copy, Debug)]
pub struct RecordRef<'a> {
    /// From the batch's base offset.
    pub offset_delta: i32,
    /// From the batch's base timestamp, in milliseconds.
    pub timestamp_delta: i64,
    /// The key; null and empty are not the same.
    pub key: Option<&'a [u8]>,
    /// The value; null is a tombstone.
    pub value: Option<&'a [u8]>,
    /// Its headers, in their order.
    pub headers: Headers<'a>,
}

/// A record's headers, in their order; keys may repeat.
#[derive(Clone, Copy, Debug)]
pub struct Headers<'a> {
    count: u32,
    bytes: &'a [u8],
}

/// One header of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header<'a> {
    /// The key: UTF-8 by convention, which is not checked.
    pub key: &'a [u8],
    /// The value, or null.
    pub value: Option<&'a [u8]>,
}

impl<'a> Headers<'a> {
    /// How many headers there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The headers, first to last.
    #[must_use]
    pub fn iter(&self) -> HeaderIter<'a> {
        HeaderIter { left: self.count, cursor: ByteCursor::new(self.bytes) }
    }

    /// Checks `count` headers at the cursor, and takes them from it.
    fn parse(cursor: &mut ByteCursor<'a>) -> Result<Self, &'static str> {
        let count = cursor.varint().ok_or("header count is cut")?;
        let count = u32::try_from(count).map_err(|_| "header count is negative")?;
        // A header takes two bytes at least; a count beyond that need not be walked to be wrong.
        let bytes = cursor.rest();
        if count as usize > bytes.len() / 2 {
            return Err("more headers than bytes");
        }
        for _ in 0..count {
            read_header(cursor)?;
        }
        Ok(Self { count, bytes: &bytes[..bytes.len() - cursor.rest().len()] })
    }
}

impl<'a> IntoIterator for Headers<'a> {
    type Item = Header<'a>;
    type IntoIter = HeaderIter<'a>;

    fn into_iter(self) -> HeaderIter<'a> {
        self.iter()
    }
}

/// Iterates over a record's headers.
#[derive(Clone, Debug)]
pub struct HeaderIter<'a> {
    left: u32,
    cursor: ByteCursor<'a>,
}

impl<'a> Iterator for HeaderIter<'a> {
    type Item = Header<'a>;

    fn next(&mut self) -> Option<Header<'a>> {
        self.left = self.left.checked_sub(1)?;
        Some(read_header(&mut self.cursor).expect("headers were checked when their record was"))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for HeaderIter<'_> {}
impl FusedIterator for HeaderIter<'_> {}

fn read_header<'a>(cursor: &mut ByteCursor<'a>) -> Result<Header<'a>, &'static str> {
    let len = cursor.varint().ok_or("header key length is cut")?;
    let len = usize::try_from(len).map_err(|_| "header key length is negative")?;
    let key = cursor.take(len).ok_or("header key is cut")?;
    let value = cursor.nullable_bytes().ok_or("header value is cut")?;
    Ok(Header { key, value })
}

/// Iterates over the records of a batch, given their uncompressed bytes.
///
/// Ends after the batch's count of records, or after the first error; bytes left over behind the
/// last record are an error too. A batch that counts no records has none, whatever its bytes.
#[derive(Clone, Debug)]
pub struct RecordIter<'a> {
    cursor: ByteCursor<'a>,
    index: u32,
    count: u32,
}

impl<'a> RecordIter<'a> {
    /// The `count` records that `records` is made of.
    #[must_use]
    pub fn new(records: &'a [u8], count: u32) -> Self {
        Self { cursor: ByteCursor::new(records), index: 0, count }
    }

    fn read(&mut self) -> Result<RecordRef<'a>, &'static str> {
        let len = self.cursor.varint().ok_or("length is cut")?;
        let len = usize::try_from(len).map_err(|_| "length is negative")?;
        let body = self.cursor.take(len).ok_or("body is cut")?;
        let record = read_body(body)?;
        if self.index + 1 == self.count && !self.cursor.is_empty() {
            return Err("bytes are left behind the last record");
        }
        Ok(record)
    }
}

impl<'a> Iterator for RecordIter<'a> {
    type Item = Result<RecordRef<'a>, BatchError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.index == self.count {
            return None;
        }
        match self.read() {
            Ok(record) => {
                self.index += 1;
                Some(Ok(record))
            }
            Err(what) => {
                let index = self.index;
                self.count = index;
                Some(Err(BatchError::Record { index, what }))
            }
        }
    }
}

impl FusedIterator for RecordIter<'_> {}

pub(super) fn read_body(body: &[u8]) -> Result<RecordRef<'_>, &'static str> {
    let mut cursor = ByteCursor::new(body);
    cursor.byte().ok_or("attributes are cut")?;
    let record = RecordRef {
        timestamp_delta: cursor.varlong().ok_or("timestamp delta is cut")?,
        offset_delta: cursor.varint().ok_or("offset delta is cut")?,
        key: cursor.nullable_bytes().ok_or("key is cut")?,
        value: cursor.nullable_bytes().ok_or("value is cut")?,
        headers: Headers::parse(&mut cursor)?,
    };
    if !cursor.is_empty() {
        return Err("record is longer than its content");
    }
    Ok(record)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Length, attributes, timestamp delta 1, offset delta 0, key "k", null value, two headers.
    const RECORD: &[u8] = &[24, 0, 2, 0, 2, b'k', 1, 4, 2, b'h', 1, 0, 0];

    fn all(bytes: &[u8], count: u32) -> Vec<Result<RecordRef<'_>, BatchError>> {
        RecordIter::new(bytes, count).collect()
    }

    fn complaint(bytes: &[u8], count: u32) -> BatchError {
        all(bytes, count).pop().expect("something").expect_err("an error")
    }

    #[test]
    fn a_record_lends_its_parts() {
        let records = all(RECORD, 1);
        let record = records[0].as_ref().expect("the record is whole");
        assert_eq!((record.timestamp_delta, record.offset_delta), (1, 0));
        assert_eq!((record.key, record.value), (Some(&b"k"[..]), None));
        let headers: Vec<_> = record.headers.iter().collect();
        assert_eq!(headers, [Header { key: b"h", value: None }, Header { key: b"", value: Some(b"") }]);
    }

    #[test]
    fn what_is_wrong_is_said_once_and_with_its_place() {
        let two = [RECORD, RECORD].concat();
        assert_eq!(all(&two, 2).len(), 2);
        assert_eq!(
            complaint(&two, 1),
            BatchError::Record { index: 0, what: "bytes are left behind the last record" }
        );
        assert_eq!(complaint(&two, 3), BatchError::Record { index: 2, what: "length is cut" });
        assert_eq!(all(&two, 3).len(), 3);
        assert!(all(&two, 0).is_empty());
    }

    #[test]
    fn every_cut_is_an_error() {
        for end in 0..RECORD.len() {
            assert!(RecordIter::new(&RECORD[..end], 1).any(|r| r.is_err()), "cut at {end}");
        }
    }

    #[test]
    fn lengths_are_not_believed() {
        let mut far = RECORD.to_vec();
        far[0] = 26;
        assert_eq!(complaint(&far, 1), BatchError::Record { index: 0, what: "body is cut" });
        let longer = [&[26][..], &RECORD[1..], &[0]].concat();
        assert_eq!(
            complaint(&longer, 1),
            BatchError::Record { index: 0, what: "record is longer than its content" }
        );
        let headers = [14, 0, 0, 0, 1, 1, 0xfe, 0x7f];
        assert_eq!(complaint(&headers, 1), BatchError::Record { index: 0, what: "more headers than bytes" });
        assert_eq!(complaint(&[1], 1), BatchError::Record { index: 0, what: "length is negative" });
    }

    #[test]
    fn a_negative_length_is_null() {
        // Key length -3, value length -1.
        let bytes = [12, 0, 0, 0, 5, 1, 0];
        let records = all(&bytes, 1);
        let record = records[0].as_ref().expect("the record is whole");
        assert_eq!((record.key, record.value), (None, None));
    }
}
