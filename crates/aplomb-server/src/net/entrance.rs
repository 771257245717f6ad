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
use aplomb_broker::ports::Session;
use aplomb_broker::sasl::oauth::KeyCabinet;
use aplomb_broker::sasl::{Authenticator, TurnedAway, World};
use aplomb_model::Instant;

use crate::clock;

/// The keys of those who sign tokens, by listener.
pub type KeyCabinets = BTreeMap<Arc<str>, Arc<KeyCabinet>>;

/// What stands before the listeners, the same for all shards.
#[derive(Clone)]
pub struct Entrance {
    security: Option<Arc<SecurityConfig>>,
    keys: Arc<KeyCabinets>,
    secret: [u8; 16],
    chance: fn() -> [u8; 16],
}

impl Entrance {
    /// As the settings have it. `chance` draws nonces, and may not wait.
    #[must_use]
    pub fn new(security: SecurityConfig, keys: KeyCabinets, chance: fn() -> [u8; 16]) -> Self {
        Self { security: Some(Arc::new(security)), keys: Arc::new(keys), secret: chance(), chance }
    }

    /// All may ask.
    #[must_use]
    pub fn open() -> Self {
        Self { security: None, keys: Arc::default(), secret: [0; 16], chance: || [0; 16] }
    }

    /// A connection that comes at `now`.
    pub(crate) fn entry(&self, session: &Session, now: Instant) -> Admission {
        let Some(security) = &self.security else { return Admission::default() };
        let listener = security.listeners.get(&session.listener);
        let sasl = listener.and_then(|listener| listener.sasl.clone());
        let is_guarded = listener.is_some_and(|listener| listener.sasl.is_some() || listener.tls.is_some());
        let deadline = is_guarded.then(|| now + security.patience);
        let keys = || self.keys.get(&session.listener).cloned();
        let authenticator = sasl.map(|sasl| Box::new(Authenticator::new(sasl, keys())));
        Admission { authenticator, refused: None, deadline }
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
}

impl Doorkeeper {
    pub(crate) fn new(entrance: Entrance) -> Self {
        Self { entrance, users: Arc::default() }
    }

    pub(crate) const fn entrance(&self) -> &Entrance {
        &self.entrance
    }

    /// The cluster's users are these from here on.
    pub(crate) fn set_users(&mut self, users: Arc<Security>) {
        self.users = users;
    }

    /// Lets `ask` look at the users.
    pub(crate) fn with_world<T>(&self, ask: impl FnOnce(&mut World<'_>) -> T) -> T {
        let mut chance = self.entrance.chance;
        let secret = &self.entrance.secret;
        ask(&mut World { security: &self.users, secret, chance: &mut chance, wall: &clock::wall })
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
}

impl Admission {
    /// The largest frame that may come now.
    pub(crate) fn most(&self, max_frame: usize) -> usize {
        let before = self.authenticator.as_ref().and_then(|authenticator| authenticator.most());
        before.map_or(max_frame, |most| most.min(max_frame))
    }
}
