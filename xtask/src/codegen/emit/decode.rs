//! Writes `decode` functions: one `let` per field in wire order, then the tagged fields, then the
//! struct.

use std::fmt::Write as _;

use super::has_word;
use super::layout::{Condition, Layout, Slot, Struct};
use crate::codegen::schema::Type;

pub(super) fn function(layout: &Layout, one: &Struct) -> String {
    let top = one.name == layout.message;
    let mut body = String::new();
    for slot in &one.slots {
        let value =
            if slot.tagged.is_empty() { plain_field(layout, one, slot) } else { slot.default_value() };
        let mutable = if slot.tagged.is_empty() { "" } else { "mut " };
        let _ = writeln!(body, "let {mutable}{} = {value};", slot.ident);
    }
    body.push_str(&tag_section(layout, one));
    let names: Vec<&str> = one.slots.iter().map(|slot| slot.ident.as_str()).collect();
    let _ = writeln!(body, "Ok(Self {{ {} }})", names.join(", "));

    let flexible = if has_word(&body, "flexible") { layout.flexible_let(one) } else { String::new() };
    let check = if top {
        "if !Self::VERSIONS.contains(v) {\n\
         return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });\n}\n"
    } else {
        ""
    };
    let body = format!("{check}{flexible}{body}");
    let v = if has_word(&body, "v") { "v" } else { "_v" };
    let r = if has_word(&body, "r") { "r" } else { "_r" };
    let public = if top { "" } else { "pub(crate) " };
    format!("{public}fn decode({r}: &mut Reader, {v}: i16) -> Result<Self, DecodeError> {{\n{body}}}\n")
}

fn plain_field(layout: &Layout, one: &Struct, slot: &Slot) -> String {
    let flexible = layout.flexible_expr(one, Some(&slot.field));
    let value = value(slot, flexible);
    match Condition::new(slot.present, one.range) {
        Condition::When(condition) => {
            format!("if {condition} {{ {value} }} else {{ {} }}", slot.default_value())
        }
        Condition::Always | Condition::Never => value,
    }
}

/// Reads the field where it is present: nullable in some of these versions, in all, or in none.
fn value(slot: &Slot, flexible: &str) -> String {
    let plain = format!("{}?", plain(&slot.field.ty, flexible));
    let nullable = || format!("{}?", nullable(slot, flexible));
    match Condition::new(slot.nullable, slot.present) {
        Condition::Never => plain,
        Condition::Always => nullable(),
        Condition::When(condition) => format!("if {condition} {{ {} }} else {{ Some({plain}) }}", nullable()),
    }
}

fn plain(ty: &Type, flexible: &str) -> String {
    match ty {
        Type::String => format!("r.string({flexible})"),
        Type::Bytes | Type::Records => format!("r.bytes({flexible})"),
        Type::Struct(name) => format!("{name}::decode(r, v)"),
        Type::Array(element) => format!("r.array({flexible}, {})", element_reader(element, flexible)),
        _ => format!("r.{}()", primitive(ty)),
    }
}

fn nullable(slot: &Slot, flexible: &str) -> String {
    match &slot.field.ty {
        Type::String => format!("r.nullable_string({flexible})"),
        Type::Bytes | Type::Records => format!("r.nullable_bytes({flexible})"),
        Type::Struct(name) => {
            format!("r.{}nullable_struct(|r| {name}::decode(r, v))", slot.tagged_prefix())
        }
        Type::Array(element) => {
            format!("r.nullable_array({flexible}, {})", element_reader(element, flexible))
        }
        ty => unreachable!("{ty} cannot be null"),
    }
}

fn element_reader(element: &Type, flexible: &str) -> String {
    match element {
        Type::String | Type::Bytes | Type::Records | Type::Struct(_) | Type::Array(_) => {
            format!("|r| {}", plain(element, flexible))
        }
        _ => format!("Reader::{}", primitive(element)),
    }
}

/// The name of the reader's and writer's method for a type of fixed size.
pub(super) fn primitive(ty: &Type) -> &'static str {
    match ty {
        Type::Bool => "bool",
        Type::Int8 => "i8",
        Type::Int16 => "i16",
        Type::Uint16 => "u16",
        Type::Int32 => "i32",
        Type::Uint32 => "u32",
        Type::Int64 => "i64",
        Type::Float64 => "f64",
        Type::Uuid => "uuid",
        Type::String | Type::Bytes | Type::Records | Type::Struct(_) | Type::Array(_) => {
            unreachable!("{ty} has no fixed size")
        }
    }
}

fn tag_section(layout: &Layout, one: &Struct) -> String {
    let flexible = Condition::new(layout.flexible, one.range);
    let mut arms = String::new();
    for (tag, slot) in one.tagged() {
        let guard = match Condition::new(slot.tagged, layout.flexible.and(one.range)) {
            Condition::When(condition) => format!(" if {condition}"),
            Condition::Always | Condition::Never => String::new(),
        };
        let _ = writeln!(arms, "{tag}{guard} => {} = {},", slot.ident, value(slot, "true"));
    }
    let section = if arms.is_empty() {
        "r.skip_tags()?;\n".to_owned()
    } else {
        format!(
            "for _ in 0..r.tag_count()? {{\nlet (tag, outer) = r.enter_tag()?;\n\
             match tag {{\n{arms}_ => r.skip_tag(),\n}}\nr.leave_tag(outer)?;\n}}\n"
        )
    };
    match flexible {
        Condition::Always => section,
        Condition::Never => String::new(),
        Condition::When(_) => format!("if flexible {{\n{section}}}\n"),
    }
}
