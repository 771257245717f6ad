//! What requests about delegation tokens have in common: who may make them, and names that come in
//! two parts.

use crate::config::SecurityProtocol;
use crate::ports::{Principal, Session};

/// The type of principals that can have tokens renewed.
pub(super) const USER_TYPE: &str = "User";
/// A time that there is not, where a request was refused before the controller was asked.
pub(super) const NO_TIME: i64 = -1;

/// Whether a client may ask anything about tokens: it has shown who it is, and not by a token, and
/// what it is told travels on a listener that hides it or asks for a proof at least.
pub(super) fn are_allowed(session: &Session) -> bool {
    let is_known = match session.protocol {
        SecurityProtocol::Plaintext => false,
        SecurityProtocol::Ssl => session.principal != Principal::ANONYMOUS,
        SecurityProtocol::SaslPlaintext | SecurityProtocol::SaslSsl => true,
    };
    is_known && !session.by_token
}

/// A principal as records and ACLs have it.
pub(super) fn joined(kind: &str, name: &str) -> String {
    format!("{kind}:{name}")
}

/// Its type and its name.
pub(super) fn parts(principal: &str) -> (&str, &str) {
    principal.split_once(':').unwrap_or((USER_TYPE, principal))
}
