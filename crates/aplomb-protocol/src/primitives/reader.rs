//! Reads values off the front of a frame.
//!
//! Nothing is believed: every length is compared with the bytes that are left before anything is
//! allocated. Bytes and records are slices of the frame. Arrays are in `arrays`, tagged fields in
//! `tags`.

use std::ops::Range;

use aplomb_model::Uuid;
use bytes::Bytes;

use super::MAX_STRING;
use crate::DecodeError;

/// What the vectors of a frame may take together, in bytes: this, and [`ALLOWANCE_PER_BYTE`] for
/// each byte of the frame. An honest request's structs take a few times its bytes.
const ALLOWANCE: usize = 16 << 20;

/// See [`ALLOWANCE`].
const ALLOWANCE_PER_BYTE: usize = 4;

/// A position in a frame, and where the readable part of it ends.
#[derive(Clone, Debug)]
pub struct Reader {
    frame: Bytes,
    pub(super) at: usize,
    pub(super) end: usize,
    /// What vectors may still take, in bytes.
    allowance: usize,
}

impl Reader {
    /// Reads from the start of `frame`.
    #[must_use]
    pub fn new(frame: Bytes) -> Self {
        let end = frame.len();
        Self { frame, at: 0, end, allowance: ALLOWANCE + ALLOWANCE_PER_BYTE.saturating_mul(end) }
    }

    /// Takes so many bytes of a vector off what the frame's vectors may still take.
    pub(super) fn charge(&mut self, bytes: usize) -> Result<(), DecodeError> {
        let left = self.allowance.checked_sub(bytes);
        self.allowance = left.ok_or(DecodeError::OverAllowance { frame: self.frame.len() })?;
        Ok(())
    }

    /// Bytes that are left.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.end - self.at
    }

    /// Bytes read so far.
    #[must_use]
    pub fn position(&self) -> usize {
        self.at
    }

    /// The whole frame, what was read of it included.
    #[must_use]
    pub(crate) fn frame(&self) -> &Bytes {
        &self.frame
    }

    /// Reads something that is read again afterwards.
    pub(crate) fn ahead<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        let at = self.at;
        let value = read(self);
        self.at = at;
        value
    }

    /// What is left, as a slice of the frame.
    #[must_use]
    pub fn rest(&self) -> Bytes {
        self.frame.slice(self.at..self.end)
    }

    /// Checks that everything was read.
    ///
    /// # Errors
    /// [`DecodeError::TrailingBytes`].
    pub fn finish(&self) -> Result<(), DecodeError> {
        match self.remaining() {
            0 => Ok(()),
            left => Err(DecodeError::TrailingBytes(left)),
        }
    }

    /// Passes over `len` bytes and returns where they begin.
    pub(crate) fn skip(&mut self, len: usize) -> Result<usize, DecodeError> {
        let left = self.remaining();
        if len > left {
            return Err(DecodeError::Truncated { wanted: len, left });
        }
        let start = self.at;
        self.at += len;
        Ok(start)
    }

    fn take(&mut self, len: usize) -> Result<&[u8], DecodeError> {
        let start = self.skip(len)?;
        Ok(&self.frame[start..start + len])
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let start = self.skip(N)?;
        Ok(*self.frame[start..].first_chunk().expect("so many bytes are left"))
    }

    /// One byte.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`], as for all fixed-size values below.
    pub fn u8(&mut self) -> Result<u8, DecodeError> {
        Ok(u8::from_be_bytes(self.fixed()?))
    }

    /// A boolean: one byte, anything but zero is true.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`].
    pub fn bool(&mut self) -> Result<bool, DecodeError> {
        Ok(self.u8()? != 0)
    }

    /// A signed byte.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`].
    pub fn i8(&mut self) -> Result<i8, DecodeError> {
        Ok(i8::from_be_bytes(self.fixed()?))
    }

    /// A big-endian 16-bit integer.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`].
    pub fn i16(&mut self) -> Result<i16, DecodeError> {
        Ok(i16::from_be_bytes(self.fixed()?))
    }

    /// A big-endian unsigned 16-bit integer.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`].
    pub fn u16(&mut self) -> Result<u16, DecodeError> {
        Ok(u16::from_be_bytes(self.fixed()?))
    }

    /// A big-endian 32-bit integer.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`].
    pub fn i32(&mut self) -> Result<i32, DecodeError> {
        Ok(i32::from_be_bytes(self.fixed()?))
    }

    /// A big-endian unsigned 32-bit integer.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`].
    pub fn u32(&mut self) -> Result<u32, DecodeError> {
        Ok(u32::from_be_bytes(self.fixed()?))
    }

    /// A big-endian 64-bit integer.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`].
    pub fn i64(&mut self) -> Result<i64, DecodeError> {
        Ok(i64::from_be_bytes(self.fixed()?))
    }

    /// A big-endian IEEE double.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`].
    pub fn f64(&mut self) -> Result<f64, DecodeError> {
        Ok(f64::from_be_bytes(self.fixed()?))
    }

    /// Sixteen bytes.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`].
    pub fn uuid(&mut self) -> Result<Uuid, DecodeError> {
        Ok(Uuid(self.fixed()?))
    }

    /// An unsigned varint: seven bits a byte, lowest first, at most five bytes.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`], [`DecodeError::VarintTooLong`].
    pub fn uvarint(&mut self) -> Result<u32, DecodeError> {
        let mut value = 0;
        for shift in [0, 7, 14, 21, 28] {
            let byte = self.u8()?;
            let bits = u32::from(byte & 0x7f);
            if shift == 28 && bits > 0x0f {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(DecodeError::VarintTooLong)
    }

    fn compact_length(&mut self) -> Result<Option<usize>, DecodeError> {
        Ok(self.uvarint()?.checked_sub(1).map(|len| len as usize))
    }

    /// Any negative length is null's, as in Apache Kafka's generated messages.
    fn old_length(raw: i32) -> Option<usize> {
        usize::try_from(raw).ok()
    }

    fn string_length(&mut self, flexible: bool) -> Result<Option<usize>, DecodeError> {
        let len = if flexible { self.compact_length()? } else { Self::old_length(i32::from(self.i16()?)) };
        match len {
            Some(len) if len > MAX_STRING => Err(DecodeError::StringTooLong(len)),
            _ => Ok(len),
        }
    }

    pub(super) fn long_length(&mut self, flexible: bool) -> Result<Option<usize>, DecodeError> {
        if flexible { self.compact_length() } else { Ok(Self::old_length(self.i32()?)) }
    }

    /// Where a string lies in the frame. It is UTF-8.
    pub(crate) fn str_range(&mut self, flexible: bool) -> Result<Range<usize>, DecodeError> {
        let len = self.str(flexible)?.len();
        Ok(self.at - len..self.at)
    }

    /// A string, borrowed from the frame, or null.
    ///
    /// # Errors
    /// When it is cut short, too long, or not UTF-8.
    pub fn nullable_str(&mut self, flexible: bool) -> Result<Option<&str>, DecodeError> {
        let Some(len) = self.string_length(flexible)? else { return Ok(None) };
        std::str::from_utf8(self.take(len)?).map(Some).map_err(|_| DecodeError::NotUtf8)
    }

    /// A string, borrowed from the frame.
    ///
    /// # Errors
    /// As [`Self::nullable_str`], and [`DecodeError::UnexpectedNull`].
    pub fn str(&mut self, flexible: bool) -> Result<&str, DecodeError> {
        self.nullable_str(flexible)?.ok_or(DecodeError::UnexpectedNull)
    }

    /// A string of our own, or null. What is not UTF-8 in it becomes U+FFFD, as in Apache Kafka.
    ///
    /// # Errors
    /// When it is cut short, or too long.
    pub fn nullable_string(&mut self, flexible: bool) -> Result<Option<String>, DecodeError> {
        let Some(len) = self.string_length(flexible)? else { return Ok(None) };
        let raw = self.take(len)?;
        let whole = std::str::from_utf8(raw).map(str::to_owned);
        Ok(Some(whole.unwrap_or_else(|_| String::from_utf8_lossy(raw).into_owned())))
    }

    /// A string of our own.
    ///
    /// # Errors
    /// As [`Self::str`].
    pub fn string(&mut self, flexible: bool) -> Result<String, DecodeError> {
        self.nullable_string(flexible)?.ok_or(DecodeError::UnexpectedNull)
    }

    /// Bytes or records as a slice of the frame, or null.
    ///
    /// # Errors
    /// When they are cut short.
    pub fn nullable_bytes(&mut self, flexible: bool) -> Result<Option<Bytes>, DecodeError> {
        let Some(len) = self.long_length(flexible)? else { return Ok(None) };
        let start = self.skip(len)?;
        Ok(Some(self.frame.slice(start..start + len)))
    }

    /// Bytes or records as a slice of the frame.
    ///
    /// # Errors
    /// As [`Self::nullable_bytes`], and [`DecodeError::UnexpectedNull`].
    pub fn bytes(&mut self, flexible: bool) -> Result<Bytes, DecodeError> {
        self.nullable_bytes(flexible)?.ok_or(DecodeError::UnexpectedNull)
    }

    /// A struct behind its presence byte (negative: null).
    ///
    /// # Errors
    /// [`DecodeError::Truncated`], and those of `value`.
    pub fn nullable_struct<T>(
        &mut self,
        value: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Option<T>, DecodeError> {
        if self.i8()? < 0 { Ok(None) } else { value(self).map(Some) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(raw: &'static [u8]) -> Reader {
        Reader::new(Bytes::from_static(raw))
    }

    #[test]
    fn a_varint_holds_32_bits_and_not_one_more() {
        assert_eq!(reader(&[0xff, 0xff, 0xff, 0xff, 0x0f]).uvarint(), Ok(u32::MAX));
        assert_eq!(reader(&[0xff, 0xff, 0xff, 0xff, 0x1f]).uvarint(), Err(DecodeError::VarintTooLong));
        assert_eq!(reader(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x00]).uvarint(), Err(DecodeError::VarintTooLong));
        assert_eq!(reader(&[0xac, 0x02]).uvarint(), Ok(300));
        assert_eq!(reader(&[0xac]).uvarint(), Err(DecodeError::Truncated { wanted: 1, left: 0 }));
    }

    #[test]
    fn null_is_told_from_empty_and_refused_where_it_may_not_be() {
        assert_eq!(reader(&[0xff, 0xff]).nullable_string(false), Ok(None));
        assert_eq!(reader(&[0x00]).nullable_string(true), Ok(None));
        assert_eq!(reader(&[0x01]).nullable_string(true), Ok(Some(String::new())));
        assert_eq!(reader(&[0x00]).string(true), Err(DecodeError::UnexpectedNull));
        assert_eq!(reader(&[0xff, 0xfe]).nullable_string(false), Ok(None), "-2 is as good as -1");
        assert_eq!(reader(&[0xff, 0xfe]).string(false), Err(DecodeError::UnexpectedNull));
        assert_eq!(reader(&[0x02, 0xff]).string(true), Ok("\u{fffd}".to_owned()));
        assert_eq!(reader(&[0x02, 0xff]).str(true), Err(DecodeError::NotUtf8));
        assert_eq!(reader(&[0x81, 0x80, 0x02]).string(true), Err(DecodeError::StringTooLong(32768)));
    }

    #[test]
    fn bytes_are_slices_of_the_frame() {
        let frame = Bytes::from(vec![0x04, 1, 2, 3]);
        let value = Reader::new(frame.clone()).bytes(true).unwrap();
        assert_eq!(value.as_ptr(), frame[1..].as_ptr());
    }
}
