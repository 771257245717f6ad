//! What a client has to pass before it may ask, by listener; and how far one connection is.
//!
//! What always holds: what is done here takes hashes and a signature, and no more; a client that
//! has not passed has so much time, and then is closed.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use aplomb_broker::config::SecurityConfig;
use aplomb_broker::metadata::Security;
use aplomb_broker::ports::{ConnectionId, Session};
use aplomb_broker::sasl::gssapi::GssQueue;
use aplomb_broker::sasl::oauth::JwksCache;
use aplomb_broker::sasl::{Authenticator, TokenKeys, TurnedAway, World};
use aplomb_model::Instant;

use super::strangers::{Stay, Strangers};
use crate::clock;

/// The keys of those who sign tokens, by listener.
pub type JwksCaches = BTreeMap<Arc<str>, Arc<JwksCache>>;

/// Where tickets of Kerberos are looked at, by listener.
pub type GssQueues = BTreeMap<Arc<str>, Arc<GssQueue>>;

/// What stands before the listeners, the same for all shards.
#[derive(Clone)]
pub struct Entrance {
    security: Option<Arc<SecurityConfig>>,
    keys: Arc<JwksCaches>,
    gss: Arc<GssQueues>,
    tokens: Option<Arc<TokenKeys>>,
    secret: [u8; 16],
    chance: fn() -> [u8; 16],
}

impl Entrance {
    /// As the settings have it. `chance` draws nonces, and may not wait. `tokens`: if there are
    /// any.
    #[must_use]
    pub fn new(
        security: SecurityConfig,
        keys: JwksCaches,
        tokens: Option<Arc<TokenKeys>>,
        chance: fn() -> [u8; 16],
    ) -> Self {
        let (security, keys) = (Some(Arc::new(security)), Arc::new(keys));
        Self { security, keys, gss: Arc::default(), tokens, secret: chance(), chance }
    }

    /// Has tickets of Kerberos looked at there.
    #[must_use]
    pub fn with_gss(self, gss: GssQueues) -> Self {
        Self { gss: Arc::new(gss), ..self }
    }

    /// With PLAIN before one listener, and no user who could pass.
    #[cfg(test)]
    pub(crate) fn guarded(listener: &str) -> Self {
        use aplomb_broker::config::{ListenerSecurity, Mechanism, MechanismConfig, SaslConfig};
        let (mechanism, users) = (Mechanism::Plain, [].into());
        let plain = MechanismConfig { mechanism, max_age: None, users, tokens: None, kerberos: None };
        let (max_receive, failure_delay) = (1 << 19, Duration::ZERO);
        let sasl = Some(Arc::new(SaslConfig { mechanisms: vec![plain], max_receive, failure_delay }));
        let listeners = [(listener.into(), ListenerSecurity { sasl, tls: None })].into();
        let patience = Duration::from_secs(30);
        Self::new(SecurityConfig { listeners, patience }, JwksCaches::new(), None, || [7; 16])
    }

    /// `tell` has a connection look for what its ticket has come to.
    pub(crate) fn tell_of_tickets(&self, tell: &Arc<dyn Fn(ConnectionId) + Send + Sync>) {
        for queue in self.gss.values() {
            let tell = Arc::clone(tell);
            queue.tell_by(move |connection| tell(connection));
        }
    }

    /// All may ask.
    #[must_use]
    pub fn open() -> Self {
        let (keys, gss) = (Arc::default(), Arc::default());
        Self { security: None, keys, gss, tokens: None, secret: [0; 16], chance: || [0; 16] }
    }

    /// A connection that comes at `now`, a stranger unless all may ask.
    fn entry(
        &self,
        session: &Session,
        id: ConnectionId,
        now: Instant,
        strangers: &Arc<Strangers>,
    ) -> Admission {
        let Some(security) = &self.security else { return Admission::default() };
        let listener = security.listeners.get(&session.listener);
        let sasl = listener.and_then(|listener| listener.sasl.clone());
        let has_tls = listener.is_some_and(|listener| listener.tls.is_some());
        let is_guarded = has_tls || sasl.is_some();
        let deadline = is_guarded.then(|| now + security.patience);
        let stay = if is_guarded { strangers.stay(has_tls, now) } else { Stay::default() };
        let keys = || self.keys.get(&session.listener).cloned();
        let gss = || self.gss.get(&session.listener).map(|queue| (Arc::clone(queue), id));
        let authenticator = sasl.map(|sasl| Box::new(Authenticator::new(sasl, keys()).with_gss(gss())));
        Admission { authenticator, refused: None, deadline, stay }
    }

    /// How long a connection has until it has passed.
    pub(crate) fn patience(&self) -> Duration {
        self.security.as_ref().map_or(Duration::MAX, |security| security.patience)
    }
}

impl fmt::Debug for Entrance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entrance").field("security", &self.security).finish_non_exhaustive()
    }
}

/// A shard's own part of it: whom it knows.
#[derive(Debug)]
pub(crate) struct Doorkeeper {
    entrance: Entrance,
    users: Arc<Security>,
    strangers: Arc<Strangers>,
}

impl Doorkeeper {
    /// `frames`: the shard's memory for frames, in bytes.
    pub(crate) fn new(entrance: Entrance, frames: usize) -> Self {
        Self { entrance, users: Arc::default(), strangers: Strangers::new(frames) }
    }

    pub(crate) const fn entrance(&self) -> &Entrance {
        &self.entrance
    }

    /// Those that have not shown who they are.
    pub(crate) const fn strangers(&self) -> &Arc<Strangers> {
        &self.strangers
    }

    /// A connection that comes at `now`.
    pub(crate) fn entry(&self, session: &Session, id: ConnectionId, now: Instant) -> Admission {
        self.entrance.entry(session, id, now, &self.strangers)
    }

    /// The cluster's users are these from here on.
    pub(crate) fn set_users(&mut self, users: Arc<Security>) {
        self.users = users;
    }

    /// Lets `ask` look at the users.
    pub(crate) fn with_world<T>(&self, ask: impl FnOnce(&mut World<'_>) -> T) -> T {
        let Entrance { secret, tokens, chance, .. } = &self.entrance;
        let (security, tokens, mut chance) = (&self.users, tokens.as_deref(), *chance);
        ask(&mut World { security, secret, chance: &mut chance, tokens, wall: &clock::wall })
    }
}

/// One connection's way in.
#[derive(Debug, Default)]
pub(crate) struct Admission {
    /// Where there is SASL.
    pub(crate) authenticator: Option<Box<Authenticator>>,
    /// What it will be told and closed for.
    pub(crate) refused: Option<TurnedAway>,
    /// By when it has to have passed.
    pub(crate) deadline: Option<Instant>,
    /// What it takes until then.
    pub(crate) stay: Stay,
}

impl Admission {
    /// It is known from here on, or needs not be: no deadline, and no charge.
    pub(crate) fn pass(&mut self) {
        self.deadline = None;
        self.stay.end();
    }

    /// The largest frame that may come now.
    pub(crate) fn most(&self, max_frame: usize) -> usize {
        let before = self.authenticator.as_ref().and_then(|authenticator| authenticator.most());
        before.map_or(max_frame, |most| most.min(max_frame))
    }
}
