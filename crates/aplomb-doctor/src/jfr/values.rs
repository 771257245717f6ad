//! Values of a chunk: an event or a structure whose fields are asked for by name.
//!
//! What always holds: nothing is read before it is asked for, and what is asked for twice is read
//! twice. A field that a JDK does not have is `None`; a fault is for bytes that are not what the
//! metadata says.

use super::bytes::{ByteCursor, ChunkBytes};
use super::fault::{JfrFault, JfrFlaw};
use super::pools::ConstantPools;
use super::types::{RawText, RecordField, RecordType, Shape, TypeIndex, TypeTable};

/// A text may be a constant, which may be another, so many times.
const MOST_HOPS: u32 = 4;

/// What values of a chunk are read with.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChunkContent<'c> {
    pub(super) bytes: &'c ChunkBytes<'c>,
    pub(super) types: &'c TypeTable,
    pub(super) pools: &'c ConstantPools,
}

/// An event's fields, or those of a value in it.
#[derive(Clone, Copy, Debug)]
pub struct FieldSet<'c> {
    content: ChunkContent<'c>,
    of: TypeIndex,
    from: usize,
    to: usize,
}

impl<'c> FieldSet<'c> {
    pub(super) fn new(content: ChunkContent<'c>, of: TypeIndex, from: usize, to: usize) -> Self {
        Self { content, of, from, to }
    }

    /// The type's name, `jdk.FileWrite`.
    #[must_use]
    pub fn type_name(&self) -> &'c str {
        &self.of().name
    }

    /// Names of the fields, in the order in which they are written.
    pub fn names(&self) -> impl Iterator<Item = &'c str> + use<'c> {
        self.of().fields.iter().map(|field| &*field.name)
    }

    /// A whole number, or a truth as 1 or 0.
    ///
    /// # Errors
    /// When the bytes are not what the metadata says.
    pub fn integer(&self, name: &str) -> Result<Option<i64>, JfrFault> {
        let Some((field, mut cursor)) = self.find(name)? else { return Ok(None) };
        let (false, false, Some(of)) = (field.is_array, field.is_pooled, field.of) else { return Ok(None) };
        Ok(match self.content.types.get(of).shape {
            Shape::Boolean | Shape::Byte => Some(i64::from(cursor.byte()?.cast_signed())),
            Shape::Char => Some(i64::from(cursor.long()? as u16)),
            Shape::Short => Some(i64::from(cursor.long()? as i16)),
            Shape::Int => Some(i64::from(cursor.long()? as i32)),
            Shape::Long => Some(cursor.long()?),
            Shape::Float | Shape::Double | Shape::Text | Shape::Fields => None,
        })
    }

    /// A broken number.
    ///
    /// # Errors
    /// As [`Self::integer`].
    pub fn float(&self, name: &str) -> Result<Option<f64>, JfrFault> {
        let Some((field, mut cursor)) = self.find(name)? else { return Ok(None) };
        let (false, false, Some(of)) = (field.is_array, field.is_pooled, field.of) else { return Ok(None) };
        Ok(match self.content.types.get(of).shape {
            Shape::Float => Some(f64::from(cursor.float()?)),
            Shape::Double => Some(cursor.double()?),
            _ => None,
        })
    }

    /// A text, looked up where it is a constant. `None` for null too.
    ///
    /// # Errors
    /// As [`Self::integer`].
    pub fn text(&self, name: &str) -> Result<Option<String>, JfrFault> {
        let Some((field, mut cursor)) = self.find(name)? else { return Ok(None) };
        let (false, Some(mut of)) = (field.is_array, field.of) else { return Ok(None) };
        if field.is_pooled {
            let number = cursor.long()?;
            let Some(place) = self.content.pools.place(of, number) else { return Ok(None) };
            cursor = self.content.bytes.cursor(place, self.content.bytes.len());
        }
        for _ in 0..MOST_HOPS {
            let shape = self.content.types.get(of);
            if shape.shape != Shape::Text {
                // `jdk.types.Symbol` and its like hold one text.
                let [one] = &shape.fields[..] else { return Ok(None) };
                let (false, false, Some(inner)) = (one.is_array, one.is_pooled, one.of) else {
                    return Ok(None);
                };
                of = inner;
                continue;
            }
            let text = RawText::read(&mut cursor)?;
            let RawText::Pooled(number) = text else { return text.decode(&cursor) };
            let Some(place) = self.content.pools.place(of, number) else { return Ok(None) };
            cursor = self.content.bytes.cursor(place, self.content.bytes.len());
        }
        Ok(None)
    }

    /// A structure, looked up where it is a constant. `None` also where the constant is missing, as
    /// in chunks that were not finished.
    ///
    /// # Errors
    /// As [`Self::integer`].
    pub fn fields(&self, name: &str) -> Result<Option<Self>, JfrFault> {
        let Some((field, mut cursor)) = self.find(name)? else { return Ok(None) };
        if field.is_array {
            return Ok(None);
        }
        self.at(field, &mut cursor)
    }

    /// The number of a constant. 0 is no constant.
    ///
    /// # Errors
    /// As [`Self::integer`].
    pub fn constant(&self, name: &str) -> Result<Option<i64>, JfrFault> {
        let Some((field, mut cursor)) = self.find(name)? else { return Ok(None) };
        if field.is_array || !field.is_pooled {
            return Ok(None);
        }
        Ok(Some(cursor.long()?).filter(|number| *number != 0))
    }

    /// The structures in an array; those whose constants are missing are left out.
    ///
    /// # Errors
    /// As [`Self::integer`].
    pub fn each(&self, name: &str) -> Result<Elements<'c>, JfrFault> {
        let none = Elements { owner: *self, field: None, cursor: self.cursor(), left: 0 };
        let Some((field, mut cursor)) = self.find(name)? else { return Ok(none) };
        if !field.is_array {
            return Ok(none);
        }
        let left = cursor.length()?;
        Ok(Elements { owner: *self, field: Some(field), cursor, left })
    }

    fn of(&self) -> &'c RecordType {
        self.content.types.get(self.of)
    }

    fn cursor(&self) -> ByteCursor<'c> {
        self.content.bytes.cursor(self.from, self.to)
    }

    /// A field, and a cursor that stands before it.
    fn find(&self, name: &str) -> Result<Option<(&'c RecordField, ByteCursor<'c>)>, JfrFault> {
        let of = self.of();
        let Some(wanted) = of.fields.iter().position(|field| &*field.name == name) else { return Ok(None) };
        let mut cursor = self.cursor();
        for before in &of.fields[..wanted] {
            self.content.types.skip_field(before, &mut cursor)?;
        }
        Ok(Some((&of.fields[wanted], cursor)))
    }

    /// The structure that the cursor stands before, which is one of a field's.
    fn at(&self, field: &RecordField, cursor: &mut ByteCursor<'c>) -> Result<Option<Self>, JfrFault> {
        let of = field.of.ok_or_else(|| cursor.fault(JfrFlaw::UnknownType(field.type_id)))?;
        if field.is_pooled {
            let number = cursor.long()?;
            let place = self.content.pools.place(of, number);
            return Ok(place.map(|place| Self::new(self.content, of, place, self.content.bytes.len())));
        }
        let from = cursor.at();
        self.content.types.skip(of, cursor)?;
        Ok(Some(Self::new(self.content, of, from, cursor.at())))
    }
}

/// The elements of an array.
#[derive(Debug)]
pub struct Elements<'c> {
    owner: FieldSet<'c>,
    field: Option<&'c RecordField>,
    cursor: ByteCursor<'c>,
    left: usize,
}

impl<'c> Iterator for Elements<'c> {
    type Item = Result<FieldSet<'c>, JfrFault>;

    fn next(&mut self) -> Option<Self::Item> {
        let field = self.field?;
        while self.left > 0 {
            self.left -= 1;
            match self.owner.at(field, &mut self.cursor) {
                Ok(None) => {}
                Ok(Some(element)) => return Some(Ok(element)),
                Err(fault) => {
                    self.left = 0;
                    return Some(Err(fault));
                }
            }
        }
        None
    }
}
