//! What a message schema says, independent of how it is written down.
//!
//! The grammar is Apache Kafka's (its message generator's README): fields have versions, may be
//! nullable or tagged in some of them, and have a default. `text` reads and writes our own form of
//! it, `import` reads Kafka's JSON.

use std::fmt;

/// An inclusive range of versions; `max` is [`Versions::OPEN`] for `3+`. Empty when `max < min`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Versions {
    pub(crate) min: i16,
    pub(crate) max: i16,
}

impl Versions {
    pub(crate) const OPEN: i16 = i16::MAX;
    pub(crate) const NONE: Self = Self { min: 0, max: -1 };

    pub(crate) fn is_empty(self) -> bool {
        self.max < self.min
    }

    pub(crate) fn and(self, other: Self) -> Self {
        let both = Self { min: self.min.max(other.min), max: self.max.min(other.max) };
        if both.is_empty() { Self::NONE } else { both }
    }

    /// The smallest range that has both.
    pub(crate) fn hull(self, other: Self) -> Self {
        match (self.is_empty(), other.is_empty()) {
            (true, _) => other,
            (_, true) => self,
            _ => Self { min: self.min.min(other.min), max: self.max.max(other.max) },
        }
    }

    pub(crate) fn covers(self, other: Self) -> bool {
        self.and(other) == other
    }

    /// Reads `none`, `5`, `3+` or `0-7`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse::<i16>().map_err(|_| format!("'{text}' is not a version"));
        if text == "none" {
            Ok(Self::NONE)
        } else if let Some(min) = text.strip_suffix('+') {
            Ok(Self { min: number(min)?, max: Self::OPEN })
        } else if let Some((min, max)) = text.split_once('-') {
            Ok(Self { min: number(min)?, max: number(max)? })
        } else {
            let only = number(text)?;
            Ok(Self { min: only, max: only })
        }
    }
}

impl fmt::Display for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            one if one.is_empty() => write!(f, "none"),
            Self { min, max: Self::OPEN } => write!(f, "{min}+"),
            Self { min, max } if min == max => write!(f, "{min}"),
            Self { min, max } => write!(f, "{min}-{max}"),
        }
    }
}

/// What a field holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Bool,
    Int8,
    Int16,
    Uint16,
    Int32,
    Uint32,
    Int64,
    Float64,
    Uuid,
    String,
    Bytes,
    Records,
    Struct(String),
    Array(Box<Type>),
}

impl Type {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if let Some(element) = text.strip_prefix("[]") {
            return Self::parse(element).map(|element| Self::Array(Box::new(element)));
        }
        Ok(match text {
            "bool" => Self::Bool,
            "int8" => Self::Int8,
            "int16" => Self::Int16,
            "uint16" => Self::Uint16,
            "int32" => Self::Int32,
            "uint32" => Self::Uint32,
            "int64" => Self::Int64,
            "float64" => Self::Float64,
            "uuid" => Self::Uuid,
            "string" => Self::String,
            "bytes" => Self::Bytes,
            "records" => Self::Records,
            name if name.starts_with(|c: char| c.is_ascii_uppercase()) => Self::Struct(name.to_owned()),
            _ => return Err(format!("'{text}' is not a type")),
        })
    }

    /// The struct that this is, or is an array of.
    pub(crate) fn struct_name(&self) -> Option<&str> {
        match self {
            Self::Struct(name) => Some(name),
            Self::Array(element) => element.struct_name(),
            _ => None,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Array(element) => return write!(f, "[]{element}"),
            Self::Struct(name) => name,
            Self::Bool => "bool",
            Self::Int8 => "int8",
            Self::Int16 => "int16",
            Self::Uint16 => "uint16",
            Self::Int32 => "int32",
            Self::Uint32 => "uint32",
            Self::Int64 => "int64",
            Self::Float64 => "float64",
            Self::Uuid => "uuid",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Records => "records",
        })
    }
}

/// One field of a message or a nested struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) versions: Versions,
    pub(crate) nullable: Versions,
    /// The tag, and the versions in which the field is a tagged one.
    pub(crate) tag: Option<(u32, Versions)>,
    /// As the schema writes it; `None` means the type's own default.
    pub(crate) default: Option<String>,
    /// Whether a set value may be dropped by a version that lacks the field.
    pub(crate) ignorable: bool,
    /// Part of what tells the elements of the array apart.
    pub(crate) map_key: bool,
    /// What the value names, for example `topicName`.
    pub(crate) entity: Option<String>,
    /// Overrides the message's flexible versions for this field's length (only the request header's
    /// client id).
    pub(crate) flexible: Option<Versions>,
    /// The fields of the struct that is defined in this place, if one is.
    pub(crate) fields: Vec<Field>,
}

/// A struct that several fields of a message share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shared {
    pub(crate) name: String,
    pub(crate) versions: Versions,
    pub(crate) fields: Vec<Field>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// `request`, `response`, `header`, `data`, `metadata`, `remote-metadata`, `coordinator-key` or
    /// `coordinator-value`.
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) key: Option<i16>,
    pub(crate) versions: Versions,
    pub(crate) flexible: Versions,
    /// The highest version may still change and must not be advertised.
    pub(crate) unstable: bool,
    /// Where a request is served: `broker`, `controller`.
    pub(crate) listeners: Vec<String>,
    pub(crate) fields: Vec<Field>,
    pub(crate) shared: Vec<Shared>,
}

/// `TransactionalId` becomes `transactional_id`; runs of capitals are one word.
pub(crate) fn snake_case(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut out = String::new();
    for (i, &c) in letters.iter().enumerate() {
        let after_lower = i > 0 && !letters[i - 1].is_uppercase();
        let before_lower = i > 0 && letters.get(i + 1).is_some_and(|next| next.is_lowercase());
        if c.is_uppercase() && (after_lower || before_lower) {
            out.push('_');
        }
        out.extend(c.to_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_read_back_as_they_were_written() {
        for text in ["none", "0", "3+", "0-7"] {
            assert_eq!(Versions::parse(text).unwrap().to_string(), text);
        }
        assert!(Versions::parse("three").is_err());
    }

    #[test]
    fn names_become_snake_case() {
        assert_eq!(snake_case("TransactionalId"), "transactional_id");
        assert_eq!(snake_case("KRaftVersionRecord"), "k_raft_version_record");
        assert_eq!(snake_case("LastKnownElr"), "last_known_elr");
        assert_eq!(snake_case("TTLMs"), "ttl_ms");
    }
}
