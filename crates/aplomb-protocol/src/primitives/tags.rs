//! Tagged fields: the section at the end of every struct of a flexible version (KIP-482).
//!
//! A section is a count, then for each field its tag, its size and its value. Unknown fields are
//! passed over. When writing, a field's value is written first and its size is slipped in before
//! it: no second pass over the message, no buffer beside the writer's.

use super::reader::Reader;
use super::writer::{Writer, varint};
use crate::{DecodeError, EncodeError};

/// Where reading resumes its old limit once a tagged field is done.
#[must_use]
pub struct OuterEnd(usize);

/// An open section of tagged fields. Their count, which is below 128 in every schema, is kept in
/// one byte.
#[derive(Debug)]
#[must_use]
pub struct Tags {
    count_at: usize,
}

impl Reader {
    /// A struct in a tagged field, behind its presence varint (0: null).
    ///
    /// # Errors
    /// [`DecodeError::Truncated`], and those of `value`.
    pub fn tagged_nullable_struct<T>(
        &mut self,
        value: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Option<T>, DecodeError> {
        if self.uvarint()? == 0 { Ok(None) } else { value(self).map(Some) }
    }

    /// How many tagged fields follow. Each takes at least two bytes, so more than are left is an
    /// error.
    ///
    /// # Errors
    /// [`DecodeError::CountTooLarge`].
    pub fn tag_count(&mut self) -> Result<usize, DecodeError> {
        let count = self.uvarint()? as usize;
        let left = self.remaining();
        if count > left / 2 {
            return Err(DecodeError::CountTooLarge { count, left });
        }
        Ok(count)
    }

    /// Enters a tagged field: returns its tag, and limits reading to its bytes until
    /// [`Self::leave_tag`].
    ///
    /// # Errors
    /// [`DecodeError::Truncated`] when it is announced larger than what is left.
    pub fn enter_tag(&mut self) -> Result<(u32, OuterEnd), DecodeError> {
        let tag = self.uvarint()?;
        let size = self.uvarint()? as usize;
        let left = self.remaining();
        if size > left {
            return Err(DecodeError::Truncated { wanted: size, left });
        }
        let outer = OuterEnd(self.end);
        self.end = self.at + size;
        Ok((tag, outer))
    }

    /// Passes over the rest of the tagged field, whose tag is unknown here.
    pub fn skip_tag(&mut self) {
        self.at = self.end;
    }

    /// Leaves a tagged field.
    ///
    /// # Errors
    /// [`DecodeError::TagNotFilled`] when its value was smaller than announced.
    pub fn leave_tag(&mut self, outer: OuterEnd) -> Result<(), DecodeError> {
        match self.remaining() {
            0 => {
                self.end = outer.0;
                Ok(())
            }
            left => Err(DecodeError::TagNotFilled(left)),
        }
    }

    /// Passes over a section of tagged fields of which this version knows none.
    ///
    /// # Errors
    /// When a field is cut short.
    pub fn skip_tags(&mut self) -> Result<(), DecodeError> {
        for _ in 0..self.tag_count()? {
            self.uvarint()?;
            let size = self.uvarint()? as usize;
            self.skip(size)?;
        }
        Ok(())
    }
}

impl Writer {
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

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn reader(raw: &'static [u8]) -> Reader {
        Reader::new(Bytes::from_static(raw))
    }

    #[test]
    fn a_tagged_field_cannot_reach_beyond_its_size_nor_leave_a_rest() {
        let mut r = reader(&[0x01, 0x05, 0x02, 0xaa, 0xbb, 0xcc]);
        assert_eq!(r.tag_count(), Ok(1));
        let (tag, outer) = r.enter_tag().unwrap();
        assert_eq!(tag, 5);
        assert_eq!(r.i32(), Err(DecodeError::Truncated { wanted: 4, left: 2 }));
        r.u8().unwrap();
        assert_eq!(r.leave_tag(outer), Err(DecodeError::TagNotFilled(1)));

        let mut r = reader(&[0x01, 0x05, 0x02, 0xaa, 0xbb, 0xcc]);
        r.skip_tags().unwrap();
        assert_eq!(r.u8(), Ok(0xcc));
        assert_eq!(
            reader(&[0x01, 0x05, 0x09]).skip_tags().unwrap_err(),
            DecodeError::Truncated { wanted: 9, left: 0 }
        );
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
}
