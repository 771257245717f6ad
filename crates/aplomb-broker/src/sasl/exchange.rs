//! One exchange of a mechanism: what the client says, and what it proves.

use aplomb_model::Instant;
use bytes::Bytes;

use super::gssapi::{GssQueue, GssServer};
use super::oauth::{JwksCache, OauthServer};
use super::plain;
use super::said::{Denied, Said, World};
use super::scram::ScramServer;
use crate::config::{Mechanism, MechanismConfig};
use crate::ports::ConnectionId;
use crate::scram::ScramHash;

/// A mechanism at work.
#[derive(Debug)]
pub(super) enum Exchange {
    /// One message is all.
    Plain,
    Scram(ScramServer),
    Oauth(OauthServer),
    Gss(GssServer),
}

/// What mechanisms look things up in.
pub(super) struct Means<'a> {
    pub(super) settings: &'a MechanismConfig,
    /// The keys that tokens are signed with.
    pub(super) keys: Option<&'a JwksCache>,
    /// Where tickets are looked at, and for which connection.
    pub(super) gss: Option<(&'a GssQueue, ConnectionId)>,
}

impl Exchange {
    pub(super) fn new(mechanism: Mechanism) -> Self {
        match mechanism {
            Mechanism::Plain => Self::Plain,
            Mechanism::ScramSha256 => Self::Scram(ScramServer::new(ScramHash::Sha256)),
            Mechanism::ScramSha512 => Self::Scram(ScramServer::new(ScramHash::Sha512)),
            Mechanism::OauthBearer => Self::Oauth(OauthServer::default()),
            Mechanism::Gssapi => Self::Gss(GssServer::default()),
        }
    }

    /// Takes what the client says at `now`.
    pub(super) fn on_message(
        &mut self,
        message: &[u8],
        means: &Means<'_>,
        now: Instant,
        world: &mut World<'_>,
    ) -> Result<Said, Denied> {
        match self {
            Self::Plain => {
                let user = plain::authenticate(message, &means.settings.users)?;
                Ok(Said::Proved { user, answer: Bytes::new(), ends: None, by_token: false })
            }
            Self::Scram(server) => server.on_message(message, world),
            Self::Oauth(server) => {
                let tokens = means.settings.tokens.as_ref();
                let tokens = tokens.ok_or(Denied::Unsaid("no tokens are taken here"))?;
                server.on_message(message, (tokens, means.keys), now, world.wall)
            }
            Self::Gss(server) => {
                let gss = means.gss.ok_or(Denied::Unsaid("no tickets are taken here"))?;
                server.on_message(message, gss)
            }
        }
    }
}
