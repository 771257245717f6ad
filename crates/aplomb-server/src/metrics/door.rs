//! Who may look at the pages: TLS, and a name with a password.
//!
//! What always holds: names and passwords are compared in a time that does not depend on them;
//! whether the process lives is told to all who come in.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA256, digest};
use subtle::ConstantTimeEq as _;

use crate::security::Gate;

/// What stands before the pages.
#[derive(Clone, Default)]
pub struct Door {
    gate: Option<Arc<Gate>>,
    /// The hash of the name, a colon, and the password.
    login: Option<[u8; 32]>,
}

impl Door {
    /// With TLS by this gate, and for those who give this name and password; without a name for all
    /// who come.
    #[must_use]
    pub fn new(gate: Option<Arc<Gate>>, login: Option<(&str, &str)>) -> Self {
        let login = login.map(|(name, password)| hash(format!("{name}:{password}").as_bytes()));
        Self { gate, login }
    }

    pub(super) fn gate(&self) -> Option<&Gate> {
        self.gate.as_deref()
    }

    /// Whether the head of a request gives name and password, if they are asked for.
    pub(super) fn lets_in(&self, head: &[u8]) -> bool {
        let Some(login) = &self.login else { return true };
        let given = credentials(head);
        let is_right: bool = hash(given.as_deref().unwrap_or_default()).ct_eq(login).into();
        is_right && given.is_some()
    }
}

impl std::fmt::Debug for Door {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Door").field("asks", &self.login.is_some()).finish_non_exhaustive()
    }
}

fn hash(text: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, text).as_ref());
    hash
}

/// What stands in `Authorization: Basic ...`, decoded. A head with two of them has none.
fn credentials(head: &[u8]) -> Option<Vec<u8>> {
    let head = std::str::from_utf8(head).ok()?;
    let mut found = head.split("\r\n").skip(1).filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("authorization").then(|| value.trim())
    });
    let (value, None) = (found.next()?, found.next()) else { return None };
    let (scheme, digits) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    STANDARD.decode(digits.trim()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_gives_name_and_password_is_let_in() {
        let door = Door::new(None, Some(("prom", "pass:word")));
        let head = |lines: &str| format!("GET / HTTP/1.1\r\nHost: here\r\n{lines}\r\n");
        let basic = |text: &str| STANDARD.encode(text);
        let right = basic("prom:pass:word");
        for line in
            [format!("Authorization: Basic {right}\r\n"), format!("authorization:BASIC  {right} \r\n")]
        {
            assert!(door.lets_in(head(&line).as_bytes()), "{line}");
        }
        for line in [
            String::new(),
            "Authorization: Basic\r\n".to_owned(),
            "Authorization: Basic ?\r\n".to_owned(),
            format!("Authorization: Bearer {right}\r\n"),
            format!("X-Authorization: Basic {right}\r\n"),
            format!("Authorization: Basic {}\r\n", basic("prom:pass:wor")),
            format!("Authorization: Basic {}\r\n", basic("")),
            format!("Authorization: Basic {right}\r\nAuthorization: Basic {right}\r\n"),
        ] {
            assert!(!door.lets_in(head(&line).as_bytes()), "{line}");
        }
        assert!(Door::default().lets_in(head("").as_bytes()));
        let shown = format!("{door:?}");
        assert!(!shown.contains("word"), "{shown}");
    }
}
