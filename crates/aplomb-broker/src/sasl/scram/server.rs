//! A SCRAM server's side of one exchange.

use aplomb_protocol::messages::UserScramCredentialRecord;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use bytes::Bytes;
use subtle::ConstantTimeEq as _;

use super::super::said::{Denied, Said};
use super::messages::{ClientFinal, ClientFirst, server_final, server_first};
use crate::metadata::Security;
use crate::scram::{MIN_ITERATIONS, ScramHash};

/// How many characters the salt of a user has whom there is not: as those have that Apache Kafka
/// draws.
const SALT: usize = 26;

/// How far an exchange is.
#[derive(Debug)]
pub(crate) enum ScramServer {
    /// Nothing has come.
    Fresh(ScramHash),
    /// The client is to prove that it knows the password.
    Challenged(Box<Challenge>),
    /// Nothing more is listened to.
    Over,
}

/// What a client has to answer.
pub(crate) struct Challenge {
    hash: ScramHash,
    user: String,
    nonce: String,
    /// What both sides have said, as far as it is signed.
    said: String,
    /// `None`: there is no such user.
    stored: Option<UserScramCredentialRecord>,
}

impl std::fmt::Debug for Challenge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Challenge").field("user", &self.user).finish_non_exhaustive()
    }
}

impl ScramServer {
    pub(crate) const fn new(hash: ScramHash) -> Self {
        Self::Fresh(hash)
    }

    /// Takes what the client says next. `secret` is this process's own: from it comes what a user
    /// is told whom there is not.
    pub(crate) fn on_message(
        &mut self,
        message: &[u8],
        security: &Security,
        secret: &[u8; 16],
        chance: &mut dyn FnMut() -> [u8; 16],
    ) -> Result<Said, Denied> {
        match std::mem::replace(self, Self::Over) {
            Self::Fresh(hash) => {
                let challenge = Challenge::of(hash, message, security, secret, chance)?;
                let said = challenge.1;
                *self = Self::Challenged(Box::new(challenge.0));
                Ok(Said::More(said.into()))
            }
            Self::Challenged(challenge) => challenge.check(message),
            Self::Over => Err(Denied::Unsaid("a message behind the end of the exchange")),
        }
    }
}

impl Challenge {
    fn of(
        hash: ScramHash,
        message: &[u8],
        security: &Security,
        secret: &[u8; 16],
        chance: &mut dyn FnMut() -> [u8; 16],
    ) -> Result<(Self, String), Denied> {
        let first = ClientFirst::parse(message).ok_or(Denied::Unsaid("the first message is not SCRAM's"))?;
        if first.authorization.is_some_and(|other| other != first.user) {
            return Err(Denied::Said(
                "Authentication failed: Client requested an authorization id that is different from username"
                    .to_owned(),
            ));
        }
        let stored = security.scram.get(&(first.user.clone(), hash.to_wire())).cloned();
        let stored = stored.filter(|stored| stored.iterations >= MIN_ITERATIONS);
        let (salt, iterations) = match &stored {
            Some(stored) => (stored.salt.clone(), stored.iterations),
            None => (salt_of_nobody(hash, &first.user, secret), MIN_ITERATIONS),
        };
        let nonce = format!("{}{}", first.nonce, STANDARD_NO_PAD.encode([chance(), chance()].concat()));
        let answer = server_first(&nonce, &salt, iterations);
        let said = format!("{},{answer}", first.bare);
        Ok((Self { hash, user: first.user, nonce, said, stored }, answer))
    }

    fn check(self, message: &[u8]) -> Result<Said, Denied> {
        let last = ClientFinal::parse(message).ok_or(Denied::Unsaid("the final message is not SCRAM's"))?;
        if last.nonce != self.nonce {
            return Err(Denied::Unsaid("the nonce is another"));
        }
        let said = format!("{},{}", self.said, last.without_proof);
        let Some(stored) = self.stored else { return Err(Denied::Unsaid("there is no such user")) };
        let signature = self.hash.hmac(&stored.stored_key, said.as_bytes());
        if signature.len() != last.proof.len() {
            return Err(Denied::Unsaid("the proof is too long or too short"));
        }
        let client_key: Vec<u8> =
            signature.iter().zip(&last.proof).map(|(left, right)| left ^ right).collect();
        let is_right: bool = self.hash.hash(&client_key).ct_eq(&stored.stored_key).into();
        if !is_right {
            return Err(Denied::Unsaid("the proof is wrong"));
        }
        let signature = self.hash.hmac(&stored.server_key, said.as_bytes());
        Ok(Said::Proved { user: self.user, answer: server_final(&signature).into(), until: None })
    }
}

/// The same for the same name, so that asking twice tells nothing.
fn salt_of_nobody(hash: ScramHash, user: &str, secret: &[u8; 16]) -> Bytes {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let drawn = hash.hmac(secret, format!("{}:{user}", hash.name()).as_bytes());
    drawn.iter().take(SALT).map(|byte| DIGITS[usize::from(*byte) % DIGITS.len()]).collect()
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use base64::engine::general_purpose::STANDARD;

    use super::*;

    const SECRET: [u8; 16] = [9; 16];

    fn security(hash: ScramHash, user: &str, password: &str, salt: &[u8]) -> Security {
        let iterations = NonZeroU32::new(4096).expect("not zero");
        let salted = hash.salt_password(password, salt, iterations);
        let record = hash.credential(user, Bytes::copy_from_slice(salt), &salted, 4096);
        Security { scram: [((user.to_owned(), hash.to_wire()), record)].into(), ..Security::default() }
    }

    fn challenge(server: &mut ScramServer, security: &Security, first: &str) -> Result<String, Denied> {
        let said = server.on_message(first.as_bytes(), security, &SECRET, &mut || [7; 16])?;
        let Said::More(bytes) = said else { panic!("a challenge comes first") };
        Ok(String::from_utf8(bytes.to_vec()).expect("text"))
    }

    /// The final message of a client that knows the password.
    fn answer(hash: ScramHash, password: &str, bare: &str, challenge: &str, nonce: Option<&str>) -> String {
        let part = |name: &str| challenge.split(',').find_map(|part| part.strip_prefix(name)).expect(name);
        let salt = STANDARD.decode(part("s=")).expect("base64");
        let iterations = part("i=").parse().expect("a number");
        let salted = hash.salt_password(password, &salt, iterations);
        let client_key = hash.hmac(&salted, b"Client Key");
        let without = format!("c=biws,r={}", nonce.unwrap_or(part("r=")));
        let said = format!("{bare},{challenge},{without}");
        let signature = hash.hmac(&hash.hash(&client_key), said.as_bytes());
        let proof: Vec<u8> = client_key.iter().zip(&signature).map(|(l, r)| l ^ r).collect();
        format!("{without},p={}", STANDARD.encode(proof))
    }

    #[test]
    fn the_example_of_rfc_7677_gives_its_signature() {
        let hash = ScramHash::Sha256;
        let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").expect("base64");
        let security = security(hash, "user", "pencil", &salt);
        let nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let bare = "n=user,r=rOprNGfwEbeRWgbNEkqO";
        let challenge = Challenge {
            hash,
            user: "user".to_owned(),
            nonce: nonce.to_owned(),
            said: format!("{bare},r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"),
            stored: security.scram.into_values().next(),
        };
        let last = format!("c=biws,r={nonce},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
        let proved = challenge.check(last.as_bytes()).expect("the example is right");
        let expected = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=";
        assert_eq!(
            proved,
            Said::Proved { user: "user".to_owned(), answer: expected[..].into(), until: None }
        );
    }

    #[test]
    fn who_knows_the_password_gets_in_and_nobody_else() {
        for hash in ScramHash::ALL {
            let security = security(hash, "alice", "wonder", b"salt");
            let bare = "n=alice,r=abc";
            let first = format!("n,,{bare}");
            for (password, nonce, gets_in) in [
                ("wonder", None, true),
                ("wander", None, false),
                ("wonder", Some("abc"), false),
                ("wonder", Some("abcx"), false),
            ] {
                let mut server = ScramServer::new(hash);
                let asked = challenge(&mut server, &security, &first).expect("a known user");
                assert!(asked.starts_with("r=abc") && asked.ends_with(",i=4096"), "{asked}");
                let last = answer(hash, password, bare, &asked, nonce);
                let outcome = server.on_message(last.as_bytes(), &security, &SECRET, &mut || [7; 16]);
                assert_eq!(outcome.is_ok(), gets_in, "{password} {nonce:?}");
                let again = server.on_message(last.as_bytes(), &security, &SECRET, &mut || [7; 16]);
                assert!(again.is_err(), "an exchange ends once");
            }
        }
    }

    #[test]
    fn a_user_that_there_is_not_is_challenged_alike_and_never_gets_in() {
        let hash = ScramHash::Sha512;
        let security = Security::default();
        let mut server = ScramServer::new(hash);
        let asked = challenge(&mut server, &security, "n,,n=eve,r=abc").expect("as for a known user");
        let again = challenge(&mut ScramServer::new(hash), &security, "n,,n=eve,r=abc").expect("the same");
        assert_eq!(asked, again);
        let last = answer(hash, "x", "n=eve,r=abc", &asked, None);
        assert!(server.on_message(last.as_bytes(), &security, &SECRET, &mut || [7; 16]).is_err());
    }

    #[test]
    fn who_wants_to_be_another_is_refused_at_once() {
        let security = security(ScramHash::Sha256, "alice", "wonder", b"salt");
        let mut server = ScramServer::new(ScramHash::Sha256);
        let denied = challenge(&mut server, &security, "n,a=bob,n=alice,r=abc").expect_err("refused");
        assert!(matches!(denied, Denied::Said(_)));
    }
}
