//! Writes values to the end of a buffer. Arrays are in `arrays`, tagged fields in `tags`.

use aplomb_model::Uuid;
use bytes::Bytes;

use super::{ErrorTally, MAX_STRING};
use crate::EncodeError;

/// What keys, values and most requests take at most, in bytes.
const ROOM: usize = 64;

/// A growing buffer.
#[derive(Debug, Default)]
pub struct Writer {
    pub(super) buffer: Vec<u8>,
    errors: ErrorTally,
    throttle_at: Option<usize>,
}

impl Writer {
    /// An empty buffer, with room for something short: it would grow four times on its way there.
    #[must_use]
    pub fn new() -> Self {
        Self::with_capacity(ROOM)
    }

    /// An empty buffer with room for `capacity` bytes.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self { buffer: Vec::with_capacity(capacity), ..Self::default() }
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
        self.buffer.into()
    }

    /// Overwrites four bytes at `at`, which were written before.
    pub(crate) fn patch_i32(&mut self, at: usize, value: i32) {
        self.buffer[at..at + 4].copy_from_slice(&value.to_be_bytes());
    }

    /// Bytes as they are.
    pub fn raw(&mut self, value: &[u8]) {
        self.buffer.extend_from_slice(value);
    }

    /// One byte.
    pub fn u8(&mut self, value: u8) {
        self.buffer.push(value);
    }

    /// A boolean: 0 or 1.
    pub fn bool(&mut self, value: bool) {
        self.buffer.push(u8::from(value));
    }

    /// A signed byte.
    pub fn i8(&mut self, value: i8) {
        self.buffer.extend_from_slice(&value.to_be_bytes());
    }

    /// A big-endian 16-bit integer.
    pub fn i16(&mut self, value: i16) {
        self.buffer.extend_from_slice(&value.to_be_bytes());
    }

    /// An error code, which is counted ([`Self::take_errors`]).
    pub fn error_code(&mut self, value: i16) {
        self.errors.add(value);
        self.i16(value);
    }

    /// The error codes that were written so far.
    #[must_use]
    pub fn take_errors(&mut self) -> ErrorTally {
        std::mem::take(&mut self.errors)
    }

    /// For how long a client is throttled, in milliseconds. Its place is remembered, for often it
    /// is known only when the whole response is ([`Self::throttle_at`]).
    pub fn throttle_time(&mut self, millis: i32) {
        self.throttle_at = Some(self.len());
        self.i32(millis);
    }

    /// Where the throttle time was written, if it was.
    #[must_use]
    pub fn throttle_at(&self) -> Option<usize> {
        self.throttle_at
    }

    /// A big-endian unsigned 16-bit integer.
    pub fn u16(&mut self, value: u16) {
        self.buffer.extend_from_slice(&value.to_be_bytes());
    }

    /// A big-endian 32-bit integer.
    pub fn i32(&mut self, value: i32) {
        self.buffer.extend_from_slice(&value.to_be_bytes());
    }

    /// A big-endian unsigned 32-bit integer.
    pub fn u32(&mut self, value: u32) {
        self.buffer.extend_from_slice(&value.to_be_bytes());
    }

    /// A big-endian 64-bit integer.
    pub fn i64(&mut self, value: i64) {
        self.buffer.extend_from_slice(&value.to_be_bytes());
    }

    /// A big-endian IEEE double.
    pub fn f64(&mut self, value: f64) {
        self.buffer.extend_from_slice(&value.to_be_bytes());
    }

    /// Sixteen bytes.
    pub fn uuid(&mut self, value: Uuid) {
        self.buffer.extend_from_slice(&value.0);
    }

    /// An unsigned varint: seven bits a byte, lowest first.
    pub fn uvarint(&mut self, value: u32) {
        let (raw, len) = varint(value);
        self.buffer.extend_from_slice(&raw[..len]);
    }

    fn compact_length(&mut self, len: Option<usize>) -> Result<(), EncodeError> {
        let value = match len {
            None => 0,
            Some(len) => i32::try_from(len).map_err(|_| EncodeError::TooLong(len))?.unsigned_abs() + 1,
        };
        self.uvarint(value);
        Ok(())
    }

    pub(super) fn long_length(&mut self, len: Option<usize>, flexible: bool) -> Result<(), EncodeError> {
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

    /// The length of bytes or records that are written elsewhere, or null.
    ///
    /// # Errors
    /// [`EncodeError::TooLong`].
    pub(crate) fn bytes_length(&mut self, len: Option<usize>, flexible: bool) -> Result<(), EncodeError> {
        self.long_length(len, flexible)
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
}

/// A number as an unsigned varint: its bytes, and how many of them count.
pub(super) fn varint(mut value: u32) -> ([u8; 5], usize) {
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
