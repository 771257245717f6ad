//! JSON in which each name is there once: what a token or a set of keys says twice, two readers
//! could understand in two ways.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// An object of JSON.
pub(super) type Fields = BTreeMap<String, Json>;

/// A value of JSON.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Json {
    Null,
    Flag(bool),
    Whole(i64),
    /// A number with a fraction or an exponent, or one that is too large.
    Real(f64),
    Text(String),
    List(Vec<Self>),
    Object(Fields),
}

impl Json {
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Reads an object. Depth is bounded by the reader, at 128.
pub(super) fn parse_object(bytes: &[u8]) -> Option<Fields> {
    match serde_json::from_slice(bytes) {
        Ok(Json::Object(fields)) => Some(fields),
        _ => None,
    }
}

/// What an object says under a name; `null` says nothing.
pub(super) fn said<'f>(fields: &'f Fields, name: &str) -> Option<&'f Json> {
    fields.get(name).filter(|value| **value != Json::Null)
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyJson)
    }
}

struct AnyJson;

impl<'de> Visitor<'de> for AnyJson {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Json, E> {
        Ok(Json::Flag(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Json, E> {
        Ok(Json::Whole(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Json, E> {
        #[expect(clippy::cast_precision_loss, reason = "it is too large to be of use")]
        let real = || Json::Real(number as f64);
        Ok(i64::try_from(number).map_or_else(|_| real(), Json::Whole))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Json, E> {
        Ok(Json::Real(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Json, E> {
        Ok(Json::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<Json, A::Error> {
        let mut fields = Fields::new();
        while let Some((name, value)) = pairs.next_entry::<String, Json>()? {
            if fields.insert(name, value).is_some() {
                return Err(A::Error::custom("a name is there twice"));
            }
        }
        Ok(Json::Object(fields))
    }
}
