//! What is said in an exchange, and what decides on it.

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
    },
}

/// The client does not get in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    /// It is told this.
    Said(String),
    /// It is not told why; the log is.
    Unsaid(&'static str),
}
