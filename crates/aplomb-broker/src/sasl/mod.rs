//! SASL: how a client says who it is, before it may ask.
//!
//! [`Authenticator`] is one connection's state, from the first frame on: it says what becomes of
//! each frame and knows no socket. [`scram`], [`plain`], [`oauth`] and [`gssapi`] are the
//! mechanisms. What always holds: nothing here waits or costs more than some hashes and one
//! signature, but for [`TokenKeys::derive_next`] and [`gssapi::GssWorker`]; secrets are compared in
//! a time that does not depend on them; who does not get in is not told why.

mod authenticator;
mod exchange;
pub mod gssapi;
pub mod oauth;
mod plain;
mod said;
mod scram;
mod token_keys;

pub use authenticator::{Authenticator, Identity, Passage, RefusalKind, TurnedAway};
pub use said::World;
pub use token_keys::TokenKeys;
