//! The exchange (`OAuthBearerSaslServer`): a token, and, where it does not count, a challenge that
//! says so, to which the client says once more nothing and is refused.

use aplomb_model::{Instant, Timestamp};
use bytes::Bytes;

use super::claims::Bearer;
use super::fault::TokenFault;
use super::jwks_cache::JwksCache;
use super::message::ClientMessage;
use super::unsecured::examine_unsecured;
use super::validator::{examine, key_id};
use crate::config::TokenConfig;
use crate::sasl::said::{Denied, Said};

/// What a client says to a challenge.
const NOTHING_MORE: &[u8] = b"\x01";

/// A server's side.
#[derive(Debug, Default)]
pub(in crate::sasl) struct OauthServer {
    /// What the client was told, and why.
    refused: Option<(String, TokenFault)>,
}

impl OauthServer {
    /// Takes what the client says at `now`. `wall` is asked for the time if it matters.
    pub(in crate::sasl) fn on_message(
        &mut self,
        message: &[u8],
        (tokens, keys): (&TokenConfig, Option<&JwksCache>),
        now: Instant,
        wall: &dyn Fn() -> Timestamp,
    ) -> Result<Said, Denied> {
        let refused = self.refused.take();
        if let (NOTHING_MORE, Some((told, fault))) = (message, refused) {
            return Err(Denied::Told { told, why: fault.to_string() });
        }
        let message = ClientMessage::parse(message)?;
        let bearer = match bearer(message.token, (tokens, keys), now, wall()) {
            Ok(bearer) => bearer,
            Err(fault) => {
                let challenge = challenge(fault, tokens);
                self.refused = Some((challenge.clone(), fault));
                return Ok(Said::More(challenge.into()));
            }
        };
        let Bearer { name, expires } = bearer;
        if !message.authorization.is_empty() && message.authorization != name {
            return Err(Denied::Said(format!(
                "Authentication failed: Client requested an authorization id ({}) that is different from the token's principal name ({name})",
                message.authorization
            )));
        }
        Ok(Said::Proved { user: name, answer: Bytes::new(), ends: Some(expires), by_token: false })
    }
}

fn bearer(
    token: &str,
    (tokens, keys): (&TokenConfig, Option<&JwksCache>),
    now: Instant,
    wall: Timestamp,
) -> Result<Bearer, TokenFault> {
    match tokens {
        TokenConfig::Unsecured(rules) => examine_unsecured(token, rules, wall),
        TokenConfig::Validated(rules) => {
            let cache = keys.ok_or(TokenFault::NoKey)?;
            let found = examine(token, &cache.keys(), rules, wall);
            if found == Err(TokenFault::NoKey)
                && let Some(id) = key_id(token)
            {
                cache.miss(&id, now);
            }
            found
        }
    }
}

/// In the words of Apache Kafka, which are the same whatever is wrong with a token.
fn challenge(fault: TokenFault, tokens: &TokenConfig) -> String {
    match (fault, tokens) {
        (TokenFault::Scope, TokenConfig::Unsecured(rules)) => {
            let scope = rules.required_scope.join(", ");
            format!("{{\"status\":\"insufficient_scope\", \"scope\":\"[{scope}]\"}}")
        }
        _ => "{\"status\":\"invalid_token\"}".to_owned(),
    }
}
