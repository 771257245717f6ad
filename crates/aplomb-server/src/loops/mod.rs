//! The loops: one thread a shard carries its requests, messages and completions; one more accepts
//! connections and deals them out.
//!
//! Plain epoll rather than an async runtime: one turn reads the clocks once, hands everything that
//! has come to the [`Core`], lets it settle once, and writes all replies, so that a request in a
//! busy shard costs one receive, one send and a share of one wait.
//!
//! What always holds: a loop waits in [`poll`] and nowhere else. Start at [`shard_loop`]; its
//! connections are in [`clients`].

pub(crate) mod acceptor;
mod clients;
mod core;
mod mail;
mod poll;
mod shard_loop;
mod stop;
mod table;

pub use self::core::Core;
pub(crate) use self::mail::Mail;
pub(crate) use self::shard_loop::{Parts, ShardLoop};
pub(crate) use self::stop::StopSignal;
