//! Sockets, reactors and the guard: everything between a client's bytes and a shard's decisions.
//!
//! What always holds: threads that carry requests ([`reactor`], and the acceptor in [`net`]) touch no file and wait for nothing
//! but their own sockets and mailboxes; [`guard`] makes the kernel hold them to it. Log lines ([`log`]) and numbers
//! ([`metrics`]) leave through rings and counters that never make them wait.
//!
//! Start at [`Server::start`], then [`reactor`].

pub mod clock;
pub mod guard;
pub mod log;
pub mod metrics;
pub mod net;
pub mod reactor;
mod server;

pub use server::{Prepare, Server, ServerConfig, ServerThread, StartError, Switchboard};
