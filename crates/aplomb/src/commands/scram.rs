//! `--add-scram`: a user and a password, in the form of `kafka-storage.sh format`.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use aplomb_broker::scram::{MAX_ITERATIONS, MIN_ITERATIONS, ScramHash};
use aplomb_protocol::messages::UserScramCredentialRecord;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;

use crate::wiring::chance;

/// What is no user; the sentence has none of its values.
#[derive(Debug, thiserror::Error)]
#[error("--add-scram: {0}")]
pub(super) struct NotAUser(pub(super) String);

/// A user to be.
#[derive(Clone)]
pub(super) struct NewUser {
    hash: ScramHash,
    name: String,
    salt: Bytes,
    iterations: i32,
    salted: Bytes,
}

impl std::fmt::Debug for NewUser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewUser").field("name", &self.name).finish_non_exhaustive()
    }
}

impl NewUser {
    /// What is stored of it.
    pub(super) fn record(&self) -> UserScramCredentialRecord {
        self.hash.credential(&self.name, self.salt.clone(), &self.salted, self.iterations)
    }
}

/// Reads `SCRAM-SHA-256=[name=alice,password=...]`. What is wrong with it is said without its
/// values.
pub(super) fn parse_user(text: &str) -> Result<NewUser, String> {
    let form = || "the form is SCRAM-SHA-256=[name=alice,password=...] or SCRAM-SHA-512=[...]".to_owned();
    let (mechanism, rest) = text.trim().split_once('=').ok_or_else(form)?;
    let hash = ScramHash::from_name(mechanism.trim()).ok_or_else(form)?;
    let fields = rest.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).ok_or_else(form)?;
    let mut known: BTreeMap<&str, &str> = BTreeMap::new();
    for field in fields.split(',') {
        let (key, value) = field.split_once('=').ok_or_else(form)?;
        let value = value.trim();
        let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
        if known.insert(key.trim(), value).is_some() {
            return Err("one of its fields is there twice".to_owned());
        }
    }
    let name = known.remove("name").filter(|name| !name.is_empty()).ok_or("a name is missing")?.to_owned();
    let iterations = match known.remove("iterations") {
        None => MIN_ITERATIONS,
        Some(text) => text
            .parse()
            .ok()
            .filter(|count| (MIN_ITERATIONS..=MAX_ITERATIONS).contains(count))
            .ok_or_else(|| format!("iterations are from {MIN_ITERATIONS} to {MAX_ITERATIONS}"))?,
    };
    let base64 = |key: &str, text: &str| {
        STANDARD.decode(text).map(Bytes::from).map_err(|_| format!("{key} is not base64"))
    };
    let salt = known.remove("salt").map(|text| base64("salt", text)).transpose()?;
    let (password, salted) = (known.remove("password"), known.remove("saltedpassword"));
    if !known.is_empty() {
        return Err("its fields are name, password, iterations, salt and saltedpassword".to_owned());
    }
    let (salt, salted) = match (password, salted, salt) {
        (Some(password), None, salt) if !password.is_empty() => {
            let salt = salt.unwrap_or_else(|| [chance(), chance()].concat().into());
            let count = u32::try_from(iterations).ok().and_then(NonZeroU32::new).ok_or_else(form)?;
            (salt.clone(), hash.salt_password(password, &salt, count))
        }
        (None, Some(salted), Some(salt)) => (salt, base64("saltedpassword", salted)?),
        _ => return Err("either a password is needed, or saltedpassword with its salt".to_owned()),
    };
    Ok(NewUser { hash, name, salt, iterations, salted })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_read_in_the_form_of_apache_kafka() {
        let user = parse_user("SCRAM-SHA-512=[name=\"alice\",iterations=8192,password=pw]").expect("a user");
        assert_eq!((user.name.as_str(), user.iterations, user.hash), ("alice", 8192, ScramHash::Sha512));
        let salted =
            parse_user("SCRAM-SHA-256=[name=bob,salt=c2FsdA==,saltedpassword=c2FsdGVk]").expect("a user");
        assert_eq!((&salted.salt[..], &salted.salted[..]), (&b"salt"[..], &b"salted"[..]));
    }

    #[test]
    fn what_is_wrong_is_said_without_the_password() {
        for text in [
            "alice",
            "PLAIN=[name=a,password=secret]",
            "SCRAM-SHA-256=name=a,password=secret",
            "SCRAM-SHA-256=[password=secret]",
            "SCRAM-SHA-256=[name=a]",
            "SCRAM-SHA-256=[name=a,password=secret,saltedpassword=c2E=]",
            "SCRAM-SHA-256=[name=a,password=secret,iterations=4095]",
            "SCRAM-SHA-256=[name=a,password=secret,iterations=2147483648]",
            "SCRAM-SHA-256=[name=a,password=secret,color=red]",
        ] {
            let why = parse_user(text).expect_err(text);
            assert!(!why.contains("secret"), "{why}");
        }
    }
}
