//! The types that a chunk's metadata describes, and how far a value of one goes.
//!
//! What always holds: fields are found by name and read in the order that the metadata gives them;
//! neither order nor presence is the same in all JDKs.

use std::collections::HashMap;
use std::sync::Arc;

use super::bytes::ByteCursor;
use super::fault::{JfrFault, JfrFlaw};

/// The deepest that a value may lie in others; the JDK's lie in three.
const DEEPEST: u32 = 32;

/// A type by its place in the [`TypeTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct TypeIndex(usize);

/// How values of a type are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Boolean,
    Byte,
    Char,
    Short,
    Int,
    Long,
    Float,
    Double,
    Text,
    /// Its fields, one after the other.
    Fields,
}

/// A type of values, or of events.
#[derive(Clone, Debug)]
pub(super) struct RecordType {
    pub(super) id: i64,
    pub(super) name: Arc<str>,
    pub(super) shape: Shape,
    pub(super) fields: Vec<RecordField>,
}

/// A field of a type.
#[derive(Clone, Debug)]
pub(super) struct RecordField {
    pub(super) name: Arc<str>,
    /// The type's number in the file.
    pub(super) type_id: i64,
    /// `None` where the metadata does not describe that number.
    pub(super) of: Option<TypeIndex>,
    /// A constant's number stands in place of the value.
    pub(super) is_pooled: bool,
    pub(super) is_array: bool,
}

/// All types of a chunk.
#[derive(Debug, Default)]
pub(super) struct TypeTable {
    types: Vec<RecordType>,
    by_id: HashMap<i64, TypeIndex>,
}

impl Shape {
    /// The shape of the type of that name.
    pub(super) fn of(name: &str) -> Self {
        match name {
            "boolean" => Self::Boolean,
            "byte" => Self::Byte,
            "char" => Self::Char,
            "short" => Self::Short,
            "int" => Self::Int,
            "long" => Self::Long,
            "float" => Self::Float,
            "double" => Self::Double,
            "java.lang.String" => Self::Text,
            _ => Self::Fields,
        }
    }
}

impl TypeTable {
    /// Of two types with one number, the later one counts.
    pub(super) fn new(mut types: Vec<RecordType>) -> Self {
        let by_id: HashMap<i64, TypeIndex> =
            types.iter().enumerate().map(|(at, each)| (each.id, TypeIndex(at))).collect();
        for field in types.iter_mut().flat_map(|each| &mut each.fields) {
            field.of = by_id.get(&field.type_id).copied();
        }
        Self { types, by_id }
    }

    pub(super) fn find(&self, id: i64) -> Option<TypeIndex> {
        self.by_id.get(&id).copied()
    }

    pub(super) fn named(&self, name: &str) -> Option<TypeIndex> {
        self.types.iter().rposition(|each| &*each.name == name).map(TypeIndex)
    }

    pub(super) fn get(&self, index: TypeIndex) -> &RecordType {
        &self.types[index.0]
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.types.iter().map(|each| &*each.name)
    }

    /// Moves the cursor over a value of the type.
    pub(super) fn skip(&self, of: TypeIndex, cursor: &mut ByteCursor<'_>) -> Result<(), JfrFault> {
        self.skip_value(of, cursor, 0)
    }

    /// Moves the cursor over a field.
    pub(super) fn skip_field(
        &self,
        field: &RecordField,
        cursor: &mut ByteCursor<'_>,
    ) -> Result<(), JfrFault> {
        self.skip_field_at(field, cursor, 0)
    }

    fn skip_field_at(
        &self,
        field: &RecordField,
        cursor: &mut ByteCursor<'_>,
        depth: u32,
    ) -> Result<(), JfrFault> {
        let count = if field.is_array { cursor.length()? } else { 1 };
        for _ in 0..count {
            match field.of {
                _ if field.is_pooled => {
                    cursor.long()?;
                }
                Some(of) => self.skip_value(of, cursor, depth)?,
                None => return Err(cursor.fault(JfrFlaw::UnknownType(field.type_id))),
            }
        }
        Ok(())
    }

    fn skip_value(&self, of: TypeIndex, cursor: &mut ByteCursor<'_>, depth: u32) -> Result<(), JfrFault> {
        if depth == DEEPEST {
            return Err(cursor.fault(JfrFlaw::Nested));
        }
        // A value may have no bytes at all, and still costs.
        cursor.pay(1)?;
        let of = self.get(of);
        match of.shape {
            Shape::Boolean | Shape::Byte => cursor.byte().map(drop),
            Shape::Char | Shape::Short | Shape::Int | Shape::Long => cursor.long().map(drop),
            Shape::Float => cursor.float().map(drop),
            Shape::Double => cursor.double().map(drop),
            Shape::Text => RawText::read(cursor).map(drop),
            Shape::Fields => {
                of.fields.iter().try_for_each(|field| self.skip_field_at(field, cursor, depth + 1))
            }
        }
    }
}

/// A text as it is written.
#[derive(Clone, Copy, Debug)]
pub(super) enum RawText<'c> {
    Null,
    Empty,
    /// It is a constant, of this number.
    Pooled(i64),
    Utf8(&'c [u8]),
    Latin1(&'c [u8]),
    /// So many units of UTF-16, each a compressed integer.
    Utf16(usize, ByteCursor<'c>),
}

impl<'c> RawText<'c> {
    pub(super) fn read(cursor: &mut ByteCursor<'c>) -> Result<Self, JfrFault> {
        let before = *cursor;
        Ok(match cursor.byte()? {
            0 => Self::Null,
            1 => Self::Empty,
            2 => Self::Pooled(cursor.long()?),
            3 => {
                let length = cursor.length()?;
                Self::Utf8(cursor.take(length)?)
            }
            4 => {
                let length = cursor.length()?;
                let units = *cursor;
                for _ in 0..length {
                    cursor.long()?;
                }
                Self::Utf16(length, units)
            }
            5 => {
                let length = cursor.length()?;
                Self::Latin1(cursor.take(length)?)
            }
            other => return Err(before.fault(JfrFlaw::TextEncoding(other))),
        })
    }

    /// The text; what is not Unicode is replaced. `None` for null, and for a constant, which is to
    /// be looked up.
    pub(super) fn decode(self, paid_by: &ByteCursor<'_>) -> Result<Option<String>, JfrFault> {
        Ok(match self {
            Self::Null | Self::Pooled(_) => None,
            Self::Empty => Some(String::new()),
            Self::Utf8(bytes) => {
                paid_by.pay(bytes.len() as u64 / 8)?;
                Some(String::from_utf8_lossy(bytes).into_owned())
            }
            Self::Latin1(bytes) => {
                paid_by.pay(bytes.len() as u64 / 8)?;
                Some(bytes.iter().copied().map(char::from).collect())
            }
            Self::Utf16(length, mut units) => {
                let units: Vec<u16> =
                    (0..length).map(|_| units.long().map(|unit| unit as u16)).collect::<Result<_, _>>()?;
                Some(String::from_utf16_lossy(&units))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::bytes::ChunkBytes;
    use super::super::fault::ChunkPlace;
    use super::*;

    fn field(name: &str, type_id: i64, is_pooled: bool, is_array: bool) -> RecordField {
        RecordField { name: Arc::from(name), type_id, of: None, is_pooled, is_array }
    }

    fn record(id: i64, name: &str, fields: Vec<RecordField>) -> RecordType {
        RecordType { id, name: Arc::from(name), shape: Shape::of(name), fields }
    }

    fn skipped(types: Vec<RecordType>, id: i64, bytes: &[u8]) -> Result<usize, JfrFlaw> {
        let (types, bytes) = (TypeTable::new(types), ChunkBytes::new(bytes, ChunkPlace::default()));
        let mut cursor = bytes.cursor(0, bytes.len());
        let of = types.find(id).expect("a type of the test");
        types.skip(of, &mut cursor).map(|()| cursor.at()).map_err(|fault| fault.flaw)
    }

    fn text(bytes: &[u8]) -> Result<Option<String>, JfrFlaw> {
        let bytes = ChunkBytes::new(bytes, ChunkPlace::default());
        let mut cursor = bytes.cursor(0, bytes.len());
        let text = RawText::read(&mut cursor).map_err(|fault| fault.flaw)?;
        assert_eq!(cursor.left(), 0, "all of it was read");
        text.decode(&cursor).map_err(|fault| fault.flaw)
    }

    #[test]
    fn texts_are_written_in_six_ways() {
        assert_eq!(text(&[0]), Ok(None));
        assert_eq!(text(&[1]), Ok(Some(String::new())));
        assert_eq!(text(&[2, 7]), Ok(None));
        assert_eq!(text(&[3, 3, b'a', 0xc3, 0xa9]), Ok(Some("aé".to_owned())));
        assert_eq!(text(&[3, 1, 0xff]), Ok(Some("\u{fffd}".to_owned())));
        assert_eq!(text(&[4, 2, b'a', 0xac, 0x41]), Ok(Some("a€".to_owned())));
        assert_eq!(text(&[4, 1, 0x80, 0xb0, 0x03]), Ok(Some("\u{fffd}".to_owned())), "half a pair");
        assert_eq!(text(&[5, 2, b'a', 0xe9]), Ok(Some("aé".to_owned())));
        assert_eq!(text(&[6]), Err(JfrFlaw::TextEncoding(6)));
        assert_eq!(text(&[3, 9, b'a']), Err(JfrFlaw::Length { length: 9, left: 1 }));
    }

    #[test]
    fn fields_are_inline_pooled_or_arrays() {
        let types = || {
            let fields = vec![
                field("flag", 2, false, false),
                field("pooled", 9, true, false),
                field("many", 3, false, true),
                field("ratio", 4, false, false),
            ];
            vec![
                record(1, "Event", fields),
                record(2, "boolean", vec![]),
                record(3, "int", vec![]),
                record(4, "double", vec![]),
            ]
        };
        let bytes = [1, 0x85, 0x01, 2, 0x80, 0x01, 7, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(skipped(types(), 1, &bytes), Ok(15));
        assert_eq!(skipped(types(), 1, &bytes[..14]), Err(JfrFlaw::Truncated));
        let unknown = vec![record(1, "Event", vec![field("what", 77, false, false)])];
        assert_eq!(skipped(unknown, 1, &[0]), Err(JfrFlaw::UnknownType(77)));
    }

    #[test]
    fn types_that_hold_themselves_end() {
        let itself = vec![record(1, "A", vec![field("a", 1, false, false)])];
        assert_eq!(skipped(itself, 1, &[0; 8]), Err(JfrFlaw::Nested));
        let twice =
            |id, next| record(id, "B", vec![field("a", next, false, false), field("b", next, false, false)]);
        let mut wide: Vec<RecordType> = (1..31).map(|id| twice(id, id + 1)).collect();
        wide.push(record(31, "C", vec![]));
        assert_eq!(skipped(wide, 1, &[0; 8]), Err(JfrFlaw::Work), "a billion values of no bytes");
        let nothing = vec![record(1, "A", vec![field("a", 2, false, true)]), record(2, "N", vec![])];
        assert_eq!(skipped(nothing, 1, &[3, 0, 0, 0]), Ok(1));
    }
}
