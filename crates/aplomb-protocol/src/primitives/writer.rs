//! Writes values to the end of a buffer.
//!
//! Tagged fields announce their size, so they are written first and their size is slipped in before them: no second
//! pass over the message, no buffer beside this one.

use aplomb_model::Uuid;
use bytes::{BufMut as _, Bytes, BytesMut};

use super::MAX_STRING;
use crate::EncodeError;

/// A growing buffer.
#[derive(Debug, Default)]
pub struct Writer {
    buffer: BytesMut,
}

/// An open section of tagged fields. Their count, which is below 128 in every schema, is kept in one byte.
#[derive(Debug)]
#[must_use]
pub struct Tags {
    count_at: usize,
}

/// A place left open for the count of an array whose elements are being written.
#[derive(Debug)]
#[must_use]
pub(crate) struct OpenCount {
    at: usize,
    flexible: bool,
}

impl Writer {
    /// An empty buffer.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty buffer with room for `capacity` bytes.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self { buffer: BytesMut::with_capacity(capacity) }
    }

    /// Bytes written so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.buffer.len()
    }

    /// Whether nothing was written yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// What was written so far.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        &self.buffer
    }

    /// Everything that was written.
    #[must_use]
    pub fn freeze(self) -> Bytes {
        self.buffer.freeze()
    }

    /// Overwrites four bytes at `at`, which were written before.
    pub(crate) fn patch_i32(&mut self, at: usize, value: i32) {
        self.buffer[at..at + 4].copy_from_slice(&value.to_be_bytes());
    }

    /// Bytes as they are.
    pub fn raw(&mut self, value: &[u8]) {
        self.buffer.put_slice(value);
    }

    /// One byte.
    pub fn u8(&mut self, value: u8) {
        self.buffer.put_u8(value);
    }

    /// A boolean: 0 or 1.
    pub fn bool(&mut self, value: bool) {
        self.buffer.put_u8(u8::from(value));
    }

    /// A signed byte.
    pub fn i8(&mut self, value: i8) {
        self.buffer.put_i8(value);
    }

    /// A big-endian 16-bit integer.
    pub fn i16(&mut self, value: i16) {
        self.buffer.put_i16(value);
    }

    /// A big-endian unsigned 16-bit integer.
    pub fn u16(&mut self, value: u16) {
        self.buffer.put_u16(value);
    }

    /// A big-endian 32-bit integer.
    pub fn i32(&mut self, value: i32) {
        self.buffer.put_i32(value);
    }

    /// A big-endian unsigned 32-bit integer.
    pub fn u32(&mut self, value: u32) {
        self.buffer.put_u32(value);
    }

    /// A big-endian 64-bit integer.
    pub fn i64(&mut self, value: i64) {
        self.buffer.put_i64(value);
    }

    /// A big-endian IEEE double.
    pub fn f64(&mut self, value: f64) {
        self.buffer.put_f64(value);
    }

    /// Sixteen bytes.
    pub fn uuid(&mut self, value: Uuid) {
        self.buffer.put_slice(&value.0);
    }

    /// An unsigned varint: seven bits a byte, lowest first.
    pub fn uvarint(&mut self, value: u32) {
        let (raw, len) = varint(value);
        self.buffer.put_slice(&raw[..len]);
    }

    fn compact_length(&mut self, len: Option<usize>) -> Result<(), EncodeError> {
        let value = match len {
            None => 0,
            Some(len) => i32::try_from(len).map_err(|_| EncodeError::TooLong(len))?.unsigned_abs() + 1,
        };
        self.uvarint(value);
        Ok(())
    }

    fn long_length(&mut self, len: Option<usize>, flexible: bool) -> Result<(), EncodeError> {
        if flexible {
            return self.compact_length(len);
        }
        let value = match len {
            None => -1,
            Some(len) => i32::try_from(len).map_err(|_| EncodeError::TooLong(len))?,
        };
        self.i32(value);
        Ok(())
    }

    /// A string, or null.
    ///
    /// # Errors
    /// [`EncodeError::StringTooLong`].
    pub fn nullable_string(&mut self, value: Option<&str>, flexible: bool) -> Result<(), EncodeError> {
        let len = value.map(str::len);
        let short = match len {
            None => -1,
            Some(len) if len > MAX_STRING => return Err(EncodeError::StringTooLong(len)),
            Some(len) => len as i16,
        };
        if flexible {
            self.compact_length(len)?;
        } else {
            self.i16(short);
        }
        self.raw(value.unwrap_or_default().as_bytes());
        Ok(())
    }

    /// A string.
    ///
    /// # Errors
    /// [`EncodeError::StringTooLong`].
    pub fn string(&mut self, value: &str, flexible: bool) -> Result<(), EncodeError> {
        self.nullable_string(Some(value), flexible)
    }

    /// Bytes or records, or null.
    ///
    /// # Errors
    /// [`EncodeError::TooLong`].
    pub fn nullable_bytes(&mut self, value: Option<&[u8]>, flexible: bool) -> Result<(), EncodeError> {
        self.long_length(value.map(<[u8]>::len), flexible)?;
        self.raw(value.unwrap_or_default());
        Ok(())
    }

    /// Bytes or records.
    ///
    /// # Errors
    /// [`EncodeError::TooLong`].
    pub fn bytes(&mut self, value: &[u8], flexible: bool) -> Result<(), EncodeError> {
        self.nullable_bytes(Some(value), flexible)
    }

    /// The length of bytes or records that somebody else writes, or null.
    ///
    /// # Errors
    /// [`EncodeError::TooLong`].
    pub(crate) fn bytes_length(&mut self, len: Option<usize>, flexible: bool) -> Result<(), EncodeError> {
        self.long_length(len, flexible)
    }

    /// An array's count; the elements follow.
    ///
    /// # Errors
    /// [`EncodeError::TooLong`].
    pub fn count(&mut self, count: usize, flexible: bool) -> Result<(), EncodeError> {
        self.long_length(Some(count), flexible)
    }

    /// Leaves a place for an array's count.
    pub(crate) fn open_count(&mut self, flexible: bool) -> OpenCount {
        let at = self.len();
        if flexible {
            self.u8(0);
        } else {
            self.i32(0);
        }
        OpenCount { at, flexible }
    }

    /// Fills the place in. Everything that was written behind it moves on by the number of bytes returned: none, unless
    /// a compact count is over 126.
    ///
    /// # Errors
    /// [`EncodeError::TooLong`].
    pub(crate) fn close_count(&mut self, open: OpenCount, count: usize) -> Result<usize, EncodeError> {
        let raw_count = i32::try_from(count).map_err(|_| EncodeError::TooLong(count))?;
        if !open.flexible {
            self.patch_i32(open.at, raw_count);
            return Ok(0);
        }
        let (raw, len) = varint(raw_count.unsigned_abs() + 1);
        self.buffer[open.at] = raw[0];
        self.raw(&raw[1..len]);
        self.buffer[open.at + 1..].rotate_right(len - 1);
        Ok(len - 1)
    }

    /// An array; `element` writes one of it.
    ///
    /// # Errors
    /// [`EncodeError::TooLong`], and those of `element`.
    pub fn array<T>(
        &mut self,
        elements: &[T],
        flexible: bool,
        mut element: impl FnMut(&mut Self, &T) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        self.count(elements.len(), flexible)?;
        elements.iter().try_for_each(|one| element(self, one))
    }

    /// An array, or null; `element` writes one of it.
    ///
    /// # Errors
    /// As [`Self::array`].
    pub fn nullable_array<T>(
        &mut self,
        elements: Option<&[T]>,
        flexible: bool,
        element: impl FnMut(&mut Self, &T) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        match elements {
            Some(elements) => self.array(elements, flexible, element),
            None => self.long_length(None, flexible),
        }
    }

    /// A struct behind its presence byte: 1, or -1 for null.
    ///
    /// # Errors
    /// Those of `write`.
    pub fn nullable_struct<T>(
        &mut self,
        value: Option<&T>,
        write: impl FnOnce(&mut Self, &T) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        self.i8(if value.is_some() { 1 } else { -1 });
        value.map_or(Ok(()), |value| write(self, value))
    }

    /// A struct in a tagged field, behind its presence varint: 1, or 0 for null.
    ///
    /// # Errors
    /// Those of `write`.
    pub fn tagged_nullable_struct<T>(
        &mut self,
        value: Option<&T>,
        write: impl FnOnce(&mut Self, &T) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        self.uvarint(u32::from(value.is_some()));
        value.map_or(Ok(()), |value| write(self, value))
    }

    /// Opens the section of tagged fields that ends every struct of a flexible version.
    pub fn open_tags(&mut self) -> Tags {
        let count_at = self.len();
        self.u8(0);
        Tags { count_at }
    }

    /// The section of tagged fields of a struct that has none.
    pub fn no_tags(&mut self) {
        self.u8(0);
    }

    /// Adds a tagged field; tags have to rise. `value` writes its value.
    ///
    /// # Errors
    /// [`EncodeError::TooLong`], and those of `value`.
    pub fn tagged(
        &mut self,
        tags: &mut Tags,
        tag: u32,
        value: impl FnOnce(&mut Self) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        self.buffer[tags.count_at] += 1;
        assert!(self.buffer[tags.count_at] < 0x80, "a schema has fewer than 128 tags");
        self.uvarint(tag);
        let start = self.len();
        value(self)?;
        let size = self.len() - start;
        let size = u32::try_from(size).map_err(|_| EncodeError::TooLong(size))?;
        let (raw, len) = varint(size);
        self.raw(&raw[..len]);
        self.buffer[start..].rotate_right(len);
        Ok(())
    }
}

fn varint(mut value: u32) -> ([u8; 5], usize) {
    let mut raw = [0; 5];
    let mut len = 0;
    loop {
        raw[len] = value as u8 & 0x7f;
        value >>= 7;
        if value == 0 {
            return (raw, len + 1);
        }
        raw[len] |= 0x80;
        len += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reader;

    #[test]
    fn a_varint_reads_back_at_every_width() {
        for value in
            [0, 1, 127, 128, 300, 16_383, 16_384, 2_097_151, 2_097_152, 268_435_455, 268_435_456, u32::MAX]
        {
            let mut writer = Writer::new();
            writer.uvarint(value);
            let mut reader = Reader::new(writer.freeze());
            assert_eq!(reader.uvarint(), Ok(value));
            assert_eq!(reader.finish(), Ok(()));
        }
    }

    #[test]
    fn a_tagged_field_gets_its_size_slipped_in_before_it() {
        let mut w = Writer::new();
        let mut tags = w.open_tags();
        w.tagged(&mut tags, 0, |w| w.string("ab", true)).unwrap();
        w.tagged(&mut tags, 3, |w| {
            w.raw(&[7; 200]);
            Ok(())
        })
        .unwrap();
        let mut expected = vec![2, 0, 3, 3, b'a', b'b', 3, 0xc8, 0x01];
        expected.extend([7; 200]);
        assert_eq!(w.as_slice(), expected);
    }

    #[test]
    fn a_count_filled_in_later_is_the_count_written_first() {
        for flexible in [false, true] {
            for count in [0, 1, 126, 127, 20_000] {
                let elements = vec![7; count];
                let mut expected = Writer::new();
                expected.count(count, flexible).unwrap();
                expected.raw(&elements);

                let mut w = Writer::new();
                let open = w.open_count(flexible);
                w.raw(&elements);
                let moved = w.close_count(open, count).unwrap();
                assert_eq!(w.as_slice(), expected.as_slice());
                assert_eq!(moved, expected.len() - count - if flexible { 1 } else { 4 });
            }
        }
    }

    #[test]
    fn a_string_over_the_limit_is_an_error_in_both_forms() {
        let long = "x".repeat(MAX_STRING + 1);
        for flexible in [false, true] {
            assert_eq!(
                Writer::new().string(&long, flexible),
                Err(EncodeError::StringTooLong(MAX_STRING + 1))
            );
            assert_eq!(Writer::new().string(&long[1..], flexible), Ok(()));
        }
    }
}
