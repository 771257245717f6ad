//! How a client says who it is.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use zeroize::Zeroizing;

use super::tickets::TicketHolder;
use crate::Secret;
use crate::scram::ScramHash;

/// A mechanism, and what it needs.
#[derive(Clone, Debug)]
pub enum Credentials {
    /// PLAIN (RFC 4616): the password travels as it is.
    Plain {
        /// Under which name.
        user: String,
        /// As it is set, without a change (no SASLprep, as in Apache Kafka).
        password: Secret,
    },
    /// SCRAM: each end shows that it knows the password, and neither says it.
    Scram(Arc<ScramPassword>),
    /// OAUTHBEARER (RFC 7628): a token that an issuer has signed.
    Token(Arc<BearerToken>),
    /// GSSAPI (RFC 4752): a ticket of Kerberos.
    Tickets(Arc<dyn TicketHolder>),
}

impl Credentials {
    /// The mechanism's name.
    #[must_use]
    pub fn mechanism(&self) -> &'static str {
        match self {
            Self::Plain { .. } => "PLAIN",
            Self::Scram(password) => password.hash.name(),
            Self::Token(_) => "OAUTHBEARER",
            Self::Tickets(_) => "GSSAPI",
        }
    }

    /// What may be in no text that is shown, also if a server has written it.
    pub(super) fn secret(&self) -> Secret {
        match self {
            Self::Plain { password, .. } => password.clone(),
            Self::Scram(password) => password.password.clone(),
            Self::Token(token) => token.current(),
            // A ticket's key is the library's, and never in a text.
            Self::Tickets(_) => Secret::new(String::new()),
        }
    }
}

/// A user of SCRAM and its password, or a delegation token's id and its HMAC.
pub struct ScramPassword {
    pub(super) hash: ScramHash,
    pub(super) user: String,
    pub(super) password: Secret,
    pub(super) by_token: bool,
    salted: Mutex<Option<Salted>>,
}

/// What was derived for one salt, which a server has for a user until the password is changed: so
/// that a thousand connections cost one derivation.
struct Salted {
    salt: Vec<u8>,
    iterations: NonZeroU32,
    password: Zeroizing<Vec<u8>>,
}

impl fmt::Debug for ScramPassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScramPassword")
            .field("hash", &self.hash)
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

impl ScramPassword {
    /// `by_token`: they are a delegation token's.
    #[must_use]
    pub fn new(hash: ScramHash, user: String, password: Secret, by_token: bool) -> Self {
        Self { hash, user, password, by_token, salted: Mutex::new(None) }
    }

    /// The salted password: some milliseconds of work, the first time.
    pub(super) fn salted(&self, salt: &[u8], iterations: NonZeroU32) -> Zeroizing<Vec<u8>> {
        let mut known = self.salted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) =
            known.as_ref().filter(|known| known.salt == salt && known.iterations == iterations)
        {
            return known.password.clone();
        }
        let derived = self.hash.salt_password(self.password.reveal(), salt, iterations);
        let password = Zeroizing::new(derived.to_vec());
        *known = Some(Salted { salt: salt.to_vec(), iterations, password: password.clone() });
        password
    }
}

/// A token, and what is said beside it. The token can be replaced while connections use it.
pub struct BearerToken {
    current: Mutex<Secret>,
    extensions: BTreeMap<String, String>,
}

/// What cannot be a token. Never with the token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenFault {
    /// Nothing is there, or letters that no token has.
    #[error("there is no token in it: one has letters, digits and -._~+/ alone, and perhaps = at its end")]
    Form,
    /// By its name.
    #[error(
        "the extension {0} cannot be: a name has letters alone and is not auth, a value has no signs of control"
    )]
    Extension(String),
}

impl fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BearerToken").finish_non_exhaustive()
    }
}

impl BearerToken {
    /// A token, with blanks and ends of lines around it or not.
    ///
    /// # Errors
    /// When it is none, or an extension is none.
    pub fn new(token: &str, extensions: BTreeMap<String, String>) -> Result<Self, TokenFault> {
        let is_name = |name: &str| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphabetic()) && name != "auth"
        };
        let is_value = |value: &str| {
            !value.is_empty() && value.bytes().all(|byte| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~'))
        };
        if let Some((name, _)) = extensions.iter().find(|(name, value)| !is_name(name) || !is_value(value)) {
            return Err(TokenFault::Extension(name.clone()));
        }
        Ok(Self { current: Mutex::new(checked(token)?), extensions })
    }

    /// Another token from here on.
    ///
    /// # Errors
    /// When it is none; the one that there was stays then.
    pub fn replace(&self, token: &str) -> Result<(), TokenFault> {
        let token = checked(token)?;
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = token;
        Ok(())
    }

    fn current(&self) -> Secret {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What the client says first.
    pub(super) fn message(&self) -> Bytes {
        let mut message = format!("n,,\x01auth=Bearer {}\x01", self.current().reveal());
        for (name, value) in &self.extensions {
            message += &format!("{name}={value}\x01");
        }
        message.push('\x01');
        message.into()
    }
}

fn checked(token: &str) -> Result<Secret, TokenFault> {
    let token = token.trim();
    let letters = token.trim_end_matches('=');
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte);
    if letters.is_empty() || !letters.bytes().all(is_letter) {
        return Err(TokenFault::Form);
    }
    Ok(Secret::new(token.to_owned()))
}
