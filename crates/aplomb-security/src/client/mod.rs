//! The client's end of a connection: [`Channel`] has its bytes in TLS where that is wanted,
//! [`Login`] says who the client is, as pure machines. The owner of the socket hands bytes and
//! frames in, and sends what comes out.

mod channel;
mod credentials;
mod error;
mod fault;
mod login;
mod scram;
#[cfg(test)]
mod tests;
mod tickets;

use std::sync::Arc;

pub use channel::Channel;
pub use credentials::{BearerToken, Credentials, ScramPassword, TokenFault};
pub use error::LoginError;
pub use fault::TlsFault;
pub use login::{LARGEST_ANSWER, Login, NONCE, Progress};
pub use tickets::{TicketExchange, TicketHolder, TicketStep};

/// What a client needs to be let in.
#[derive(Clone, Debug, Default)]
pub struct ClientSecurity {
    /// TLS, if there is any: whom it trusts, and the certificates that it shows.
    pub tls: Option<Arc<rustls::ClientConfig>>,
    /// How it says who it is, if it does.
    pub login: Option<Credentials>,
}
