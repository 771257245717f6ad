//! What the two ends of SCRAM send (RFC 5802, section 7).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The client's first message.
#[derive(Debug, PartialEq, Eq)]
pub struct ClientFirst<'a> {
    /// Who it wants to be, if it says so.
    pub authorization: Option<String>,
    /// Whose password it knows.
    pub user: String,
    /// Drawn by the client.
    pub nonce: &'a str,
    /// The name is a delegation token's id, and the password what its holder has to know.
    pub by_token: bool,
    /// Everything behind the header, which is signed.
    pub bare: &'a str,
}

/// The client's final message.
#[derive(Debug, PartialEq, Eq)]
pub struct ClientFinal<'a> {
    /// Of both ends.
    pub nonce: &'a str,
    /// That it knows the password.
    pub proof: Vec<u8>,
    /// Everything before the proof, which is signed.
    pub without_proof: &'a str,
}

/// The server's first message.
#[derive(Debug, PartialEq, Eq)]
pub struct ServerFirst<'a> {
    /// The client's, and the server's behind it.
    pub nonce: &'a str,
    /// What the password is hashed with.
    pub salt: Vec<u8>,
    /// How often it is.
    pub iterations: u32,
}

/// The server's final message.
#[derive(Debug, PartialEq, Eq)]
pub enum ServerFinal<'a> {
    /// It shows by this that it knows the password.
    Signature(Vec<u8>),
    /// It does not let the client in.
    Error(&'a str),
}

impl<'a> ClientFirst<'a> {
    /// Reads a message; `None`: it is none.
    #[must_use]
    pub fn parse(message: &'a [u8]) -> Option<Self> {
        let text = std::str::from_utf8(message).ok()?;
        // Without channel binding, and without one in mind.
        let rest = text.strip_prefix("n,")?;
        let (header, bare) = rest.split_once(',')?;
        let authorization = match header.strip_prefix("a=") {
            Some(name) => Some(user_name(name)?),
            None if header.is_empty() => None,
            None => return None,
        };
        let mut parts = bare.split(',').peekable();
        // An extension that has to be understood, and is not: Apache Kafka goes on all the same.
        parts.next_if(|part| part.strip_prefix("m=").is_some_and(is_value));
        let user = user_name(parts.next()?.strip_prefix("n=")?)?;
        let nonce = parts.next()?.strip_prefix("r=").filter(|nonce| is_printable(nonce))?;
        // Of one that is there twice the last counts.
        let mut by_token = false;
        for part in parts {
            let (name, value) = extension(part)?;
            if name == "tokenauth" {
                by_token = value.eq_ignore_ascii_case("true");
            }
        }
        Some(Self { authorization, user, nonce, by_token, bare })
    }
}

impl<'a> ClientFinal<'a> {
    /// Reads a message; `None`: it is none.
    #[must_use]
    pub fn parse(message: &'a [u8]) -> Option<Self> {
        let text = std::str::from_utf8(message).ok()?;
        let (without_proof, proof) = text.rsplit_once(",p=")?;
        let mut parts = without_proof.split(',');
        STANDARD.decode(parts.next()?.strip_prefix("c=")?).ok()?;
        let nonce = parts.next()?.strip_prefix("r=").filter(|nonce| is_printable(nonce))?;
        let proof = STANDARD.decode(proof).ok()?;
        parts.all(|part| extension(part).is_some()).then_some(Self { nonce, proof, without_proof })
    }
}

impl<'a> ServerFirst<'a> {
    /// Reads a message; `None`: it is none, or has an extension that has to be understood.
    #[must_use]
    pub fn parse(message: &'a [u8]) -> Option<Self> {
        let mut parts = std::str::from_utf8(message).ok()?.split(',');
        let nonce = parts.next()?.strip_prefix("r=").filter(|nonce| is_printable(nonce))?;
        let salt = STANDARD.decode(parts.next()?.strip_prefix("s=")?).ok().filter(|salt| !salt.is_empty())?;
        let digits = parts.next()?.strip_prefix("i=")?;
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        let iterations = digits.parse().ok().filter(|iterations| is_number && *iterations > 0)?;
        parts.all(|part| extension(part).is_some()).then_some(Self { nonce, salt, iterations })
    }
}

impl<'a> ServerFinal<'a> {
    /// Reads a message; `None`: it is none.
    #[must_use]
    pub fn parse(message: &'a [u8]) -> Option<Self> {
        let mut parts = std::str::from_utf8(message).ok()?.split(',');
        let first = parts.next()?;
        let said = match (first.strip_prefix("v="), first.strip_prefix("e=")) {
            (Some(signature), _) => Self::Signature(STANDARD.decode(signature).ok()?),
            (None, Some(error)) if is_value(error) => Self::Error(error),
            _ => return None,
        };
        parts.all(|part| extension(part).is_some()).then_some(said)
    }
}

/// The client's first message without its header, which is `n,,`.
#[must_use]
pub fn client_first_bare(user: &str, nonce: &str, by_token: bool) -> String {
    let user = user.replace('=', "=3D").replace(',', "=2C");
    let extension = if by_token { ",tokenauth=true" } else { "" };
    format!("n={user},r={nonce}{extension}")
}

/// The client's final message, as far as it is signed, without channel binding.
#[must_use]
pub fn client_final(nonce: &str) -> String {
    format!("c=biws,r={nonce}")
}

/// The server's first message.
#[must_use]
pub fn server_first(nonce: &str, salt: &[u8], iterations: i32) -> String {
    format!("r={nonce},s={},i={iterations}", STANDARD.encode(salt))
}

/// The server's last message.
#[must_use]
pub fn server_final(signature: &[u8]) -> String {
    format!("v={}", STANDARD.encode(signature))
}

/// A name with commas and equals signs as `=2C` and `=3D`.
fn user_name(text: &str) -> Option<String> {
    if text.is_empty() || text.contains('\0') {
        return None;
    }
    let mut parts = text.split('=');
    let mut name = parts.next()?.to_owned();
    for part in parts {
        let (sign, rest) = part.split_at_checked(2)?;
        name.push(match sign {
            "2C" => ',',
            "3D" => '=',
            _ => return None,
        });
        name.push_str(rest);
    }
    Some(name)
}

fn is_value(text: &str) -> bool {
    !text.is_empty() && !text.contains('\0')
}

fn is_printable(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| (0x21..=0x7e).contains(&byte))
}

/// A name and a value.
fn extension(part: &str) -> Option<(&str, &str)> {
    let (name, value) = part.split_once('=')?;
    let is_one = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphabetic()) && is_value(value);
    is_one.then_some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_message_is_taken_apart_and_what_is_signed_stays_as_it_came() {
        let first = ClientFirst::parse(b"n,,n=us=3Der=2C1,r=abc,tokenauth=true").expect("a message");
        assert_eq!(first.user, "us=er,1");
        assert_eq!((first.nonce, first.authorization.as_deref(), first.by_token), ("abc", None, true));
        assert_eq!(first.bare, "n=us=3Der=2C1,r=abc,tokenauth=true");
        let first = ClientFirst::parse(b"n,a=other,m=x,n=user,r=abc").expect("a message");
        assert_eq!((first.authorization.as_deref(), first.user.as_str()), (Some("other"), "user"));
        assert!(!first.by_token);
        for (extensions, by_token) in
            [("tokenauth=TRUE", true), ("tokenauth=yes", false), ("tokenauth=true,tokenauth=x", false)]
        {
            let message = format!("n,,n=u,r=a,{extensions}");
            assert_eq!(ClientFirst::parse(message.as_bytes()).expect("a message").by_token, by_token);
        }
    }

    #[test]
    fn what_is_no_first_message_is_refused() {
        for wrong in [
            "",
            "n",
            "n,",
            "n,,",
            "n,,n=,r=a",
            "n,,n=u",
            "n,,n=u,r=",
            "y,,n=u,r=a",
            "p=tls-unique,,n=u,r=a",
            "n,,n=u=2,r=a",
            "n,,n=u=4C,r=a",
            "n,b=c,n=u,r=a",
            "n,,r=a,n=u",
            "n,,n=u,r=a b",
            "n,,n=u,r=a,x",
            "n,,n=u,r=a,1=x",
            "n,,n=u=é,r=a",
        ] {
            assert_eq!(ClientFirst::parse(wrong.as_bytes()), None, "{wrong}");
        }
        assert_eq!(ClientFirst::parse(b"n,,n=\xff,r=a"), None);
    }

    #[test]
    fn a_final_message_is_taken_apart() {
        let last = ClientFinal::parse(b"c=biws,r=abc,p=AAEC").expect("a message");
        assert_eq!(last, ClientFinal { nonce: "abc", proof: vec![0, 1, 2], without_proof: "c=biws,r=abc" });
        for wrong in [
            "",
            "c=biws,r=abc",
            "c=biws,r=abc,p=?",
            "c=?,r=abc,p=AAEC",
            "r=abc,c=biws,p=AAEC",
            "c=biws,r=,p=",
        ] {
            assert_eq!(ClientFinal::parse(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn what_one_end_writes_the_other_reads() {
        let bare = client_first_bare("a=b,c", "abc", true);
        let message = format!("n,,{bare}");
        let first = ClientFirst::parse(message.as_bytes()).expect("a message");
        assert_eq!((first.user.as_str(), first.nonce, first.by_token), ("a=b,c", "abc", true));
        assert_eq!(first.bare, bare);
        let said = server_first("abcdef", b"salt", 4096);
        let first = ServerFirst::parse(said.as_bytes()).expect("a message");
        assert_eq!(first, ServerFirst { nonce: "abcdef", salt: b"salt".to_vec(), iterations: 4096 });
        let said = format!("{},p=AAEC", client_final("abcdef"));
        let last = ClientFinal::parse(said.as_bytes()).expect("a message");
        assert_eq!((last.nonce, &last.proof[..]), ("abcdef", &[0, 1, 2][..]));
        let said = server_final(&[3, 4]);
        assert_eq!(ServerFinal::parse(said.as_bytes()), Some(ServerFinal::Signature(vec![3, 4])));
    }

    #[test]
    fn what_no_server_says_is_refused() {
        for wrong in [
            "",
            "r=abc",
            "r=abc,s=AAEC",
            "r=,s=AAEC,i=1",
            "r=abc,s=,i=1",
            "r=abc,s=?,i=1",
            "r=abc,s=AAEC,i=0",
            "r=abc,s=AAEC,i=-1",
            "r=abc,s=AAEC,i=+1",
            "r=abc,s=AAEC,i=4294967296",
            "r=a c,s=AAEC,i=1",
            "m=x,r=abc,s=AAEC,i=1",
            "r=abc,s=AAEC,i=1,x",
            "s=AAEC,r=abc,i=1",
        ] {
            assert_eq!(ServerFirst::parse(wrong.as_bytes()), None, "{wrong}");
        }
        assert_eq!(ServerFirst::parse(b"r=\xff,s=AAEC,i=1"), None);
        assert!(
            ServerFirst::parse(b"r=abc,s=AAEC,i=1,x=y").is_some(),
            "an extension that may be passed over"
        );
        for wrong in ["", "v", "v=?", "e=", "x=1", "v=AAEC,x", "r=abc,v=AAEC"] {
            assert_eq!(ServerFinal::parse(wrong.as_bytes()), None, "{wrong}");
        }
        assert_eq!(ServerFinal::parse(b"e=unknown-user"), Some(ServerFinal::Error("unknown-user")));
    }
}
