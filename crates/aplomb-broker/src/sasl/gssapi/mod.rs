//! GSSAPI (RFC 4752): the client shows a ticket of Kerberos.
//!
//! [`GssServer`] is a connection's side: it leaves what the client says in the [`GssQueue`] and
//! comes again. A [`GssWorker`], on a thread of its own, goes through the exchanges (`dialogue`)
//! with a library that reads keytabs and notes replays ([`GssAcceptor`]). What always holds: a
//! shard opens no file and waits for no lock; what lies in the queue and what the worker remembers
//! has an end.

mod dialogue;
mod port;
mod queue;
mod server;
mod worker;

pub use dialogue::chosen_layer;
pub use port::{Accepted, GssAcceptor, GssContext, GssFault};
pub use queue::GssQueue;
pub(super) use server::GssServer;
pub use worker::GssWorker;

#[cfg(test)]
mod tests;
