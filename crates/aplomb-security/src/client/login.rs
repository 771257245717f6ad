//! A login on a connection, as Kafka's clients do it: SaslHandshake names the mechanism, and each
//! message of it is in a SaslAuthenticate. The same again renews it.
//!
//! What always holds: the mechanism is the one that the client was told to use, whatever a server
//! offers; a login is over at its first fault; what a server says in its errors is shown without
//! our secret, and not at any length.

use std::time::Duration;

use aplomb_model::ErrorCode;
use aplomb_protocol::frame::encode_request;
use aplomb_protocol::messages::{
    SaslAuthenticateRequest, SaslAuthenticateResponse, SaslHandshakeRequest, SaslHandshakeResponse,
};
use aplomb_protocol::{Message, Request};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use bytes::Bytes;

use super::credentials::Credentials;
use super::error::LoginError;
use super::scram::{Expected, ScramClient};
use super::tickets::TicketClient;

/// The largest answer that is taken in a login, in bytes.
pub const LARGEST_ANSWER: usize = 64 * 1024;

/// How many random bytes a login needs.
pub const NONCE: usize = 24;

/// The versions that are spoken: brokers since 2.2 know them (KIP-368). They are not asked for
/// theirs first.
const HANDSHAKE: i16 = 1;
const AUTHENTICATE: i16 = 1;

/// Requests of a login are counted from here, as Kafka's clients do (`SaslClientAuthenticator`):
/// others on the connection never come so far.
const FIRST_CORRELATION: i32 = i32::MAX - 7;

/// As much as is shown of what a server says, in characters.
const SHOWN: usize = 300;

/// A login under way.
#[derive(Debug)]
pub struct Login {
    credentials: Credentials,
    client_id: String,
    correlation: i32,
    stage: LoginStage,
}

#[derive(Debug)]
enum LoginStage {
    /// The mechanism was named.
    Named {
        nonce: String,
        /// What GSSAPI says first: to have it may take asking a KDC.
        ticket: Option<(TicketClient, Bytes)>,
    },
    /// Everything was said, and an answer is wanted that says nothing more.
    Said,
    Challenged(ScramClient),
    Proved(Expected),
    Shown(TicketClient),
    /// The token was refused for this reason, which is to be followed by an error.
    TokenRefused(String),
    Over,
}

/// What comes of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// This frame is to be sent, and its answer handed in.
    Say(Bytes),
    /// The client is in.
    Done {
        /// Until it has to log in again.
        lifetime: Option<Duration>,
    },
}

impl Login {
    /// Begins one at a host: the login, and the first frame to send. `chance` is drawn anew for
    /// each. With tickets this may wait for a KDC; nothing else of a login waits.
    ///
    /// # Errors
    /// When the client's name cannot be written, or there is no ticket.
    pub fn begin(
        credentials: &Credentials,
        client_id: &str,
        host: &str,
        chance: [u8; NONCE],
    ) -> Result<(Self, Bytes), LoginError> {
        let ticket = match credentials {
            Credentials::Tickets(holder) => Some(TicketClient::begin(&**holder, host)?),
            Credentials::Plain { .. } | Credentials::Scram(_) | Credentials::Token(_) => None,
        };
        let mut login = Self {
            credentials: credentials.clone(),
            client_id: client_id.to_owned(),
            correlation: FIRST_CORRELATION,
            stage: LoginStage::Named { nonce: STANDARD_NO_PAD.encode(chance), ticket },
        };
        let request = SaslHandshakeRequest { mechanism: credentials.mechanism().to_owned() };
        let frame = login.request(&request, HANDSHAKE)?;
        Ok((login, frame))
    }

    /// Takes an answer, without its length.
    ///
    /// # Errors
    /// When the client is not let in. The connection is of no use then.
    pub fn on_frame(&mut self, frame: &Bytes) -> Result<Progress, LoginError> {
        let stage = std::mem::replace(&mut self.stage, LoginStage::Over);
        let number = frame.first_chunk().map(|raw| i32::from_be_bytes(*raw));
        if number != Some(self.correlation - 1) {
            return Err(LoginError::Form("what it says in the login is the answer to another request"));
        }
        let body = frame.slice(4..);
        match stage {
            LoginStage::Named { nonce, ticket } => {
                self.on_mechanism(&SaslHandshakeResponse::from_bytes(body, HANDSHAKE)?, nonce, ticket)
            }
            LoginStage::Over => Err(LoginError::Form("it answers behind the end of the login")),
            stage => self.on_message(SaslAuthenticateResponse::from_bytes(body, AUTHENTICATE)?, stage),
        }
    }

    fn on_mechanism(
        &mut self,
        answer: &SaslHandshakeResponse,
        nonce: String,
        ticket: Option<(TicketClient, Bytes)>,
    ) -> Result<Progress, LoginError> {
        if answer.error_code == ErrorCode::UnsupportedSaslMechanism.to_wire() {
            let offered = self.shown(&answer.mechanisms.join(", "));
            return Err(LoginError::Mechanism { wanted: self.credentials.mechanism(), offered });
        }
        if answer.error_code != 0 {
            return Err(self.refused(answer.error_code, None));
        }
        let (stage, message) = match &self.credentials {
            Credentials::Plain { user, password } => {
                (LoginStage::Said, format!("\0{user}\0{}", password.reveal()).into())
            }
            Credentials::Scram(password) => {
                let (client, message) = ScramClient::begin(password, nonce);
                (LoginStage::Challenged(client), message)
            }
            Credentials::Token(token) => (LoginStage::Said, token.message()),
            Credentials::Tickets(_) => {
                let (client, message) = ticket.expect("a login with tickets begins with one");
                (LoginStage::Shown(client), message)
            }
        };
        self.say(message, stage)
    }

    fn on_message(
        &mut self,
        answer: SaslAuthenticateResponse,
        stage: LoginStage,
    ) -> Result<Progress, LoginError> {
        if let LoginStage::TokenRefused(why) = stage {
            return Err(LoginError::Refused(why));
        }
        if answer.error_code != 0 {
            return Err(self.refused(answer.error_code, answer.error_message.as_deref()));
        }
        let message = &answer.auth_bytes;
        match (stage, &self.credentials) {
            (LoginStage::Said, _) if message.is_empty() => {}
            // Why a token is not taken is an answer that wants an empty one in turn (RFC 7628).
            (LoginStage::Said, Credentials::Token(_)) => {
                let why = self.shown(&format!("the token was refused: {}", String::from_utf8_lossy(message)));
                return self.say(Bytes::from_static(b"\x01"), LoginStage::TokenRefused(why));
            }
            (LoginStage::Challenged(client), _) => {
                let (expected, proof) = client.prove(message)?;
                return self.say(proof, LoginStage::Proved(expected));
            }
            (LoginStage::Shown(client), _) => {
                let (word, more) = client.answer(message)?;
                return self.say(word, more.map_or(LoginStage::Said, LoginStage::Shown));
            }
            (LoginStage::Proved(expected), _) => expected.check(message).map_err(|error| match error {
                LoginError::Refused(why) => LoginError::Refused(self.shown(&why)),
                other => other,
            })?,
            _ => return Err(LoginError::Form("it goes on where the login is over")),
        }
        let lifetime = u64::try_from(answer.session_lifetime_ms).ok().filter(|millis| *millis > 0);
        Ok(Progress::Done { lifetime: lifetime.map(Duration::from_millis) })
    }

    fn say(&mut self, auth_bytes: Bytes, stage: LoginStage) -> Result<Progress, LoginError> {
        let frame = self.request(&SaslAuthenticateRequest { auth_bytes }, AUTHENTICATE)?;
        self.stage = stage;
        Ok(Progress::Say(frame))
    }

    fn request<T: Request>(&mut self, request: &T, version: i16) -> Result<Bytes, LoginError> {
        let frame = encode_request(request, version, self.correlation, &self.client_id)?;
        self.correlation += 1;
        Ok(frame)
    }

    fn refused(&self, code: i16, message: Option<&str>) -> LoginError {
        let name = || {
            ErrorCode::from_wire(code).map_or_else(|| format!("error {code}"), |code| code.name().to_owned())
        };
        LoginError::Refused(message.map_or_else(name, |message| self.shown(message)))
    }

    /// A server's words: one that is not what it seems has our password, and may say it.
    fn shown(&self, words: &str) -> String {
        let secret = self.credentials.secret();
        let words = if secret.reveal().is_empty() {
            words.to_owned()
        } else {
            words.replace(secret.reveal(), "[hidden]")
        };
        words.chars().take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect()
    }
}
