//! A SCRAM server's side of one exchange.

use std::sync::Arc;
use std::time::Duration;

use aplomb_model::Timestamp;
use aplomb_protocol::messages::UserScramCredentialRecord;
use aplomb_security::scram::{ClientFinal, ClientFirst, server_final, server_first};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use bytes::Bytes;
use subtle::ConstantTimeEq as _;

use super::super::said::{Denied, Said, World};
use crate::scram::{MIN_ITERATIONS, ScramHash};

/// How many characters the salt has of a token, or of a user whom there is not: as those have that
/// Apache Kafka draws.
const SALT: usize = 26;

/// When a client with a token is looked at again whose keys are not derived yet: later each time,
/// so that thousands who come at once do not keep their shard from others.
const SOON: Duration = Duration::from_millis(2);
const MOST_DOUBLINGS: u32 = 6;

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
    stored: Stored,
    /// A token's keys.
    derived: Option<Arc<UserScramCredentialRecord>>,
    /// How often it was too soon to decide.
    looks: u32,
}

/// What a client's proof is compared with.
enum Stored {
    /// There is no such user, or no such token.
    Nothing,
    Password(UserScramCredentialRecord),
    /// Its keys are derived when they are needed.
    Token {
        owner: String,
        ends: Timestamp,
        salt: Bytes,
    },
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

    /// Takes what the client says next, or said when it was to be taken later.
    pub(crate) fn on_message(&mut self, message: &[u8], world: &mut World<'_>) -> Result<Said, Denied> {
        match std::mem::replace(self, Self::Over) {
            Self::Fresh(hash) => {
                let (challenge, said) = Challenge::of(hash, message, world)?;
                *self = Self::Challenged(Box::new(challenge));
                Ok(Said::More(said.into()))
            }
            Self::Challenged(mut challenge) => {
                if challenge.is_too_soon(world) {
                    let after = challenge.later();
                    *self = Self::Challenged(challenge);
                    return Ok(Said::Later(after));
                }
                challenge.check(message)
            }
            Self::Over => Err(Denied::Unsaid("a message behind the end of the exchange")),
        }
    }
}

impl Challenge {
    fn of(hash: ScramHash, message: &[u8], world: &mut World<'_>) -> Result<(Self, String), Denied> {
        let first = ClientFirst::parse(message).ok_or(Denied::Unsaid("the first message is not SCRAM's"))?;
        if first.authorization.is_some_and(|other| other != first.user) {
            return Err(Denied::Said(
                "Authentication failed: Client requested an authorization id that is different from username"
                    .to_owned(),
            ));
        }
        let drawn = salt_of(hash, &first.user, world.secret);
        let stored = if first.by_token {
            Stored::of_token(hash, &first.user, &drawn, world)
        } else {
            let stored = world.security.scram.get(&(first.user.clone(), hash.to_wire())).cloned();
            let stored = stored.filter(|stored| stored.iterations >= MIN_ITERATIONS);
            stored.map_or(Stored::Nothing, Stored::Password)
        };
        let (salt, iterations) = match &stored {
            Stored::Password(stored) => (&stored.salt, stored.iterations),
            Stored::Token { .. } | Stored::Nothing => (&drawn, MIN_ITERATIONS),
        };
        let chance = &mut *world.chance;
        let nonce = format!("{}{}", first.nonce, STANDARD_NO_PAD.encode([chance(), chance()].concat()));
        let answer = server_first(&nonce, salt, iterations);
        let said = format!("{},{answer}", first.bare);
        Ok((Self { hash, user: first.user, nonce, said, stored, derived: None, looks: 0 }, answer))
    }

    /// Whether its keys are to be waited for. If not they are here.
    fn is_too_soon(&mut self, world: &World<'_>) -> bool {
        let (Stored::Token { salt, .. }, Some(tokens)) = (&self.stored, world.tokens) else { return false };
        self.derived = tokens.find(self.hash, &self.user, salt);
        self.derived.is_none()
    }

    fn later(&mut self) -> Duration {
        let after = SOON * (1 << self.looks);
        self.looks = (self.looks + 1).min(MOST_DOUBLINGS);
        after
    }

    fn check(self, message: &[u8]) -> Result<Said, Denied> {
        let last = ClientFinal::parse(message).ok_or(Denied::Unsaid("the final message is not SCRAM's"))?;
        if last.nonce != self.nonce {
            return Err(Denied::Unsaid("the nonce is another"));
        }
        let said = format!("{},{}", self.said, last.without_proof);
        let (keys, user, ends) = match (&self.stored, &self.derived) {
            (Stored::Password(stored), _) => (stored, self.user, None),
            (Stored::Token { owner, ends, .. }, Some(derived)) => (&**derived, owner.clone(), Some(*ends)),
            (Stored::Nothing, _) => return Err(Denied::Unsaid("there is no such user")),
            (Stored::Token { .. }, None) => return Err(Denied::Unsaid("there are no tokens")),
        };
        let signature = self.hash.hmac(&keys.stored_key, said.as_bytes());
        if signature.len() != last.proof.len() {
            return Err(Denied::Unsaid("the proof is too long or too short"));
        }
        let client_key: Vec<u8> =
            signature.iter().zip(&last.proof).map(|(left, right)| left ^ right).collect();
        let is_right: bool = self.hash.hash(&client_key).ct_eq(&keys.stored_key).into();
        if !is_right {
            return Err(Denied::Unsaid("the proof is wrong"));
        }
        let signature = self.hash.hmac(&keys.server_key, said.as_bytes());
        let (answer, by_token) = (server_final(&signature).into(), ends.is_some());
        Ok(Said::Proved { user, answer, ends, by_token })
    }
}

impl Stored {
    /// Its keys are asked for at once: they may be there when the client has made its proof.
    fn of_token(hash: ScramHash, id: &str, salt: &Bytes, world: &World<'_>) -> Self {
        let (Some(tokens), Some(token)) = (world.tokens, world.security.tokens.get(id)) else {
            return Self::Nothing;
        };
        tokens.find(hash, id, salt);
        let owner = token.owner.split_once(':').map_or(token.owner.as_str(), |(_, name)| name).to_owned();
        Self::Token { owner, ends: Timestamp(token.expiration_timestamp), salt: salt.clone() }
    }
}

/// The same for the same name, so that asking twice tells nothing.
fn salt_of(hash: ScramHash, user: &str, secret: &[u8; 16]) -> Bytes {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let drawn = hash.hmac(secret, format!("{}:{user}", hash.name()).as_bytes());
    drawn.iter().take(SALT).map(|byte| DIGITS[usize::from(*byte) % DIGITS.len()]).collect()
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use aplomb_protocol::messages::DelegationTokenRecord;
    use base64::engine::general_purpose::STANDARD;

    use super::*;
    use crate::metadata::Security;
    use crate::sasl::TokenKeys;
    use crate::security::TokenKey;

    const SECRET: [u8; 16] = [9; 16];

    fn security(hash: ScramHash, user: &str, password: &str, salt: &[u8]) -> Security {
        let iterations = NonZeroU32::new(4096).expect("not zero");
        let salted = hash.salt_password(password, salt, iterations);
        let record = hash.credential(user, Bytes::copy_from_slice(salt), &salted, 4096);
        Security { scram: [((user.to_owned(), hash.to_wire()), record)].into(), ..Security::default() }
    }

    fn say(server: &mut ScramServer, security: &Security, message: &str) -> Result<Said, Denied> {
        say_with(server, security, None, message)
    }

    fn say_with(
        server: &mut ScramServer,
        security: &Security,
        tokens: Option<&TokenKeys>,
        message: &str,
    ) -> Result<Said, Denied> {
        let mut chance = || [7; 16];
        let wall = &|| Timestamp(0);
        let mut world = World { security, secret: &SECRET, chance: &mut chance, tokens, wall };
        server.on_message(message.as_bytes(), &mut world)
    }

    fn challenge(server: &mut ScramServer, security: &Security, first: &str) -> Result<String, Denied> {
        let said = say(server, security, first)?;
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
            stored: security.scram.into_values().next().map_or(Stored::Nothing, Stored::Password),
            derived: None,
            looks: 0,
        };
        let last = format!("c=biws,r={nonce},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
        let proved = challenge.check(last.as_bytes()).expect("the example is right");
        let expected = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=";
        let (user, answer) = ("user".to_owned(), expected[..].into());
        assert_eq!(proved, Said::Proved { user, answer, ends: None, by_token: false });
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
                let outcome = say(&mut server, &security, &last);
                assert_eq!(outcome.is_ok(), gets_in, "{password} {nonce:?}");
                let again = say(&mut server, &security, &last);
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
        assert!(say(&mut server, &security, &last).is_err());
    }

    #[test]
    fn who_wants_to_be_another_is_refused_at_once() {
        let security = security(ScramHash::Sha256, "alice", "wonder", b"salt");
        let mut server = ScramServer::new(ScramHash::Sha256);
        let denied = challenge(&mut server, &security, "n,a=bob,n=alice,r=abc").expect_err("refused");
        assert!(matches!(denied, Denied::Said(_)));
    }

    fn with_token(owner: &str) -> Security {
        let mut security = Security::default();
        security.tokens.insert(&DelegationTokenRecord {
            token_id: "the-id".to_owned(),
            owner: owner.to_owned(),
            expiration_timestamp: 77,
            ..Default::default()
        });
        security
    }

    #[test]
    fn who_knows_a_token_is_its_owner_until_its_end_and_is_waited_for_while_keys_are_derived() {
        let security = with_token("User:al:ice");
        let tokens = TokenKeys::new(TokenKey::new("secret"), || {});
        let password = STANDARD.encode(TokenKey::new("secret").sign("the-id"));
        let bare = "n=the-id,r=abc,tokenauth=true";
        for hash in ScramHash::ALL {
            for (word, gets_in) in [(password.as_str(), true), ("another", false)] {
                let mut server = ScramServer::new(hash);
                let said = say_with(&mut server, &security, Some(&tokens), &format!("n,,{bare}"));
                let Ok(Said::More(asked)) = said else { panic!("a challenge comes first") };
                let asked = String::from_utf8(asked.to_vec()).expect("text");
                let last = answer(hash, word, bare, &asked, None);
                let mut waits = Vec::new();
                let said = loop {
                    match say_with(&mut server, &security, Some(&tokens), &last) {
                        Ok(Said::Later(after)) => waits.push(after),
                        said => break said,
                    }
                    if waits.len() == 9 {
                        assert!(tokens.derive_next());
                    }
                };
                if gets_in {
                    assert_eq!((waits[0], waits[8]), (SOON, SOON * 64), "later and later");
                    let Ok(Said::Proved { user, ends, by_token: true, .. }) = said else {
                        panic!("{said:?}")
                    };
                    assert_eq!((user.as_str(), ends), ("al:ice", Some(Timestamp(77))));
                } else {
                    assert_eq!(waits, [], "the keys are there");
                    assert_eq!(said, Err(Denied::Unsaid("the proof is wrong")));
                }
            }
        }
    }

    #[test]
    fn a_token_that_there_is_not_is_challenged_alike_and_asks_for_no_keys() {
        let tokens = TokenKeys::new(TokenKey::new("secret"), || {});
        let first = "n,,n=the-id,r=abc,tokenauth=true";
        let mut told = Vec::new();
        for (security, tokens) in [
            (Security::default(), Some(&tokens)),
            (with_token("User:alice"), None),
            (with_token("User:alice"), Some(&tokens)),
        ] {
            assert!(!tokens.is_some_and(TokenKeys::derive_next));
            told.push(say_with(&mut ScramServer::new(ScramHash::Sha256), &security, tokens, first));
        }
        assert!(tokens.derive_next());
        assert!(told[0].is_ok() && told[0] == told[1] && told[1] == told[2]);
        let mut server = ScramServer::new(ScramHash::Sha256);
        let asked = challenge(&mut server, &Security::default(), first).expect("as for a known token");
        let last = answer(ScramHash::Sha256, "x", &first[3..], &asked, None);
        assert!(say(&mut server, &Security::default(), &last).is_err());
    }

    #[test]
    fn a_token_is_no_password_and_a_password_no_token() {
        let mut security = security(ScramHash::Sha256, "the-id", "word", b"salt");
        security.tokens = with_token("User:alice").tokens;
        let password = STANDARD.encode(TokenKey::new("secret").sign("the-id"));
        let mut server = ScramServer::new(ScramHash::Sha256);
        let asked = challenge(&mut server, &security, "n,,n=the-id,r=abc").expect("a known user");
        let last = answer(ScramHash::Sha256, &password, "n=the-id,r=abc", &asked, None);
        assert!(say(&mut server, &security, &last).is_err());
    }
}
