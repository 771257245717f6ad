//! What both ends of a connection share to show each other who they are, and the client's end.
//!
//! What always holds: nothing here opens a file or a socket, reads a clock or waits; a secret is in
//! no error and no `Debug`; what a server says costs no more memory and time than is allowed it.
//!
//! [`client::Channel`] is the client's end of TLS, [`client::Login`] that of SASL, [`scram`] is the
//! arithmetic and the messages of both ends.

pub mod client;
pub mod scram;
mod secret;

pub use secret::Secret;
