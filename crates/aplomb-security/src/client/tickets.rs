//! GSSAPI (RFC 4752), the client's side: a ticket of Kerberos is shown, the broker shows that it
//! could read it, and that nothing is to be signed or encrypted is agreed upon.
//!
//! The arithmetic, the tickets and the keytabs are a library's, which who knows one hands in.
//!
//! What always holds: a broker that does not show who it is, is left; so is one that wants more
//! than a login of Kerberos.

use std::fmt;

use bytes::Bytes;

use super::error::LoginError;

/// No layer (RFC 4752, 3.1): what is said after the login is as it is.
const NO_LAYER: u8 = 1;

/// Who has tickets, or can get some.
pub trait TicketHolder: fmt::Debug + Send + Sync {
    /// Begins an exchange with the service on a host. This may ask a KDC, and read files: it is
    /// called when a connection is opened, or its login renewed, and never between.
    ///
    /// # Errors
    /// If there is no ticket for it, in words.
    fn begin(&self, host: &str) -> Result<Box<dyn TicketExchange>, String>;
}

/// One exchange's security context (RFC 2743). It waits for nothing.
pub trait TicketExchange: fmt::Debug + Send {
    /// The next token, which may be empty, for the broker's last: none at first.
    ///
    /// # Errors
    /// If the broker has not shown who it is, in words.
    fn step(&mut self, token: &[u8]) -> Result<TicketStep, String>;

    /// The message that the broker has signed.
    ///
    /// # Errors
    /// If it has not, in words.
    fn unwrap(&mut self, token: &[u8]) -> Result<Vec<u8>, String>;

    /// Signs a message for the broker.
    ///
    /// # Errors
    /// As the library says.
    fn wrap(&mut self, message: &[u8]) -> Result<Vec<u8>, String>;
}

/// A step of an exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TicketStep {
    /// For the broker; it may be empty.
    pub token: Vec<u8>,
    /// Whether each knows the other now.
    pub is_done: bool,
}

/// An exchange, and how far it has come.
#[derive(Debug)]
pub(super) struct TicketClient {
    exchange: Box<dyn TicketExchange>,
    is_done: bool,
}

impl TicketClient {
    /// Begins one, with what is to be said first.
    pub(super) fn begin(holder: &dyn TicketHolder, host: &str) -> Result<(Self, Bytes), LoginError> {
        let mut exchange = holder.begin(host).map_err(LoginError::Ticket)?;
        let TicketStep { token, is_done } = exchange.step(b"").map_err(LoginError::Ticket)?;
        Ok((Self { exchange, is_done }, token.into()))
    }

    /// Takes an answer. Gives what is to be said, and the client unless that was its last word.
    pub(super) fn answer(mut self, message: &[u8]) -> Result<(Bytes, Option<Self>), LoginError> {
        if !self.is_done {
            let TicketStep { token, is_done } = self.exchange.step(message).map_err(LoginError::Impostor)?;
            self.is_done = is_done;
            return Ok((token.into(), Some(self)));
        }
        let offer = self.exchange.unwrap(message).map_err(LoginError::Impostor)?;
        let [layers, _, _, _] = offer[..] else {
            return Err(LoginError::Form("what it offers to sign and encrypt is no offer"));
        };
        if layers & NO_LAYER == 0 {
            return Err(LoginError::Form(
                "it wants all that is said signed by Kerberos, which is not done here",
            ));
        }
        let choice = self.exchange.wrap(&[NO_LAYER, 0, 0, 0]).map_err(LoginError::Ticket)?;
        Ok((choice.into(), None))
    }
}
