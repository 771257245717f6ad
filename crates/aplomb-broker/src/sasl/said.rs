//! What is said in an exchange, and what decides on it.

use std::time::Duration;

use aplomb_model::Timestamp;
use bytes::Bytes;

use super::token_keys::TokenKeys;
use crate::metadata::Security;

/// Users and secrets, as a shard has them.
pub struct World<'a> {
    /// The cluster's users.
    pub security: &'a Security,
    /// This process's own secret.
    pub secret: &'a [u8; 16],
    /// Draws nonces.
    pub chance: &'a mut dyn FnMut() -> [u8; 16],
    /// What proofs of delegation tokens are compared with, where there are any.
    pub tokens: Option<&'a TokenKeys>,
    /// Reads the wall clock: tokens end at a time of that.
    pub wall: &'a dyn Fn() -> Timestamp,
}

/// What comes of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// The client is to say more.
    More(Bytes),
    /// It is who it says.
    Proved {
        /// Whose password or token it knows.
        user: String,
        /// What it is told.
        answer: Bytes,
        /// When that ends, if its proof says so.
        ends: Option<Timestamp>,
        /// Whether it has shown a delegation token.
        by_token: bool,
    },
    /// It cannot be decided yet: the same message is to be taken again after so long.
    Later(Duration),
}

/// The client does not get in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    /// It is told this.
    Said(String),
    /// It is told one thing, and the log another.
    Told {
        /// What the client hears.
        told: String,
        /// What the log says.
        why: String,
    },
    /// It is not told why; the log is.
    Unsaid(&'static str),
    /// It is told nothing at all; the log is.
    Silent(&'static str),
    /// Its ticket of Kerberos does not count. The log is told why; the client is, if that will not
    /// pass, that it was in vain.
    Kerberos {
        /// What the log says.
        why: String,
        /// It may try again.
        is_passing: bool,
    },
}
