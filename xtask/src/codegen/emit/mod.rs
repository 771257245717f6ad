//! Turns schemas into Rust: `layout` decides which structs and fields there are, `decode` and
//! `encode` write the two directions, `tables` writes what spans messages (API keys, the enums of
//! all requests and records).

mod decode;
mod encode;
mod layout;
mod tables;

use std::fmt::Write as _;

use self::layout::{Layout, Slot, Struct};
use super::schema::{Message, snake_case};

/// The folder of which every file is generated.
pub(crate) const FOLDER: &str = "generated";

/// A generated file: where it is below `src/`, and its text, not yet formatted.
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// Everything that is generated: `selected` become codecs, `all` give the table of API keys, which
/// is a room below the codecs, since these name it.
pub(crate) fn files(all: &[Message], selected: &[&Message]) -> Result<Vec<File>, String> {
    let mut files = Vec::new();
    for message in selected {
        let text = message_file(message).map_err(|why| format!("{}: {why}", message.name))?;
        files.push(File { name: format!("{FOLDER}/{}.rs", snake_case(&message.name)), text });
    }
    files.push(File { name: "api/key.rs".to_owned(), text: tables::api_keys(all) });
    let mut own = |name: &str, text| files.push(File { name: format!("{FOLDER}/{name}"), text });
    own("any.rs", tables::any(all, selected)?);
    own("metadata_record.rs", tables::metadata_record(selected));
    own("mod.rs", module(selected));
    Ok(files)
}

fn module(selected: &[&Message]) -> String {
    let mut out = String::from(
        "//! Every message in use, with its codec. Written by `cargo xtask codegen` from `schema/`; not edited by hand.\n\n\
         pub(crate) mod any;\npub(crate) mod metadata_record;\n",
    );
    for message in selected {
        let _ = writeln!(out, "pub mod {};", snake_case(&message.name));
    }
    out.push('\n');
    for message in selected {
        let _ = writeln!(out, "pub use {}::{};", snake_case(&message.name), message.name);
    }
    out.push_str("\nuse crate::Codec;\n\n/// Every message in use.\npub const ALL: &[Codec] = &[\n");
    for message in selected {
        let _ = writeln!(out, "Codec::of::<{}>(),", message.name);
    }
    out.push_str("];\n");
    out
}

fn message_file(message: &Message) -> Result<String, String> {
    let layout = Layout::of(message)?;
    let mut body = String::new();
    for one in &layout.structs {
        struct_definition(&mut body, message, one);
        if let Some(default) = default_impl(one) {
            body.push_str(&default);
        }
        let (decode, encode) = (decode::function(&layout, one), encode::function(&layout, one)?);
        if one.name == message.name {
            let _ = write!(
                body,
                "impl Message for {} {{\n{}\n{decode}\n{encode}}}\n\n",
                one.name,
                constants(message)
            );
        } else {
            let _ = write!(body, "impl {} {{\n{decode}\n{encode}}}\n\n", one.name);
        }
    }
    if message.kind == "request" {
        let api = message.name.trim_end_matches("Request");
        let _ = write!(
            body,
            "impl Request for {name} {{\nconst KEY: ApiKey = ApiKey::{api};\ntype Response = super::{api}Response;\n}}\n",
            name = message.name
        );
    }
    let mut out = format!(
        "//! `{}` as Apache Kafka 4.4.0 speaks it.\n//!\n\
         //! Written by `cargo xtask codegen` from `schema/{}.schema`; not edited by hand.\n\n",
        message.name, message.name
    );
    let mut own = vec!["DecodeError", "EncodeError", "Message", "Reader", "VersionRange", "Writer"];
    if message.kind == "request" {
        own.extend(["ApiKey", "Request"]);
    }
    for (needle, import) in [("Uuid", "use aplomb_model::Uuid;\n"), ("Bytes", "use bytes::Bytes;\n")] {
        if has_word(&body, needle) {
            out.push_str(import);
        }
    }
    let _ = write!(out, "\nuse crate::{{{}}};\n\n{body}", own.join(", "));
    Ok(out)
}

fn constants(message: &Message) -> String {
    let key = message.key.map_or("None".to_owned(), |key| format!("Some({key})"));
    let flexible = message.flexible.and(message.versions);
    let flexible = if flexible.is_empty() { "None".to_owned() } else { format!("Some({})", flexible.min) };
    format!(
        "const NAME: &'static str = \"{}\";\nconst API_KEY: Option<i16> = {key};\n\
         const VERSIONS: VersionRange = VersionRange::new({}, {});\nconst FLEXIBLE_FROM: Option<i16> = {flexible};\n",
        message.name, message.versions.min, message.versions.max
    )
}

fn struct_definition(out: &mut String, message: &Message, one: &Struct) {
    let derive_default = if default_impl(one).is_none() { ", Default" } else { "" };
    if one.name == message.name {
        let key = message.key.map(|key| format!(", key {key}")).unwrap_or_default();
        let _ = writeln!(
            out,
            "/// `{}`: {}{key}, versions {}, flexible {}.",
            one.name, message.kind, message.versions, message.flexible
        );
    } else {
        let _ = writeln!(out, "/// `{}` in `{}`, versions {}.", one.name, message.name, one.range);
    }
    let _ = writeln!(out, "#[derive(Clone, Debug, PartialEq{derive_default})]\npub struct {} {{", one.name);
    for slot in &one.slots {
        let _ = writeln!(out, "/// {}", facts(slot));
        let _ = writeln!(out, "pub {}: {},", slot.ident, slot.rust_type());
    }
    out.push_str("}\n\n");
}

/// What a reader wants to know about a field: where it exists, and what else the schema says.
fn facts(slot: &Slot) -> String {
    let field = &slot.field;
    let mut out = format!("`{}`: {}, versions {}", field.name, field.ty, field.versions);
    if slot.is_option() {
        let _ = write!(out, ", nullable in {}", field.nullable);
    }
    if let Some((tag, versions)) = field.tag {
        let _ = write!(out, ", tag {tag} in {versions}");
    }
    match field.default.as_deref() {
        None | Some("") => {}
        Some(default) => {
            let _ = write!(out, ", default {default}");
        }
    }
    if field.ignorable {
        out.push_str(", dropped by versions without it");
    }
    out.push('.');
    out
}

fn default_impl(one: &Struct) -> Option<String> {
    if one.slots.iter().all(Slot::has_trivial_default) {
        return None;
    }
    let mut out = format!("impl Default for {} {{\nfn default() -> Self {{\nSelf {{\n", one.name);
    for slot in &one.slots {
        let _ = writeln!(out, "{}: {},", slot.ident, slot.default_value());
    }
    out.push_str("}\n}\n}\n\n");
    Some(out)
}

/// Whether an identifier occurs in a text.
fn has_word(text: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].chars().next_back().is_some_and(part)
            && !text[at + word.len()..].chars().next().is_some_and(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codegen::text;

    fn generate(schema: &str) -> Result<String, String> {
        message_file(&text::parse(schema).unwrap())
    }

    #[test]
    fn a_field_is_written_in_its_versions_and_missed_in_the_others() {
        let code = generate(
            "data Frob versions 0-4 flexible none\n  Old int8 0-2\n  New int8 3+ default -1 ignorable\n",
        )
        .unwrap();
        assert!(code.contains("let old = if v <= 2 { r.i8()? } else { 0 };"), "{code}");
        assert!(code.contains("let new = if v >= 3 { r.i8()? } else { -1 };"), "{code}");
        assert!(code.contains("field: \"Old\""), "{code}");
        assert!(!code.contains("field: \"New\""), "{code}");
    }

    #[test]
    fn a_field_of_removed_versions_only_disappears() {
        let code = generate("data Frob versions 3-4 flexible none\n  Old int8 0-2\n  New int8 0+\n").unwrap();
        assert!(!code.contains("old"), "{code}");
    }

    #[test]
    fn a_schema_that_cannot_be_written_down_is_refused() {
        let cases = [
            ("data Frob versions none flexible none\n", "no version is left of it"),
            ("data Frob versions 0 flexible none\n  A []Missing 0+\n", "Missing is not defined"),
            ("data Frob versions 0 flexible none\n  A A 0+\n    A A 0+\n", "A contains itself"),
            (
                "data Frob versions 0 flexible none\n  A int8 0+ tag 0 0+\n",
                "A is tagged in versions that are not flexible",
            ),
            ("data Frob versions 0 flexible none\n  A int8 0+ default 200\n", "200 is no default of int8"),
            (
                "data Frob versions 0 flexible none\n  W int8 0+\n",
                "w is a name that generated code uses itself",
            ),
        ];
        for (schema, why) in cases {
            assert_eq!(generate(schema).unwrap_err(), why);
        }
    }
}
