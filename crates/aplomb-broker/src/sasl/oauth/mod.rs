//! OAUTHBEARER (RFC 7628): the client shows a token that others have signed.
//!
//! [`message`] reads what clients say, [`token`] takes a token apart, [`jwks`] has the issuer's
//! keys, [`claims`] what a token has to say, [`unsecured`] the same without a signature,
//! [`OauthServer`] is the exchange. What always holds: what is done here is arithmetic over one
//! message; keys come from a [`JwksCache`], which another thread fills; a token is in no line of
//! the log.

mod claims;
mod fault;
mod json;
mod jwks;
mod jwks_cache;
mod message;
mod server;
mod signature;
mod token;
mod unsecured;
mod validator;

pub use claims::Bearer;
pub use fault::TokenFault;
pub use jwks::{KeySet, KeySetError};
pub use jwks_cache::JwksCache;
pub(super) use server::OauthServer;
pub use unsecured::examine_unsecured;
pub use validator::examine;

#[cfg(test)]
mod tests;
