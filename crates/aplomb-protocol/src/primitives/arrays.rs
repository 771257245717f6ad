//! Arrays, in both directions.
//!
//! A count is compared with the bytes that are left, a vector starts small and grows with what was
//! really read, and all vectors of a frame together stay within the reader's allowance, because an
//! element of one byte on the wire can be a struct of a hundred here.

use super::reader::Reader;
use super::writer::{Writer, varint};
use crate::{DecodeError, EncodeError};

/// A vector's first allocation is at most this, in bytes, whatever count was announced.
const FIRST_ALLOCATION: usize = 4096;

fn bytes_of<T>(elements: usize) -> usize {
    elements.saturating_mul(size_of::<T>())
}

/// A place left open for the count of an array whose elements are being written.
#[derive(Debug)]
#[must_use]
pub(crate) struct OpenCount {
    at: usize,
    flexible: bool,
}

impl Reader {
    /// An array's count, or null. Never more than the bytes that are left.
    ///
    /// # Errors
    /// [`DecodeError::CountTooLarge`].
    pub fn nullable_count(&mut self, flexible: bool) -> Result<Option<usize>, DecodeError> {
        let count = self.long_length(flexible)?;
        let left = self.remaining();
        match count {
            Some(count) if count > left => Err(DecodeError::CountTooLarge { count, left }),
            _ => Ok(count),
        }
    }

    /// An array's count.
    ///
    /// # Errors
    /// As [`Self::nullable_count`], and [`DecodeError::UnexpectedNull`].
    pub fn count(&mut self, flexible: bool) -> Result<usize, DecodeError> {
        self.nullable_count(flexible)?.ok_or(DecodeError::UnexpectedNull)
    }

    /// A vector for `count` elements that were announced and are yet to be seen.
    pub(crate) fn vector<T>(&mut self, count: usize) -> Result<Vec<T>, DecodeError> {
        let capacity = count.min(FIRST_ALLOCATION / size_of::<T>().max(1));
        self.charge(bytes_of::<T>(capacity))?;
        Ok(Vec::with_capacity(capacity))
    }

    /// Adds an element that was read.
    pub(crate) fn push<T>(&mut self, elements: &mut Vec<T>, one: T) -> Result<(), DecodeError> {
        if elements.len() == elements.capacity() {
            let more = elements.capacity().max(1);
            self.charge(bytes_of::<T>(more))?;
            elements.reserve_exact(more);
        }
        elements.push(one);
        Ok(())
    }

    /// An array, or null; `element` reads one of it.
    ///
    /// # Errors
    /// As [`Self::nullable_count`], and those of `element`.
    pub fn nullable_array<T>(
        &mut self,
        flexible: bool,
        mut element: impl FnMut(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Option<Vec<T>>, DecodeError> {
        let Some(count) = self.nullable_count(flexible)? else { return Ok(None) };
        let mut elements = self.vector(count)?;
        for _ in 0..count {
            let one = element(self)?;
            self.push(&mut elements, one)?;
        }
        Ok(Some(elements))
    }

    /// An array; `element` reads one of it.
    ///
    /// # Errors
    /// As [`Self::nullable_array`], and [`DecodeError::UnexpectedNull`].
    pub fn array<T>(
        &mut self,
        flexible: bool,
        element: impl FnMut(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Vec<T>, DecodeError> {
        self.nullable_array(flexible, element)?.ok_or(DecodeError::UnexpectedNull)
    }
}

impl Writer {
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

    /// Fills the place in. Everything that was written behind it moves on by the number of bytes
    /// returned: none, unless a compact count is over 126.
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
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn reader(raw: &'static [u8]) -> Reader {
        Reader::new(Bytes::from_static(raw))
    }

    #[test]
    fn an_announced_count_is_compared_with_the_bytes_that_are_left() {
        let error = Err(DecodeError::CountTooLarge { count: 0x7fff_ffff, left: 2 });
        assert_eq!(reader(&[0x7f, 0xff, 0xff, 0xff, 0, 0]).array(false, Reader::u8), error);
        let error = Err(DecodeError::CountTooLarge { count: 0xffff_fffe, left: 1 });
        assert_eq!(reader(&[0xff, 0xff, 0xff, 0xff, 0x0f, 0]).array(true, Reader::u8), error);
    }

    #[test]
    fn a_first_allocation_is_small_whatever_was_announced() {
        let mut r = reader(&[]);
        assert_eq!(r.vector::<u64>(3).unwrap().capacity(), 3);
        assert_eq!(r.vector::<u64>(usize::MAX).unwrap().capacity() * size_of::<u64>(), FIRST_ALLOCATION);
        assert_eq!(r.vector::<[u8; 5000]>(9).unwrap().capacity(), 0);
    }

    #[test]
    fn a_frames_vectors_share_one_allowance() {
        let mut r = Reader::new(Bytes::from(vec![0; 1 << 20]));
        let mut fill = || -> Result<usize, DecodeError> {
            let mut one = r.vector::<[u8; 1024]>(4)?;
            (0..1000).try_for_each(|_| r.push(&mut one, [0; 1024]))?;
            Ok(one.capacity() * 1024)
        };
        let taken: usize = std::iter::from_fn(|| fill().ok()).take(100).sum();
        assert!((18 << 20..=20 << 20).contains(&taken), "{taken}");
        assert_eq!(fill(), Err(DecodeError::OverAllowance { frame: 1 << 20 }));
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
}
