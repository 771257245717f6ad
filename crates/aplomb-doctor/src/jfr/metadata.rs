//! From the metadata of a chunk to its types.
//!
//! It is an event of its own: a table of texts, and a tree whose elements and attributes are
//! numbers into it. `root` has `metadata`, that has a `class` for each type, and a class has a
//! `field` for each of its fields. Annotations, settings and regions are passed over.

use std::sync::Arc;

use super::bytes::ByteCursor;
use super::fault::{JfrFault, JfrFlaw};
use super::types::{RawText, RecordField, RecordType, Shape, TypeTable};

/// The deepest element that is read; a field's annotation is the fifth.
const DEEPEST: u32 = 16;
/// The most metadata that is read, in bytes: a JDK's has some 100,000, and in memory it is larger.
const MOST_BYTES: usize = 16 << 20;
/// A number of a type has no more letters.
const LONGEST_NUMBER: usize = 20;

/// Reads the types from behind the event's size and type.
pub(super) fn read_types(cursor: &mut ByteCursor<'_>) -> Result<TypeTable, JfrFault> {
    if cursor.left() > MOST_BYTES {
        return Err(cursor.fault(JfrFlaw::Metadata("it is too large")));
    }
    let (_start, _duration, _id) = (cursor.long()?, cursor.long()?, cursor.long()?);
    let count = cursor.length()?;
    let mut texts = Vec::new();
    for _ in 0..count {
        let text = RawText::read(cursor)?;
        texts.push(Arc::from(text.decode(cursor)?.unwrap_or_default()));
    }
    let mut tree = TypeTree { texts, types: Vec::new() };
    tree.element(cursor, None, 0)?;
    if tree.types.is_empty() {
        return Err(cursor.fault(JfrFlaw::Metadata("it describes no type")));
    }
    Ok(TypeTable::new(tree.types))
}

struct TypeTree {
    texts: Vec<Arc<str>>,
    types: Vec<RecordType>,
}

/// The attributes that matter; each has a default where it is missing.
#[derive(Default)]
struct Attributes {
    name: Option<usize>,
    id: i64,
    type_id: i64,
    is_pooled: bool,
    is_array: bool,
}

impl TypeTree {
    /// An element and all below it; `within` is the class that it is a child of.
    fn element(
        &mut self,
        cursor: &mut ByteCursor<'_>,
        within: Option<usize>,
        depth: u32,
    ) -> Result<(), JfrFault> {
        if depth == DEEPEST {
            return Err(cursor.fault(JfrFlaw::Nested));
        }
        let element = self.text_number(cursor)?;
        let attributes = self.attributes(cursor)?;
        let mut inside = None;
        match (&*self.texts[element], within) {
            ("class", _) => {
                let name = self.named(attributes.name, cursor)?;
                let shape = Shape::of(&name);
                inside = Some(self.types.len());
                self.types.push(RecordType { id: attributes.id, name, shape, fields: Vec::new() });
            }
            ("field", Some(class)) => {
                let field = RecordField {
                    name: self.named(attributes.name, cursor)?,
                    type_id: attributes.type_id,
                    of: None,
                    is_pooled: attributes.is_pooled,
                    is_array: attributes.is_array,
                };
                self.types[class].fields.push(field);
            }
            _ => {}
        }
        let children = cursor.length()?;
        for _ in 0..children {
            self.element(cursor, inside, depth + 1)?;
        }
        Ok(())
    }

    fn attributes(&self, cursor: &mut ByteCursor<'_>) -> Result<Attributes, JfrFault> {
        let mut attributes = Attributes::default();
        let count = cursor.length()?;
        for _ in 0..count {
            let (key, value) = (self.text_number(cursor)?, self.text_number(cursor)?);
            let text = &*self.texts[value];
            let number = || {
                let number = if text.len() > LONGEST_NUMBER { None } else { text.parse().ok() };
                number.ok_or_else(|| cursor.fault(JfrFlaw::Metadata("a type's number is not a number")))
            };
            match &*self.texts[key] {
                "name" => attributes.name = Some(value),
                "id" => attributes.id = number()?,
                "class" => attributes.type_id = number()?,
                "constantPool" => attributes.is_pooled = text == "true",
                "dimension" => attributes.is_array = text != "0",
                _ => {}
            }
        }
        Ok(attributes)
    }

    fn named(&self, name: Option<usize>, cursor: &ByteCursor<'_>) -> Result<Arc<str>, JfrFault> {
        let name = name.ok_or_else(|| cursor.fault(JfrFlaw::Metadata("a type or field has no name")))?;
        Ok(Arc::clone(&self.texts[name]))
    }

    fn text_number(&self, cursor: &mut ByteCursor<'_>) -> Result<usize, JfrFault> {
        let before = *cursor;
        let number = usize::try_from(cursor.long()?).ok().filter(|number| *number < self.texts.len());
        number.ok_or_else(|| before.fault(JfrFlaw::Metadata("it uses a text that it does not have")))
    }
}

#[cfg(test)]
mod tests {
    use super::super::bytes::ChunkBytes;
    use super::super::fault::ChunkPlace;
    use super::*;

    const TEXTS: [&str; 10] =
        ["root", "class", "field", "name", "id", "7", "int", "dimension", "1", "constantPool"];

    fn read(tree: &[u8]) -> Result<TypeTable, JfrFlaw> {
        let mut bytes = vec![0, 0, 0, TEXTS.len() as u8];
        for text in TEXTS {
            bytes.extend([3, text.len() as u8]);
            bytes.extend(text.bytes());
        }
        bytes.extend(tree);
        let bytes = ChunkBytes::new(&bytes, ChunkPlace::default());
        read_types(&mut bytes.cursor(0, bytes.len())).map_err(|fault| fault.flaw)
    }

    #[test]
    fn classes_have_fields_and_the_rest_is_passed_over() {
        // <root><class name=int id=7><name/><field name=id dimension=1/></class></root>
        let tree = [0, 0, 1, 1, 2, 3, 6, 4, 5, 2, 3, 0, 0, 2, 2, 3, 4, 7, 8, 0];
        let types = read(&tree).expect("types");
        let int = types.get(types.find(7).expect("the class"));
        assert_eq!((&*int.name, int.shape), ("int", Shape::Int));
        assert_eq!(int.fields.len(), 1);
        assert!(int.fields[0].is_array && !int.fields[0].is_pooled && int.fields[0].of.is_none());
    }

    #[test]
    fn broken_trees_are_told_from_whole_ones() {
        let error = |tree: &[u8]| read(tree).expect_err("no types");
        assert_eq!(error(&[0, 0, 0]), JfrFlaw::Metadata("it describes no type"));
        assert_eq!(error(&[99, 0, 0]), JfrFlaw::Metadata("it uses a text that it does not have"));
        assert_eq!(error(&[1, 1, 4, 6, 0]), JfrFlaw::Metadata("a type's number is not a number"));
        assert_eq!(error(&[0, 0, 1]), JfrFlaw::Length { length: 1, left: 0 });
        let deep: Vec<u8> = [0, 0, 1].repeat(40);
        assert_eq!(error(&deep), JfrFlaw::Nested);
    }
}
