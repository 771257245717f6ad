//! What is said in an exchange, and what decides on it.

use aplomb_model::Timestamp;
use bytes::Bytes;

use crate::metadata::Security;

/// Users and secrets, as a shard has them.
pub struct World<'a> {
    /// The cluster's users.
    pub security: &'a Security,
    /// This process's own secret.
    pub secret: &'a [u8; 16],
    /// Draws nonces.
    pub chance: &'a mut dyn FnMut() -> [u8; 16],
    /// Tells the time of the day.
    pub wall: &'a dyn Fn() -> Timestamp,
}

/// What comes of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// The client is to say more.
    More(Bytes),
    /// It is who it says.
    Proved {
        /// Whose password it knows.
        user: String,
        /// What it is told.
        answer: Bytes,
        /// Until when that holds, if its proof says so.
        until: Option<Timestamp>,
    },
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
}
