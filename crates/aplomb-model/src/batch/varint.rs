//! Varints as they stand inside records: base 128, least significant group first, zigzag.
//!
//! A reader takes its bytes from a [`ByteCursor`]; whatever does not fit is `None`, and nothing is
//! read past the end. Like Apache Kafka's `ByteUtils`, it accepts longer forms than necessary, but
//! never more than 5 bytes for 32 bits and 10 for 64.

use bytes::BufMut;

/// Bytes that get fewer as they are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct ByteCursor<'a> {
    rest: &'a [u8],
}

impl<'a> ByteCursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    #[inline]
    pub(super) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(taken)
    }

    #[inline]
    pub(super) fn varint(&mut self) -> Option<i32> {
        read_varint(|| self.byte())
    }

    #[inline]
    pub(super) fn varlong(&mut self) -> Option<i64> {
        read_varlong(|| self.byte())
    }

    /// Bytes behind their length; a negative length stands for null, as in Apache Kafka.
    #[inline]
    pub(super) fn nullable_bytes(&mut self) -> Option<Option<&'a [u8]>> {
        match usize::try_from(self.varint()?) {
            Ok(len) => self.take(len).map(Some),
            Err(_) => Some(None),
        }
    }
}

/// Reads a 32-bit zigzag varint from whatever gives bytes.
#[inline]
pub(super) fn read_varint(mut next: impl FnMut() -> Option<u8>) -> Option<i32> {
    let mut raw = 0u32;
    for shift in [0, 7, 14, 21, 28] {
        let byte = next()?;
        raw |= u32::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some((raw >> 1) as i32 ^ -((raw & 1) as i32));
        }
    }
    None
}

/// Reads a 64-bit zigzag varint from whatever gives bytes.
#[inline]
pub(super) fn read_varlong(mut next: impl FnMut() -> Option<u8>) -> Option<i64> {
    let mut raw = 0u64;
    for shift in (0..70).step_by(7) {
        let byte = next()?;
        raw |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some((raw >> 1) as i64 ^ -((raw & 1) as i64));
        }
    }
    None
}

/// Writes a zigzag varint. One writer serves both widths: the forms agree where both fit.
pub(super) fn put(out: &mut impl BufMut, value: i64) {
    let mut raw = zigzag(value);
    while raw >= 0x80 {
        out.put_u8(raw as u8 | 0x80);
        raw >>= 7;
    }
    out.put_u8(raw as u8);
}

/// How many bytes [`put`] writes.
pub(super) fn size_of(value: i64) -> usize {
    let bits = 64 - (zigzag(value) | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_reads_back_as_what_was_written() {
        let edges = (0..63).flat_map(|bit| {
            let at = 1i64 << bit;
            [at - 1, at, -at, -at - 1]
        });
        for value in edges.chain([0, i64::MAX, i64::MIN]) {
            let mut out = Vec::new();
            put(&mut out, value);
            assert_eq!(out.len(), size_of(value), "{value}");
            let mut cursor = ByteCursor::new(&out);
            assert_eq!(cursor.varlong(), Some(value));
            assert!(cursor.is_empty());
            if let Ok(narrow) = i32::try_from(value) {
                assert_eq!(ByteCursor::new(&out).varint(), Some(narrow));
            }
        }
    }

    #[test]
    fn a_varint_ends_with_its_width_or_its_bytes() {
        assert_eq!(ByteCursor::new(&[0x80; 5]).varint(), None);
        assert_eq!(ByteCursor::new(&[0x80; 4]).varint(), None);
        assert_eq!(ByteCursor::new(&[0x80; 10]).varlong(), None);
        assert_eq!(ByteCursor::new(&[]).varint(), None);
        // Longer than needed, and still a number.
        assert_eq!(ByteCursor::new(&[0x82, 0x80, 0x80, 0x80, 0x00]).varint(), Some(1));
    }
}
