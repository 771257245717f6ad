//! Writes `encode` functions, which mirror `decode` and refuse what a version cannot say.

use std::fmt::Write as _;

use super::decode::primitive;
use super::has_word;
use super::layout::{Condition, Layout, Slot, Struct};
use crate::codegen::schema::{Type, Versions};

pub(super) fn function(layout: &Layout, one: &Struct) -> Result<String, String> {
    let top = one.name == layout.message;
    let mut body = String::new();
    for slot in one.slots.iter().filter(|slot| slot.tagged.is_empty()) {
        body.push_str(&plain_field(layout, one, slot));
    }
    body.push_str(&tag_section(layout, one)?);

    let flexible = if has_word(&body, "flexible") { layout.flexible_let(one) } else { String::new() };
    let check = if top {
        "if !Self::VERSIONS.contains(v) {\n\
         return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });\n}\n"
    } else {
        ""
    };
    let body = format!("{check}{flexible}{body}");
    let v = if has_word(&body, "v") { "v" } else { "_v" };
    let w = if has_word(&body, "w") { "w" } else { "_w" };
    let public = if top { "" } else { "pub(crate) " };
    Ok(format!(
        "{public}fn encode(&self, {w}: &mut Writer, {v}: i16) -> Result<(), EncodeError> {{\n{body}Ok(())\n}}\n"
    ))
}

fn plain_field(layout: &Layout, one: &Struct, slot: &Slot) -> String {
    let write = statement(one, slot, layout.flexible_expr(one, Some(&slot.field)));
    match Condition::new(slot.present, one.range) {
        Condition::When(condition) if slot.field.ignorable => format!("if {condition} {{\n{write}}}\n"),
        Condition::When(condition) => {
            format!("if {condition} {{\n{write}}} else if {} {{\n{}}}\n", slot.is_set(), missing(one, slot))
        }
        Condition::Always | Condition::Never => write,
    }
}

/// Returns the error that says that this version lacks the field.
fn missing(one: &Struct, slot: &Slot) -> String {
    format!(
        "return Err(EncodeError::FieldNotInVersion {{ message: {:?}, field: {:?}, version: v }});\n",
        one.name, slot.field.name
    )
}

/// The names that all responses have for these fields.
const ERROR_CODE: &str = "ErrorCode";
const THROTTLE_TIME: &str = "ThrottleTimeMs";

/// Writes the field where it is present, as a statement.
fn statement(one: &Struct, slot: &Slot, flexible: &str) -> String {
    let ident = &slot.ident;
    let plain = |place: &Place| {
        if slot.field.name == ERROR_CODE && matches!(slot.field.ty, Type::Int16) {
            return format!("w.error_code({});\n", place.value);
        }
        if slot.field.name == THROTTLE_TIME && matches!(slot.field.ty, Type::Int32) {
            return format!("w.throttle_time({});\n", place.value);
        }
        let written = plain(&slot.field.ty, place, flexible);
        if written.fallible { format!("{}?;\n", written.code) } else { format!("{};\n", written.code) }
    };
    let nullable = || format!("{}?;\n", nullable(slot, flexible));
    match Condition::new(slot.nullable, slot.present) {
        Condition::Never => plain(&Place::field(ident)),
        Condition::Always => nullable(),
        Condition::When(condition) => format!(
            "if {condition} {{\n{}}} else {{\nlet it = self.{ident}.as_ref().ok_or(EncodeError::UnexpectedNull {{ \
             message: {:?}, field: {:?}, version: v }})?;\n{}}}\n",
            nullable(),
            one.name,
            slot.field.name,
            plain(&Place::reference())
        ),
    }
}

/// How to name a value: by value, by reference, and as the receiver of a method.
struct Place {
    value: String,
    reference: String,
    receiver: String,
}

impl Place {
    fn field(ident: &str) -> Self {
        let receiver = format!("self.{ident}");
        Self { value: receiver.clone(), reference: format!("&{receiver}"), receiver }
    }

    /// A variable `it` that is a reference.
    fn reference() -> Self {
        Self { value: "*it".to_owned(), reference: "it".to_owned(), receiver: "it".to_owned() }
    }
}

struct Written {
    code: String,
    fallible: bool,
}

fn plain(ty: &Type, place: &Place, flexible: &str) -> Written {
    let code = match ty {
        Type::String => format!("w.string({}, {flexible})", place.reference),
        Type::Bytes | Type::Records => format!("w.bytes({}, {flexible})", place.reference),
        Type::Struct(_) => format!("{}.encode(w, v)", place.receiver),
        Type::Array(element) => {
            format!("w.array({}, {flexible}, {})", place.reference, element_writer(element, flexible))
        }
        _ => return Written { code: format!("w.{}({})", primitive(ty), place.value), fallible: false },
    };
    Written { code, fallible: true }
}

fn nullable(slot: &Slot, flexible: &str) -> String {
    let ident = &slot.ident;
    match &slot.field.ty {
        Type::String => format!("w.nullable_string(self.{ident}.as_deref(), {flexible})"),
        Type::Bytes | Type::Records => format!("w.nullable_bytes(self.{ident}.as_deref(), {flexible})"),
        Type::Struct(_) => {
            format!(
                "w.{}nullable_struct(self.{ident}.as_ref(), |w, it| it.encode(w, v))",
                slot.tagged_prefix()
            )
        }
        Type::Array(element) => {
            format!(
                "w.nullable_array(self.{ident}.as_deref(), {flexible}, {})",
                element_writer(element, flexible)
            )
        }
        ty => unreachable!("{ty} cannot be null"),
    }
}

fn element_writer(element: &Type, flexible: &str) -> String {
    format!("|w, it| {}", as_result(plain(element, &Place::reference(), flexible)))
}

fn as_result(written: Written) -> String {
    if written.fallible { written.code } else { format!("{{ {}; Ok(()) }}", written.code) }
}

fn tag_section(layout: &Layout, one: &Struct) -> Result<String, String> {
    let flexible_range = layout.flexible.and(one.range);
    let mut refused = String::new();
    let mut fields = String::new();
    for (tag, slot) in one.tagged() {
        if let (false, Some(absent)) = (slot.field.ignorable, outside(slot.tagged, one.range)) {
            let _ = write!(refused, "if {absent} && {} {{\n{}}}\n", slot.is_set(), missing(one, slot));
        }
        let condition = match Condition::new(slot.tagged, flexible_range) {
            Condition::When(condition) => format!("{condition} && {}", slot.is_set()),
            Condition::Always | Condition::Never => slot.is_set(),
        };
        let write = match Condition::new(slot.nullable, slot.present) {
            Condition::Never => as_result(plain(&slot.field.ty, &Place::field(&slot.ident), "true")),
            Condition::Always => nullable(slot, "true"),
            Condition::When(_) => {
                return Err(format!("{} is tagged and sometimes nullable", slot.field.name));
            }
        };
        let _ = write!(fields, "if {condition} {{\nw.tagged(&mut tags, {tag}, |w| {write})?;\n}}\n");
    }
    let section = if fields.is_empty() {
        "w.no_tags();\n".to_owned()
    } else {
        format!("let mut tags = w.open_tags();\n{fields}")
    };
    Ok(match Condition::new(layout.flexible, one.range) {
        Condition::Always => format!("{refused}{section}"),
        Condition::Never => refused,
        Condition::When(_) => format!("{refused}if flexible {{\n{section}}}\n"),
    })
}

/// The condition under which a version of `range` is not in `versions`.
fn outside(versions: Versions, range: Versions) -> Option<String> {
    match Condition::new(versions, range) {
        Condition::Always => None,
        Condition::Never => Some("true".to_owned()),
        Condition::When(_) if versions.max == range.max => Some(format!("v < {}", versions.min)),
        Condition::When(_) if versions.min == range.min => Some(format!("v > {}", versions.max)),
        Condition::When(condition) => Some(format!("!({condition})")),
    }
}
