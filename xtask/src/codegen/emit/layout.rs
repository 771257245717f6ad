//! Which structs a message becomes, which fields each has and in which versions it can occur.
//!
//! A struct's range is the hull of the versions in which something uses it, so that code inside
//! does not ask for versions that cannot be. Fields that exist in removed versions only are left
//! out.

use crate::codegen::schema::{Field, Message, Type, Versions, snake_case};

/// Names that generated functions use for themselves.
const TAKEN: [&str; 7] = ["r", "w", "v", "tag", "tags", "outer", "flexible"];

/// Words of Rust that occur as field names.
const KEYWORDS: [&str; 3] = ["type", "match", "move"];

/// A message's structs, itself first.
pub(super) struct Layout {
    pub(super) message: String,
    pub(super) flexible: Versions,
    pub(super) structs: Vec<Struct>,
}

/// One struct to be generated.
pub(super) struct Struct {
    pub(super) name: String,
    /// The versions in which it can occur.
    pub(super) range: Versions,
    pub(super) slots: Vec<Slot>,
}

/// One field to be generated.
pub(super) struct Slot {
    pub(super) field: Field,
    pub(super) ident: String,
    /// Where it is present at all, within the struct's range.
    pub(super) present: Versions,
    /// Where it is a tagged field.
    pub(super) tagged: Versions,
    /// Where it may be null.
    pub(super) nullable: Versions,
}

impl Layout {
    pub(super) fn of(message: &Message) -> Result<Self, String> {
        if message.versions.is_empty() {
            return Err("no version is left of it".to_owned());
        }
        let mut drafts = vec![Draft::new(&message.name, &message.fields)];
        collect(&message.fields, &mut drafts);
        for shared in &message.shared {
            drafts.push(Draft::new(&shared.name, &shared.fields));
            collect(&shared.fields, &mut drafts);
        }
        use_struct(&mut drafts, 0, message.versions, &mut Vec::new())?;
        let structs = drafts
            .into_iter()
            .filter(|draft| !draft.range.is_empty())
            .map(|draft| draft.finish(message.flexible))
            .collect::<Result<_, _>>()?;
        Ok(Self { message: message.name.clone(), flexible: message.flexible, structs })
    }

    /// The literal or variable that says whether the version at hand is flexible.
    pub(super) fn flexible_expr(&self, one: &Struct, field: Option<&Field>) -> &'static str {
        let flexible = field.and_then(|field| field.flexible).unwrap_or(self.flexible);
        match Condition::new(flexible, one.range) {
            Condition::Always => "true",
            Condition::Never => "false",
            Condition::When(_) => "flexible",
        }
    }

    /// The definition of that variable, for functions that use it.
    pub(super) fn flexible_let(&self, one: &Struct) -> String {
        match Condition::new(self.flexible, one.range) {
            Condition::When(condition) => format!("let flexible = {condition};\n"),
            Condition::Always | Condition::Never => String::new(),
        }
    }
}

impl Struct {
    /// The tagged fields with their tags, which rise.
    pub(super) fn tagged(&self) -> Vec<(u32, &Slot)> {
        let tag = |slot: &'_ Slot| slot.field.tag.filter(|_| !slot.tagged.is_empty()).map(|(tag, _)| tag);
        let mut tagged: Vec<(u32, &Slot)> =
            self.slots.iter().filter_map(|slot| tag(slot).map(|tag| (tag, slot))).collect();
        tagged.sort_by_key(|(tag, _)| *tag);
        tagged
    }
}

struct Draft<'a> {
    name: &'a str,
    fields: &'a [Field],
    range: Versions,
}

impl<'a> Draft<'a> {
    fn new(name: &'a str, fields: &'a [Field]) -> Self {
        Self { name, fields, range: Versions::NONE }
    }

    fn finish(self, flexible: Versions) -> Result<Struct, String> {
        let mut slots = Vec::new();
        for field in self.fields {
            let present = field.versions.and(self.range);
            if present.is_empty() {
                continue;
            }
            let slot = Slot::new(field, present)?;
            if !flexible.covers(slot.tagged) {
                return Err(format!("{} is tagged in versions that are not flexible", field.name));
            }
            slots.push(slot);
        }
        Ok(Struct { name: self.name.to_owned(), range: self.range, slots })
    }
}

fn collect<'a>(fields: &'a [Field], drafts: &mut Vec<Draft<'a>>) {
    for field in fields {
        if let (Some(name), false) = (field.ty.struct_name(), field.fields.is_empty()) {
            drafts.push(Draft::new(name, &field.fields));
            collect(&field.fields, drafts);
        }
    }
}

/// Notes that a struct occurs in `range`, and so what it contains. Nesting is finite: decoding
/// cannot recurse deeper than the schema.
fn use_struct(
    drafts: &mut [Draft<'_>],
    index: usize,
    range: Versions,
    path: &mut Vec<usize>,
) -> Result<(), String> {
    if path.contains(&index) {
        return Err(format!("{} contains itself", drafts[index].name));
    }
    path.push(index);
    drafts[index].range = drafts[index].range.hull(range);
    for field in drafts[index].fields {
        let inner = field.versions.and(range);
        if let (Some(name), false) = (field.ty.struct_name(), inner.is_empty()) {
            let target = drafts.iter().position(|draft| draft.name == name);
            use_struct(drafts, target.ok_or_else(|| format!("{name} is not defined"))?, inner, path)?;
        }
    }
    path.pop();
    Ok(())
}

impl Slot {
    fn new(field: &Field, present: Versions) -> Result<Self, String> {
        let name = snake_case(&field.name);
        if TAKEN.contains(&name.as_str()) {
            return Err(format!("{name} is a name that generated code uses itself"));
        }
        let ident = if KEYWORDS.contains(&name.as_str()) { format!("r#{name}") } else { name };
        let tagged = field.tag.map_or(Versions::NONE, |(_, versions)| versions.and(present));
        let nullable = field.nullable.and(present);
        let slot = Self { field: field.clone(), ident, present, tagged, nullable };
        let (ty, default) = (&field.ty, field.default.as_deref());
        if slot.checked_default().is_none() {
            return Err(format!("{} is no default of {ty}", default.unwrap_or("nothing")));
        }
        if !tagged.is_empty() && tagged != present {
            return Err(format!("{} is tagged in a part of its versions only", field.name));
        }
        Ok(slot)
    }

    pub(super) fn is_option(&self) -> bool {
        !self.nullable.is_empty()
    }

    /// Structs in tagged fields say otherwise than all others whether they are null.
    pub(super) fn tagged_prefix(&self) -> &'static str {
        if self.tagged.is_empty() { "" } else { "tagged_" }
    }

    pub(super) fn rust_type(&self) -> String {
        let plain = rust_type(&self.field.ty);
        if self.is_option() { format!("Option<{plain}>") } else { plain }
    }

    fn is_null_by_default(&self) -> bool {
        // Kafka's own code starts records with null, whatever the schema says.
        self.is_option() && (self.field.default.as_deref() == Some("null") || self.field.ty == Type::Records)
    }

    /// The default of the value itself; `None` when the schema's default does not fit the type.
    fn checked_plain_default(&self) -> Option<String> {
        let text = self.field.default.as_deref().unwrap_or_default();
        match &self.field.ty {
            Type::Bool => match text {
                "" | "false" => Some("false".to_owned()),
                "true" => Some("true".to_owned()),
                _ => None,
            },
            Type::Int8 => integer(text, i64::from(i8::MIN), i64::from(i8::MAX)),
            Type::Int16 => integer(text, i64::from(i16::MIN), i64::from(i16::MAX)),
            Type::Uint16 => integer(text, 0, i64::from(u16::MAX)),
            Type::Int32 => integer(text, i64::from(i32::MIN), i64::from(i32::MAX)),
            Type::Uint32 => integer(text, 0, i64::from(u32::MAX)),
            Type::Int64 => integer(text, i64::MIN, i64::MAX),
            Type::Float64 if text.is_empty() => Some("0.0".to_owned()),
            Type::Float64 => text.parse::<f64>().ok().map(|value| format!("{value:?}")),
            Type::String if text.is_empty() => Some("String::new()".to_owned()),
            Type::String => Some(format!("{text:?}.to_owned()")),
            Type::Uuid if text.is_empty() => Some("Uuid::ZERO".to_owned()),
            Type::Bytes | Type::Records if text.is_empty() => Some("Bytes::new()".to_owned()),
            Type::Struct(name) if text.is_empty() => Some(format!("{name}::default()")),
            Type::Array(_) if text.is_empty() => Some("Vec::new()".to_owned()),
            Type::Uuid | Type::Bytes | Type::Records | Type::Struct(_) | Type::Array(_) => None,
        }
    }

    fn checked_default(&self) -> Option<String> {
        if self.is_null_by_default() {
            return Some("None".to_owned());
        }
        let plain = self.checked_plain_default()?;
        Some(if self.is_option() { format!("Some({plain})") } else { plain })
    }

    /// The schema's default, as an expression.
    pub(super) fn default_value(&self) -> String {
        self.checked_default().expect("defaults were checked when the slot was made")
    }

    /// Whether the schema's default is also the type's.
    pub(super) fn has_trivial_default(&self) -> bool {
        let default = self.default_value();
        !default.starts_with("Some(")
            && (["None", "0", "0.0", "false", "String::new()", "Bytes::new()", "Vec::new()", "Uuid::ZERO"]
                .contains(&default.as_str())
                || default.ends_with("::default()"))
    }

    /// The condition under which the field does not have its default.
    pub(super) fn is_set(&self) -> String {
        let ident = &self.ident;
        let default = self.default_value();
        let plain_default = self.field.default.as_deref().unwrap_or_default();
        match (&self.field.ty, self.is_option()) {
            (_, true) if default == "None" => format!("self.{ident}.is_some()"),
            (Type::String, true) => format!("self.{ident}.as_deref() != Some({plain_default:?})"),
            (Type::Array(_) | Type::Bytes | Type::Records, true) => {
                format!("self.{ident}.as_ref().is_none_or(|it| !it.is_empty())")
            }
            (_, true) => format!("self.{ident} != {default}"),
            (Type::Bool, _) if default == "false" => format!("self.{ident}"),
            (Type::Bool, _) => format!("!self.{ident}"),
            (Type::String | Type::Array(_) | Type::Bytes | Type::Records, _) if plain_default.is_empty() => {
                format!("!self.{ident}.is_empty()")
            }
            (Type::String, _) => format!("self.{ident} != {plain_default:?}"),
            _ => format!("self.{ident} != {default}"),
        }
    }
}

fn integer(text: &str, min: i64, max: i64) -> Option<String> {
    let value = match text.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16).ok()?,
        None if text.is_empty() => 0,
        None => text.parse().ok()?,
    };
    (min..=max).contains(&value).then(|| group_digits(value))
}

/// `2147483647` as `2_147_483_647`.
fn group_digits(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut out = if value < 0 { "-".to_owned() } else { String::new() };
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push('_');
        }
        out.push(digit);
    }
    out
}

pub(super) fn rust_type(ty: &Type) -> String {
    match ty {
        Type::Bool => "bool".to_owned(),
        Type::Int8 => "i8".to_owned(),
        Type::Int16 => "i16".to_owned(),
        Type::Uint16 => "u16".to_owned(),
        Type::Int32 => "i32".to_owned(),
        Type::Uint32 => "u32".to_owned(),
        Type::Int64 => "i64".to_owned(),
        Type::Float64 => "f64".to_owned(),
        Type::Uuid => "Uuid".to_owned(),
        Type::String => "String".to_owned(),
        Type::Bytes | Type::Records => "Bytes".to_owned(),
        Type::Struct(name) => name.clone(),
        Type::Array(element) => format!("Vec<{}>", rust_type(element)),
    }
}

/// Whether a version is in a range, as far as that is not known beforehand.
pub(super) enum Condition {
    Always,
    Never,
    /// An expression over `v`.
    When(String),
}

impl Condition {
    /// `versions` asked of a version that is known to be in `range`.
    pub(super) fn new(versions: Versions, range: Versions) -> Self {
        let both = versions.and(range);
        if both.is_empty() {
            Self::Never
        } else if both == range {
            Self::Always
        } else if both.min == both.max {
            Self::When(format!("v == {}", both.min))
        } else if both.max == range.max {
            Self::When(format!("v >= {}", both.min))
        } else if both.min == range.min {
            Self::When(format!("v <= {}", both.max))
        } else {
            Self::When(format!("({}..={}).contains(&v)", both.min, both.max))
        }
    }
}
