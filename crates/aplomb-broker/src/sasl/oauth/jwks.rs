//! The keys of an issuer (RFC 7517), and which of them a token means.
//!
//! What always holds: a key that cannot be used here is passed over, as by Apache Kafka; a set is
//! bounded before it is kept.

use std::fmt;

use super::json::{Fields, Json, parse_object, said};
use super::signature::{Algorithm, Curve, PublicKey};
use super::token::decode;

/// More keys make no set: each look at a token goes through all of them.
const MOST_KEYS: usize = 256;

/// The largest set, in bytes.
const LARGEST_SET: usize = 1024 * 1024;

/// Why a text is no set of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeySetError {
    /// It is no JSON, or has a name twice.
    #[error("it is not an object of JSON with each name once")]
    Json,
    /// There is no list of keys in it.
    #[error("it has no list \"keys\"")]
    NoKeys,
    /// There are too many in it.
    #[error("it has {0} keys; {MOST_KEYS} are the most")]
    TooMany(usize),
    /// It is too long.
    #[error("it has {0} bytes; {LARGEST_SET} are the most")]
    TooLarge(usize),
}

/// One key, with what is said of it.
#[derive(PartialEq, Eq)]
struct SigningKey {
    id: Option<String>,
    algorithm: Option<String>,
    /// Of its certificate, by SHA-1 and by SHA-256.
    thumbs: [Option<String>; 2],
    key: PublicKey,
}

/// All keys of an issuer that tokens can be checked with.
#[derive(Default, PartialEq, Eq)]
pub struct KeySet {
    keys: Vec<SigningKey>,
    unused: usize,
}

impl fmt::Debug for KeySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeySet").field("ids", &self.ids().collect::<Vec<_>>()).finish_non_exhaustive()
    }
}

/// What a token's header says of its key.
pub(super) struct Wanted<'h> {
    pub(super) id: Option<&'h str>,
    pub(super) thumbs: [Option<&'h str>; 2],
    pub(super) algorithm: Algorithm,
    /// The algorithm's name.
    pub(super) name: &'h str,
}

impl KeySet {
    /// The most bytes that a set may have.
    pub const LARGEST: usize = LARGEST_SET;

    /// Reads a set.
    ///
    /// # Errors
    /// When it is none, or is too large. Keys that cannot be used are passed over.
    pub fn parse(bytes: &[u8]) -> Result<Self, KeySetError> {
        if bytes.len() > LARGEST_SET {
            return Err(KeySetError::TooLarge(bytes.len()));
        }
        let set = parse_object(bytes).ok_or(KeySetError::Json)?;
        let Some(Json::List(list)) = set.get("keys") else { return Err(KeySetError::NoKeys) };
        if list.len() > MOST_KEYS {
            return Err(KeySetError::TooMany(list.len()));
        }
        let keys: Vec<SigningKey> = list.iter().filter_map(signing_key).collect();
        let unused = list.len() - keys.len();
        Ok(Self { keys, unused })
    }

    /// How many keys there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// How many were passed over.
    #[must_use]
    pub const fn unused(&self) -> usize {
        self.unused
    }

    /// The ids of those that have one.
    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().filter_map(|key| key.id.as_deref())
    }

    /// The key that is meant. Where several can be, what they are for and their curve decide, and
    /// then their order (`VerificationJwkSelector`).
    pub(super) fn select(&self, wanted: &Wanted<'_>) -> Option<&PublicKey> {
        let may_be = |key: &&SigningKey| {
            let is_it = wanted.id.is_none_or(|id| key.id.as_deref() == Some(id));
            let thumbs = wanted.thumbs.iter().zip(&key.thumbs);
            let has_thumbs = thumbs.into_iter().all(|(wanted, has)| match (wanted, has) {
                (Some(wanted), Some(has)) => wanted == has,
                _ => true,
            });
            is_it && has_thumbs && key.key.key_type() == wanted.algorithm.key_type()
        };
        let mut found: Vec<&SigningKey> = self.keys.iter().filter(may_be).collect();
        if found.len() > 1 {
            found.retain(|key| key.algorithm.as_deref().is_none_or(|name| name == wanted.name));
        }
        if found.len() > 1 {
            found.retain(|key| key.key.curve() == wanted.algorithm.curve());
        }
        found.first().map(|key| &key.key)
    }
}

fn signing_key(value: &Json) -> Option<SigningKey> {
    let Json::Object(fields) = value else { return None };
    // What is there has to be a text.
    let text = |name: &str| match said(fields, name) {
        None => Some(None),
        Some(value) => value.text().map(|text| Some(text.to_owned())),
    };
    if text("use")?.is_some_and(|usage| usage != "sig") {
        return None;
    }
    let verifies = match said(fields, "key_ops") {
        None => true,
        Some(Json::List(operations)) => operations.iter().any(|one| one.text() == Some("verify")),
        Some(_) => false,
    };
    let key = public_key(fields)?;
    let thumbs = [text("x5t")?, text("x5t#S256")?];
    verifies.then_some(SigningKey { id: text("kid")?, algorithm: text("alg")?, thumbs, key })
}

fn public_key(fields: &Fields) -> Option<PublicKey> {
    let text = |name: &str| fields.get(name)?.text();
    let number = |name: &str| {
        let bytes = decode(text(name)?).ok()?;
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        Some(bytes[zeros..].to_vec())
    };
    match text("kty")? {
        "RSA" => {
            let (modulus, exponent) = (number("n")?, number("e")?);
            // Longer and shorter ones fit no algorithm.
            let is_usable = (256..=1024).contains(&modulus.len()) && (1..=8).contains(&exponent.len());
            is_usable.then_some(PublicKey::Rsa { modulus, exponent })
        }
        "EC" => {
            let curve = Curve::from_name(text("crv")?)?;
            let mut point = vec![4];
            for name in ["x", "y"] {
                let bytes = number(name)?;
                point.resize(point.len() + curve.width().checked_sub(bytes.len())?, 0);
                point.extend(bytes);
            }
            Some(PublicKey::Point { curve, point })
        }
        "OKP" if text("crv")? == "Ed25519" => {
            Some(PublicKey::Edwards(decode(text("x")?).ok()?.try_into().ok()?))
        }
        _ => None,
    }
}
