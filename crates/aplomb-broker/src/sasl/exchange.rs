//! One exchange of a mechanism: what the client says, and what it proves.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::plain;
use super::said::{Denied, Said, World};
use super::scram::ScramServer;
use crate::config::{Mechanism, Secret};
use crate::scram::ScramHash;

/// A mechanism at work.
#[derive(Debug)]
pub(super) enum Exchange {
    /// One message is all.
    Plain,
    Scram(ScramServer),
}

impl Exchange {
    pub(super) const fn new(mechanism: Mechanism) -> Self {
        match mechanism {
            Mechanism::Plain => Self::Plain,
            Mechanism::ScramSha256 => Self::Scram(ScramServer::new(ScramHash::Sha256)),
            Mechanism::ScramSha512 => Self::Scram(ScramServer::new(ScramHash::Sha512)),
        }
    }

    /// Takes what the client says. `users` are those of PLAIN.
    pub(super) fn on_message(
        &mut self,
        message: &[u8],
        users: &BTreeMap<String, Secret>,
        world: &mut World<'_>,
    ) -> Result<Said, Denied> {
        match self {
            Self::Plain => {
                let user = plain::authenticate(message, users)?;
                Ok(Said::Proved { user, answer: Bytes::new(), token_ends: None })
            }
            Self::Scram(server) => server.on_message(message, world),
        }
    }
}
