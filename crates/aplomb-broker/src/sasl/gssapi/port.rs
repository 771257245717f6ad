//! What a library of Kerberos has to do for the exchanges.

/// Makes contexts. What it does may wait for files.
pub trait GssAcceptor {
    /// One exchange's.
    type Context: GssContext;

    /// One for an exchange that begins, with the keys as they are now.
    ///
    /// # Errors
    /// If there are no keys.
    fn begin(&mut self) -> Result<Self::Context, GssFault>;

    /// The user that a Kerberos principal stands for (`sasl.kerberos.principal.to.local.rules`).
    ///
    /// # Errors
    /// If no rule is for it.
    fn short_name(&self, principal: &str) -> Result<String, GssFault>;
}

/// A security context (RFC 2743), the server's side.
pub trait GssContext {
    /// Takes a token of the client.
    ///
    /// # Errors
    /// If the client has not shown who it is.
    fn accept(&mut self, token: &[u8]) -> Result<Accepted, GssFault>;

    /// Signs a message for the client.
    ///
    /// # Errors
    /// As the library says.
    fn wrap(&mut self, message: &[u8]) -> Result<Vec<u8>, GssFault>;

    /// The message that the client has signed.
    ///
    /// # Errors
    /// If it has not.
    fn unwrap(&mut self, token: &[u8]) -> Result<Vec<u8>, GssFault>;
}

/// A token was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// For the client; often empty.
    pub token: Vec<u8>,
    /// The client's principal, once the context is established.
    pub peer: Option<String>,
}

/// Why an exchange ends without a proof. It goes to the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GssFault {
    /// In words.
    pub why: String,
    /// The client may well get in when it tries again: it is told nothing, and is closed, which
    /// clients take for a fault of the network (`KerberosError#retriable`).
    pub is_passing: bool,
}

impl GssFault {
    /// One that stays.
    #[must_use]
    pub fn lasting(why: impl Into<String>) -> Self {
        Self { why: why.into(), is_passing: false }
    }

    /// One that may be over when the client tries again.
    #[must_use]
    pub fn passing(why: impl Into<String>) -> Self {
        Self { why: why.into(), is_passing: true }
    }
}
