//! Our own form of a schema: one file per message, one line per field, nested structs indented
//! below the field that defines them.
//!
//! ```text
//! request InitProducerIdRequest key 22 versions 0-6 flexible 2+ unstable listeners broker
//!   TransactionalId string 0+ nullable 0+ entity transactionalId
//!   TransactionTimeoutMs int32 0+
//! struct Shared 0+
//!   Name string 0+
//! ```
//!
//! Attributes of a field: `nullable VERSIONS`, `tag N VERSIONS`, `default VALUE` (`''` is the empty
//! string), `ignorable`, `mapkey`, `entity NAME`, `flexible VERSIONS`. What [`print()`] writes,
//! [`parse`] reads back.

use std::fmt::Write as _;

use super::schema::{Field, Message, Shared, Type, Versions};

/// Writes a message in our form.
pub(crate) fn print(message: &Message) -> String {
    let mut out = format!("{} {}", message.kind, message.name);
    if let Some(key) = message.key {
        let _ = write!(out, " key {key}");
    }
    let _ = write!(out, " versions {} flexible {}", message.versions, message.flexible);
    if message.unstable {
        out.push_str(" unstable");
    }
    if !message.listeners.is_empty() {
        let _ = write!(out, " listeners {}", message.listeners.join(","));
    }
    out.push('\n');
    print_fields(&mut out, &message.fields, 1);
    for shared in &message.shared {
        let _ = writeln!(out, "struct {} {}", shared.name, shared.versions);
        print_fields(&mut out, &shared.fields, 1);
    }
    out
}

fn print_fields(out: &mut String, fields: &[Field], depth: usize) {
    for field in fields {
        let _ =
            write!(out, "{:indent$}{} {} {}", "", field.name, field.ty, field.versions, indent = depth * 2);
        if !field.nullable.is_empty() {
            let _ = write!(out, " nullable {}", field.nullable);
        }
        if let Some((tag, versions)) = field.tag {
            let _ = write!(out, " tag {tag} {versions}");
        }
        match field.default.as_deref() {
            None => {}
            Some("") => out.push_str(" default ''"),
            Some(value) => {
                let _ = write!(out, " default {value}");
            }
        }
        if field.ignorable {
            out.push_str(" ignorable");
        }
        if field.map_key {
            out.push_str(" mapkey");
        }
        if let Some(entity) = &field.entity {
            let _ = write!(out, " entity {entity}");
        }
        if let Some(flexible) = field.flexible {
            let _ = write!(out, " flexible {flexible}");
        }
        out.push('\n');
        print_fields(out, &field.fields, depth + 1);
    }
}

/// Reads a message in our form.
///
/// # Errors
/// One sentence that names the line.
pub(crate) fn parse(text: &str) -> Result<Message, String> {
    let mut lines = text.lines().enumerate().peekable();
    let (_, head) = lines.next().ok_or("the schema is empty")?;
    let mut message = parse_head(head).map_err(|why| format!("line 1: {why}"))?;
    let mut rest = Vec::new();
    for (number, line) in lines {
        rest.push(Line::new(number + 1, line)?);
    }
    let mut rest = rest.as_slice();
    message.fields = parse_fields(&mut rest, 1)?;
    while let Some((line, after)) = rest.split_first() {
        let words: Vec<&str> = line.text.split(' ').collect();
        let (0, ["struct", name, versions]) = (line.depth, words.as_slice()) else {
            return Err(format!("line {}: expected 'struct NAME VERSIONS'", line.number));
        };
        rest = after;
        let versions = Versions::parse(versions).map_err(|why| format!("line {}: {why}", line.number))?;
        message.shared.push(Shared {
            name: (*name).to_owned(),
            versions,
            fields: parse_fields(&mut rest, 1)?,
        });
    }
    Ok(message)
}

struct Line<'a> {
    number: usize,
    depth: usize,
    text: &'a str,
}

impl<'a> Line<'a> {
    fn new(number: usize, line: &'a str) -> Result<Self, String> {
        let text = line.trim_start_matches(' ');
        let spaces = line.len() - text.len();
        if text.is_empty() || !spaces.is_multiple_of(2) {
            return Err(format!("line {number}: empty, or indented by an odd number of spaces"));
        }
        Ok(Self { number, depth: spaces / 2, text })
    }
}

fn parse_head(line: &str) -> Result<Message, String> {
    let mut words = line.split(' ');
    let mut word = |what: &str| words.next().ok_or_else(|| format!("{what} is missing"));
    let mut message = Message {
        kind: word("the kind")?.to_owned(),
        name: word("the name")?.to_owned(),
        key: None,
        versions: Versions::NONE,
        flexible: Versions::NONE,
        unstable: false,
        listeners: Vec::new(),
        fields: Vec::new(),
        shared: Vec::new(),
    };
    while let Ok(attribute) = word("") {
        match attribute {
            "key" => {
                let key = word("the key")?;
                message.key = Some(key.parse().map_err(|_| format!("'{key}' is not a key"))?);
            }
            "versions" => message.versions = Versions::parse(word("the versions")?)?,
            "flexible" => message.flexible = Versions::parse(word("the flexible versions")?)?,
            "unstable" => message.unstable = true,
            "listeners" => message.listeners = word("the listeners")?.split(',').map(str::to_owned).collect(),
            other => return Err(format!("'{other}' is not an attribute of a message")),
        }
    }
    Ok(message)
}

fn parse_fields(lines: &mut &[Line<'_>], depth: usize) -> Result<Vec<Field>, String> {
    let mut fields = Vec::new();
    while let Some((line, after)) = lines.split_first() {
        if line.depth < depth {
            break;
        }
        if line.depth > depth {
            return Err(format!("line {}: indented below nothing", line.number));
        }
        *lines = after;
        let mut field = parse_field(line.text).map_err(|why| format!("line {}: {why}", line.number))?;
        field.fields = parse_fields(lines, depth + 1)?;
        fields.push(field);
    }
    Ok(fields)
}

fn parse_field(line: &str) -> Result<Field, String> {
    let mut words = line.split(' ');
    let mut word = |what: &str| words.next().ok_or_else(|| format!("{what} is missing"));
    let mut field = Field {
        name: word("the name")?.to_owned(),
        ty: Type::parse(word("the type")?)?,
        versions: Versions::parse(word("the versions")?)?,
        nullable: Versions::NONE,
        tag: None,
        default: None,
        ignorable: false,
        map_key: false,
        entity: None,
        flexible: None,
        fields: Vec::new(),
    };
    while let Ok(attribute) = word("") {
        match attribute {
            "nullable" => field.nullable = Versions::parse(word("the nullable versions")?)?,
            "tag" => {
                let tag = word("the tag")?;
                let tag = tag.parse().map_err(|_| format!("'{tag}' is not a tag"))?;
                field.tag = Some((tag, Versions::parse(word("the tagged versions")?)?));
            }
            "default" => {
                let value = word("the default")?;
                field.default = Some(if value == "''" { String::new() } else { value.to_owned() });
            }
            "ignorable" => field.ignorable = true,
            "mapkey" => field.map_key = true,
            "entity" => field.entity = Some(word("the entity")?.to_owned()),
            "flexible" => field.flexible = Some(Versions::parse(word("the flexible versions")?)?),
            other => return Err(format!("'{other}' is not an attribute of a field")),
        }
    }
    Ok(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
request FrobRequest key 7 versions 1-4 flexible 2+ unstable listeners broker,controller
  Name string 0+ nullable 1+ default null ignorable entity topicName
  Rack string 1+ default '' flexible none
  Parts []Part 2+ tag 3 2+
    Index int32 2+ default 0x7fffffff mapkey
  Nodes []Node 1+
struct Node 1+
  Id int32 1+
";

    #[test]
    fn a_schema_reads_back_as_it_was_written() {
        assert_eq!(print(&parse(TEXT).unwrap()), TEXT);
    }

    #[test]
    fn a_mistake_is_reported_with_its_line() {
        let wrong = TEXT.replace("ignorable", "ignorabel");
        assert_eq!(parse(&wrong).unwrap_err(), "line 2: 'ignorabel' is not an attribute of a field");
        let wrong = TEXT.replace("    Index", "      Index");
        assert_eq!(parse(&wrong).unwrap_err(), "line 5: indented below nothing");
    }
}
