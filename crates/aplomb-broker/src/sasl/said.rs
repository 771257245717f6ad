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
    /// What tokens are compared with, where there are any.
    pub tokens: Option<&'a TokenKeys>,
    /// Reads the wall clock: tokens end at a time of that.
    pub wall: &'a mut dyn FnMut() -> Timestamp,
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
        /// Until when, if it has shown a token.
        token_ends: Option<Timestamp>,
    },
    /// It cannot be decided yet: the same message is to be taken again after so long.
    Later(Duration),
}

/// The client does not get in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    /// It is told this.
    Said(String),
    /// It is not told why; the log is.
    Unsaid(&'static str),
}
