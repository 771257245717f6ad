//! One connection's way in: which frames it may send, and what becomes of each
//! (`SaslServerAuthenticator`).
//!
//! What always holds: before the end of the first authentication nothing passes but one look at
//! the versions; a refusal is the last that a connection gets; who authenticates anew stays who it
//! was.

use std::sync::Arc;
use std::time::Duration;

use aplomb_model::{ErrorCode, Instant};
use aplomb_protocol::frame::RequestHead;
use aplomb_protocol::messages::api_versions_request::ApiVersionsRequest;
use aplomb_protocol::messages::sasl_authenticate_request::SaslAuthenticateRequest;
use aplomb_protocol::messages::sasl_authenticate_response::SaslAuthenticateResponse;
use aplomb_protocol::messages::sasl_handshake_request::SaslHandshakeRequest;
use aplomb_protocol::messages::sasl_handshake_response::SaslHandshakeResponse;
use aplomb_protocol::request::decode_request;
use aplomb_protocol::{ApiKey, DecodeError, ErrorTally, Message, Reader};
use bytes::Bytes;

use super::exchange::{Exchange, Means};
use super::gssapi::GssQueue;
use super::oauth::JwksCache;
use super::said::{Denied, Said, World};
use crate::api::api_versions;
use crate::config::{Mechanism, MechanismConfig, SaslConfig};
use crate::ports::{ConnectionId, Principal, Reply, Waited, peek};
use crate::reply::ReplyTo;

/// Sooner after it began to authenticate anew a connection does not do so again.
const PAUSE: Duration = Duration::from_secs(1);

/// Longer than this no authentication is good for, whatever a token says: a hundred years.
const LONGEST: Duration = Duration::from_secs(36_525 * 86_400);

/// Who a connection is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Whose rights count.
    pub principal: Principal,
    /// How that was shown.
    pub mechanism: Mechanism,
    /// Until when it counts.
    pub expires: Option<Instant>,
    /// When it began to authenticate anew last.
    again: Option<Instant>,
}

/// What becomes of a frame.
#[derive(Debug)]
pub enum Passage {
    /// It is the broker's to answer.
    Pass,
    /// This is the answer.
    Answer(Reply),
    /// This is the answer; the connection is this principal's from here on.
    Authenticated {
        /// What the client is told.
        reply: Reply,
        /// Whose rights and quotas count from here on.
        principal: Principal,
        /// Whether it has shown a delegation token.
        by_token: bool,
        /// Whether it had authenticated before.
        again: bool,
    },
    /// The same frame is to be handed in again after so long, and none before it.
    Later(Duration),
    /// The connection is closed.
    Refused(TurnedAway),
}

/// How a connection is closed.
#[derive(Debug)]
pub struct TurnedAway {
    /// What it is told before.
    pub reply: Option<Reply>,
    /// How long both wait.
    pub delay: Duration,
    /// Why, for the log.
    pub why: String,
    /// Which kind it is.
    pub kind: RefusalKind,
}

/// What a refusal is counted as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// An authentication failed.
    Failed,
    /// One failed that was to follow another.
    FailedAgain,
    /// A connection went on after its time was up.
    Expired,
}

/// One connection's state.
#[derive(Debug)]
pub struct Authenticator {
    config: Arc<SaslConfig>,
    /// The keys of those who sign tokens.
    keys: Option<Arc<JwksCache>>,
    /// Where tickets of Kerberos are looked at, and for which connection.
    gss: Option<(Arc<GssQueue>, ConnectionId)>,
    stage: WayIn,
    identity: Option<Identity>,
}

#[derive(Debug)]
enum WayIn {
    /// No mechanism is chosen.
    Fresh {
        /// It knows our versions.
        versions: bool,
    },
    /// A mechanism is at work.
    Chosen {
        exchange: Exchange,
        mechanism: Mechanism,
        /// Tokens come in requests, and not as they are.
        wrapped: bool,
    },
    Complete,
    Over,
}

/// Who a client has shown that it is, and how.
struct Proved {
    principal: Principal,
    by_token: bool,
    mechanism: Mechanism,
    /// For how long it counts.
    lifetime: Option<Duration>,
}

/// Why nothing is answered.
type Silent = (Duration, String);

impl Authenticator {
    /// A connection that has said nothing yet. `keys` are those that its tokens are signed with.
    #[must_use]
    pub const fn new(config: Arc<SaslConfig>, keys: Option<Arc<JwksCache>>) -> Self {
        Self { config, keys, gss: None, stage: WayIn::Fresh { versions: false }, identity: None }
    }

    /// Has tickets of Kerberos looked at there, for this connection.
    #[must_use]
    pub fn with_gss(self, gss: Option<(Arc<GssQueue>, ConnectionId)>) -> Self {
        Self { gss, ..self }
    }

    /// The largest frame that may come now, if it is not what all may send.
    #[must_use]
    pub fn most(&self) -> Option<usize> {
        self.identity.is_none().then_some(self.config.max_receive)
    }

    /// Whether it has authenticated, whatever it is about now.
    #[must_use]
    pub const fn is_somebody(&self) -> bool {
        self.identity.is_some()
    }

    /// What becomes of a frame that arrived at `now`.
    pub fn on_frame(&mut self, frame: &Bytes, now: Instant, world: &mut World<'_>) -> Passage {
        let step = match &mut self.stage {
            WayIn::Over => Err((Duration::ZERO, "a frame behind the last".to_owned())),
            WayIn::Complete => return self.on_complete(frame, now, world),
            WayIn::Chosen { wrapped: false, .. } => Ok(self.on_token(frame, None, now, world)),
            WayIn::Fresh { .. } | WayIn::Chosen { .. } => self.on_request(frame, now, world),
        };
        let step = step.unwrap_or_else(|(delay, why)| self.refuse(None, delay, why));
        if matches!(step, Passage::Refused(_)) {
            self.stage = WayIn::Over;
        }
        step
    }

    fn on_complete(&mut self, frame: &Bytes, now: Instant, world: &mut World<'_>) -> Passage {
        let Some(identity) = &mut self.identity else { return Passage::Pass };
        let Some(expires) = identity.expires else { return Passage::Pass };
        let (key, _) = peek(frame);
        let may_begin = identity.again.is_none_or(|before| now.since(before) >= PAUSE);
        if key == ApiKey::SaslHandshake.key() && may_begin {
            identity.again = Some(now);
            self.stage = WayIn::Fresh { versions: true };
            return self.on_frame(frame, now, world);
        }
        if expires <= now {
            self.stage = WayIn::Over;
            return Passage::Refused(TurnedAway {
                reply: None,
                delay: Duration::ZERO,
                why: "its authentication has expired (connections.max.reauth.ms, or the end of its token)"
                    .to_owned(),
                kind: RefusalKind::Expired,
            });
        }
        Passage::Pass
    }

    fn on_request(&mut self, frame: &Bytes, now: Instant, world: &mut World<'_>) -> Result<Passage, Silent> {
        let unread = |error: DecodeError| (Duration::ZERO, format!("authentication failed: {error}"));
        let mut body = Reader::new(frame.clone());
        let head = RequestHead::decode(&mut body).map_err(unread)?;
        let to = ReplyTo { api: head.api, version: head.version, correlation_id: head.correlation_id };
        let is_known = head.api.stable_versions().contains(head.version);
        let unexpected = || {
            (Duration::ZERO, format!("authentication failed: {} comes at the wrong time", head.api.name()))
        };
        match (&mut self.stage, head.api) {
            (WayIn::Fresh { versions }, ApiKey::ApiVersions) if !*versions => {
                if is_known {
                    let request: ApiVersionsRequest =
                        decode_request(&mut body, head.version).map_err(unread)?;
                    *versions = api_versions::is_valid(&request, head.version);
                }
                Ok(Passage::Pass)
            }
            (WayIn::Fresh { .. }, ApiKey::SaslHandshake) if is_known => {
                let request: SaslHandshakeRequest =
                    decode_request(&mut body, head.version).map_err(unread)?;
                Ok(self.on_handshake(&request.mechanism, to))
            }
            (WayIn::Chosen { .. }, ApiKey::SaslAuthenticate) if is_known => {
                let request: SaslAuthenticateRequest =
                    decode_request(&mut body, head.version).map_err(unread)?;
                Ok(self.on_token(&request.auth_bytes, Some(to), now, world))
            }
            (WayIn::Chosen { .. }, _) if is_known => {
                let (delay, why) = (self.config.failure_delay, unexpected().1);
                Ok(self.refuse(out_of_place(to), delay, why))
            }
            _ => Err(unexpected()),
        }
    }

    fn on_handshake(&mut self, name: &str, to: ReplyTo) -> Passage {
        let mechanisms =
            || self.config.mechanisms.iter().map(|enabled| enabled.mechanism.name().to_owned()).collect();
        let chosen = Mechanism::from_name(name).filter(|wanted| self.settings(*wanted).is_some());
        let Some(mechanism) = chosen else {
            let error_code = ErrorCode::UnsupportedSaslMechanism.to_wire();
            let response = SaslHandshakeResponse { error_code, mechanisms: mechanisms() };
            let name: String = name.chars().take(64).collect();
            let why = format!("authentication failed: the mechanism {name:?} is not enabled");
            return self.refuse(written(to, &response), self.config.failure_delay, why);
        };
        let response = SaslHandshakeResponse { mechanisms: mechanisms(), ..Default::default() };
        self.stage = WayIn::Chosen { exchange: Exchange::new(mechanism), mechanism, wrapped: to.version > 0 };
        self.answer(written(to, &response))
    }

    /// Takes what a mechanism's client says. `to`: in a request.
    fn on_token(
        &mut self,
        token: &[u8],
        to: Option<ReplyTo>,
        now: Instant,
        world: &mut World<'_>,
    ) -> Passage {
        let WayIn::Chosen { exchange, mechanism, .. } = &mut self.stage else {
            return self.refuse(None, Duration::ZERO, "a token before the handshake".to_owned());
        };
        let (mechanism, delay) = (*mechanism, self.config.failure_delay);
        if self.identity.as_ref().is_some_and(|before| before.mechanism != mechanism) {
            let why = "authentication failed: another mechanism than before".to_owned();
            return self.refuse(None, delay, why);
        }
        let settings = self.config.mechanisms.iter().find(|enabled| enabled.mechanism == mechanism);
        let Some(settings) = settings else {
            return self.refuse(None, delay, "the mechanism is not enabled".to_owned());
        };
        let gss = self.gss.as_ref().map(|(queue, connection)| (&**queue, *connection));
        let means = Means { settings, keys: self.keys.as_deref(), gss };
        match exchange.on_message(token, &means, now, world) {
            Ok(Said::More(auth_bytes)) => self.answer(token_reply(auth_bytes, None, to)),
            Ok(Said::Later(after)) => Passage::Later(after),
            Ok(Said::Proved { user, answer, ends, by_token }) => {
                let left = ends.map(|ends| Duration::from_millis(ends.millis_since((world.wall)())));
                let lifetime = left.map(|left| left.min(LONGEST)).into_iter().chain(settings.max_age).min();
                let proved = Proved { principal: Principal::user(user), by_token, mechanism, lifetime };
                self.on_proved(proved, answer, to, now)
            }
            Err(Denied::Silent(why)) => {
                self.refuse(None, Duration::ZERO, format!("authentication failed: {why}"))
            }
            Err(Denied::Kerberos { why, is_passing: true }) => {
                self.refuse(None, Duration::ZERO, format!("authentication failed: {why}"))
            }
            Err(denied) => {
                let during = if self.identity.is_some() { "re-authentication" } else { "authentication" };
                let unsaid = |why: &str| {
                    let name = mechanism.name();
                    let told = format!(
                        "Authentication failed during {during} due to invalid credentials with SASL mechanism {name}"
                    );
                    (told.clone(), format!("{told} ({why})"))
                };
                let (told, why) = match denied {
                    Denied::Said(text) => (text.clone(), text),
                    Denied::Told { told, why } => (told, format!("authentication failed: its token: {why}")),
                    Denied::Unsaid(why) | Denied::Silent(why) => unsaid(why),
                    Denied::Kerberos { why, .. } => unsaid(&why),
                };
                let reply = to.and_then(|to| failure(to, told));
                self.refuse(reply, delay, why)
            }
        }
    }

    fn on_proved(&mut self, proved: Proved, answer: Bytes, to: Option<ReplyTo>, now: Instant) -> Passage {
        let Proved { principal, by_token, mechanism, lifetime } = proved;
        let before = self.identity.as_ref();
        if let Some(other) = before.map(|before| &before.principal).filter(|before| **before != principal) {
            let told = format!(
                "Cannot change principals during re-authentication from User.{}: User.{}",
                other.name(),
                principal.name()
            );
            let reply = to.and_then(|to| failure(to, told.clone()));
            return self.refuse(reply, self.config.failure_delay, told);
        }
        let (again, is_again) = (before.and_then(|before| before.again), before.is_some());
        let Some(reply) = token_reply(answer, lifetime, to) else {
            return self.refuse(None, Duration::ZERO, "the answer cannot be written".to_owned());
        };
        let expires = lifetime.map(|lifetime| now + lifetime);
        self.identity = Some(Identity { principal: principal.clone(), mechanism, expires, again });
        self.stage = WayIn::Complete;
        Passage::Authenticated { reply, principal, by_token, again: is_again }
    }

    fn settings(&self, mechanism: Mechanism) -> Option<&MechanismConfig> {
        self.config.mechanisms.iter().find(|enabled| enabled.mechanism == mechanism)
    }

    fn answer(&mut self, reply: Option<Reply>) -> Passage {
        match reply {
            Some(reply) => Passage::Answer(reply),
            None => self.refuse(None, Duration::ZERO, "the answer cannot be written".to_owned()),
        }
    }

    fn refuse(&self, reply: Option<Reply>, delay: Duration, why: String) -> Passage {
        let kind = if self.identity.is_some() { RefusalKind::FailedAgain } else { RefusalKind::Failed };
        Passage::Refused(TurnedAway { reply, delay, why, kind })
    }
}

fn written(to: ReplyTo, response: &impl Message) -> Option<Reply> {
    to.with(response).ok()
}

fn failure(to: ReplyTo, text: String) -> Option<Reply> {
    let error_code = ErrorCode::SaslAuthenticationFailed.to_wire();
    written(to, &SaslAuthenticateResponse { error_code, error_message: Some(text), ..Default::default() })
}

/// A mechanism's message to its client: in a response, or as it is.
fn token_reply(auth_bytes: Bytes, lifetime: Option<Duration>, to: Option<ReplyTo>) -> Option<Reply> {
    let Some(to) = to else {
        let length = i32::try_from(auth_bytes.len()).ok()?;
        let parts = vec![Bytes::copy_from_slice(&length.to_be_bytes()), auth_bytes];
        let errors = ErrorTally::default();
        return Some(Reply::Frame {
            parts,
            lent: 0,
            errors,
            throttle: Duration::ZERO,
            throttle_at: None,
            waited: Waited::default(),
        });
    };
    let lifetime = lifetime.map_or(0, |lifetime| lifetime.as_millis());
    let session_lifetime_ms = i64::try_from(lifetime).unwrap_or(i64::MAX);
    written(to, &SaslAuthenticateResponse { auth_bytes, session_lifetime_ms, ..Default::default() })
}

/// What a request is told that comes while a mechanism is at work. Only those that clients
/// begin with are told anything.
fn out_of_place(to: ReplyTo) -> Option<Reply> {
    let error_code = ErrorCode::IllegalSaslState.to_wire();
    match to.api {
        ApiKey::SaslHandshake => written(to, &SaslHandshakeResponse { error_code, ..Default::default() }),
        ApiKey::ApiVersions => written(to, &api_versions::failure(ErrorCode::IllegalSaslState)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
