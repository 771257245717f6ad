//! GSSAPI (RFC 4752): the client shows a ticket of Kerberos.
//!
//! [`GssServer`] is a connection's side: it leaves what the client says at the [`GssDesk`] and comes
//! again. A thread of its own, the [`GssClerk`], goes through the exchanges ([`Dialogue`]) with a
//! library that reads keytabs and notes replays ([`GssAcceptor`]). What always holds: a shard opens
//! no file and waits for no lock; what lies at the desk and what the clerk remembers has an end.

mod clerk;
mod desk;
mod dialogue;
mod port;
mod server;

pub use clerk::GssClerk;
pub use desk::GssDesk;
pub use dialogue::chosen_layer;
pub use port::{Accepted, GssAcceptor, GssContext, GssFault};
pub(super) use server::GssServer;

#[cfg(test)]
mod tests;
