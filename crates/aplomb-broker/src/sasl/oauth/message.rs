//! What a client says first (RFC 7628): `n,a=<who it wants to be>,^Aauth=Bearer <token>^A…^A^A`.

use crate::sasl::said::Denied;

/// A client's message, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClientMessage<'m> {
    /// Whom it wants to be; empty: whom the token stands for.
    pub(super) authorization: &'m str,
    pub(super) token: &'m str,
}

const INVALID: Denied = Denied::Unsaid("it is no first message of OAUTHBEARER");

/// What stands between the parts, and ends the message once more.
const SEPARATOR: char = '\x01';

impl<'m> ClientMessage<'m> {
    /// Reads a message, of which all that Apache Kafka's pattern refuses is refused.
    pub(super) fn parse(message: &'m [u8]) -> Result<Self, Denied> {
        let message = std::str::from_utf8(message).map_err(|_| INVALID)?;
        let (head, rest) = message.strip_prefix("n,").and_then(|rest| rest.split_once(',')).ok_or(INVALID)?;
        let authorization = match head.strip_prefix("a=") {
            Some(name) if is_sasl_name(name) => name,
            None if head.is_empty() => "",
            _ => return Err(INVALID),
        };
        let rest = rest.strip_prefix(SEPARATOR).and_then(|rest| rest.strip_suffix(SEPARATOR));
        let mut rest = rest.ok_or(INVALID)?;
        let mut auth = None;
        while !rest.is_empty() {
            let (pair, behind) = rest.split_once(SEPARATOR).ok_or(INVALID)?;
            let (key, value) = pair.split_once('=').ok_or(INVALID)?;
            if !is_key(key) || !is_value(value) {
                return Err(INVALID);
            }
            if key == "auth" {
                auth = Some(value);
            }
            rest = behind;
        }
        let auth = auth.ok_or(Denied::Unsaid("its first message has no auth"))?;
        Ok(Self { authorization, token: bearer(auth)? })
    }
}

/// The token of `Bearer <token>`.
fn bearer(auth: &str) -> Result<&str, Denied> {
    const FORM: Denied = Denied::Unsaid("its auth has another form than scheme and token");
    let (scheme, token) = auth.split_once(' ').ok_or(FORM)?;
    let token = token.trim_start_matches(' ');
    let is_scheme =
        !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let written = token.trim_end_matches('=');
    let is_of_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-_~+/.".contains(&byte);
    if !is_scheme || written.is_empty() || !written.bytes().all(is_of_token) {
        return Err(FORM);
    }
    if scheme.eq_ignore_ascii_case("bearer") {
        Ok(token)
    } else {
        // Apache Kafka fails over the name of the scheme, and closes without an answer.
        Err(Denied::Silent("its auth has another scheme than Bearer"))
    }
}

/// `=` only as `=2C` or `=3D`.
fn is_sasl_name(name: &str) -> bool {
    let mut parts = name.split('=');
    let is_plain = |part: &str| part.bytes().all(|byte| (1..=0x7f).contains(&byte));
    let first = parts.next().is_some_and(is_plain);
    let escaped = |part: &str| (part.starts_with("2C") || part.starts_with("3D")) && is_plain(part);
    !name.is_empty() && first && parts.all(escaped)
}

fn is_key(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphabetic())
}

fn is_value(value: &str) -> bool {
    let may_be = |byte: u8| matches!(byte, 0x21..=0x7e | b' ' | b'\t' | b'\r' | b'\n');
    !value.is_empty() && value.bytes().all(may_be)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(message: &str) -> Option<(&str, &str)> {
        let parsed = ClientMessage::parse(message.as_bytes()).ok()?;
        Some((parsed.authorization, parsed.token))
    }

    #[test]
    fn a_message_has_a_token_and_may_have_more() {
        assert_eq!(parsed("n,,\x01auth=Bearer a.b.c\x01\x01"), Some(("", "a.b.c")));
        assert_eq!(parsed("n,a=alice,\x01auth=bEaReR   a.b.c==\x01\x01"), Some(("alice", "a.b.c==")));
        assert_eq!(
            parsed("n,a=a=2Cb=3D,\x01x=1\x01auth=Bearer t\x01y=a=b c\x01\x01"),
            Some(("a=2Cb=3D", "t"))
        );
        assert_eq!(
            parsed("n,,\x01auth=Bearer a\x01auth=Bearer b\x01\x01"),
            Some(("", "b")),
            "the last counts"
        );
    }

    #[test]
    fn what_is_no_message_is_refused() {
        for message in [
            "",
            "n",
            "n,,",
            "y,,\x01auth=Bearer a\x01\x01",
            "n,a=,\x01auth=Bearer a\x01\x01",
            "n,a=b=2x,\x01auth=Bearer a\x01\x01",
            "n,b,\x01auth=Bearer a\x01\x01",
            "n,a=é,\x01auth=Bearer a\x01\x01",
            "n,,auth=Bearer a\x01\x01",
            "n,,\x01auth=Bearer a\x01",
            "n,,\x01auth=Bearer a",
            "n,,\x01auth=Bearer a\x01\x01\x01",
            "n,,\x01\x01",
            "n,,\x01",
            "n,,\x01auth\x01\x01",
            "n,,\x01auth=\x01\x01",
            "n,,\x01k1=v\x01auth=Bearer a\x01\x01",
            "n,,\x01k=é\x01auth=Bearer a\x01\x01",
            "n,,\x01auth=Bearer\x01\x01",
            "n,,\x01auth=Bearer \x01\x01",
            "n,,\x01auth=Bearer ==\x01\x01",
            "n,,\x01auth=Bearer a b\x01\x01",
            "n,,\x01auth=Bearer a=b\x01\x01",
            "n,,\x01auth= a\x01\x01",
        ] {
            assert_eq!(parsed(message), None, "{message:?}");
        }
        let other = ClientMessage::parse(b"n,,\x01auth=Basic a\x01\x01").expect_err("another scheme");
        assert!(matches!(other, Denied::Silent(_)));
    }
}
