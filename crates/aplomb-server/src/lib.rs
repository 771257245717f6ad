//! Sockets, loops and the guard: everything between a client's bytes and a shard's decisions.
//!
//! What always holds: threads that carry requests ([`loops`]) touch no file and wait for nothing
//! but their own sockets ([`net`]) and mailboxes ([`mail`]); [`guard`] makes the kernel hold them
//! to it. Log lines ([`log`]) and numbers ([`figures`], shown by [`metrics`]) leave through rings
//! and counters that never make them wait.
//!
//! Start at [`Server::start`], then [`loops`].

pub mod clock;
mod figures;
pub mod guard;
pub mod log;
pub mod loops;
mod mail;
pub mod metrics;
pub mod net;
pub mod security;
mod server;

pub use metrics::{RunDelays, TailFigures, TailSource};
pub use server::{Around, Prepare, Server, ServerConfig, ServerThread, StartError, Switchboard};
