//! PLAIN (RFC 4616): `authorization id NUL name NUL password`.

use std::collections::BTreeMap;

use ring::digest::{SHA256, digest};
use subtle::ConstantTimeEq as _;

use super::said::Denied;
use crate::config::Secret;

/// The user that a message proves to be. The sentences are Apache Kafka's.
pub(crate) fn authenticate(message: &[u8], users: &BTreeMap<String, Secret>) -> Result<String, Denied> {
    let said = |why: &str| Err(Denied::Said(why.to_owned()));
    let text = String::from_utf8_lossy(message);
    // Behind the fourth NUL nothing is counted.
    let tokens: Vec<&str> = text.splitn(5, '\0').take(4).collect();
    let [authorization, name, password] = tokens[..] else {
        return Err(Denied::Said(format!(
            "Invalid SASL/PLAIN response: expected 3 tokens, got {}",
            tokens.len()
        )));
    };
    if name.is_empty() {
        return said("Authentication failed: username not specified");
    }
    if password.is_empty() {
        return said("Authentication failed: password not specified");
    }
    let known = users.get(name);
    // Hashes are as long as each other, whatever the passwords are.
    let given = digest(&SHA256, password.as_bytes());
    let wanted = digest(&SHA256, known.map_or("", Secret::reveal).as_bytes());
    let is_right: bool = given.as_ref().ct_eq(wanted.as_ref()).into();
    if !is_right || known.is_none() {
        return said("Authentication failed: Invalid username or password");
    }
    if !authorization.is_empty() && authorization != name {
        return said(
            "Authentication failed: Client requested an authorization id that is different from username",
        );
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(message: &[u8]) -> Result<String, String> {
        let users = [("alice".to_owned(), Secret::new("wonder".to_owned()))].into();
        authenticate(message, &users).map_err(|denied| match denied {
            Denied::Said(why) => why,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn the_right_password_gives_the_user() {
        assert_eq!(outcome(b"\0alice\0wonder"), Ok("alice".to_owned()));
        assert_eq!(outcome(b"alice\0alice\0wonder"), Ok("alice".to_owned()));
    }

    #[test]
    fn an_unknown_user_and_a_wrong_password_are_told_the_same() {
        let wrong = outcome(b"\0alice\0wander");
        assert_eq!(wrong, Err("Authentication failed: Invalid username or password".to_owned()));
        assert_eq!(outcome(b"\0bob\0wonder"), wrong);
        assert_eq!(outcome(b"\0alice\0wonde"), wrong);
    }

    #[test]
    fn who_wants_to_be_another_is_refused() {
        let refused = outcome(b"bob\0alice\0wonder").expect_err("refused");
        assert!(refused.contains("different from username"), "{refused}");
    }

    #[test]
    fn what_is_no_message_is_counted() {
        for (message, tokens) in
            [(&b""[..], 1), (b"alice", 1), (b"\0alice", 2), (b"\0a\0b\0c", 4), (b"\0\0\0\0\0", 4)]
        {
            let why = format!("Invalid SASL/PLAIN response: expected 3 tokens, got {tokens}");
            assert_eq!(outcome(message), Err(why));
        }
        assert_eq!(outcome(b"\0\0x"), Err("Authentication failed: username not specified".to_owned()));
        assert_eq!(outcome(b"\0alice\0"), Err("Authentication failed: password not specified".to_owned()));
    }
}
