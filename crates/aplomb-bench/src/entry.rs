//! How connections of a run get in.

use std::io::{self, Read, Write};

use aplomb_security::client::{Channel, ClientSecurity, Login, LoginError, NONCE};
use bytes::Bytes;

/// What every connection needs, the same for all of a run.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) client_id: String,
    pub(crate) security: ClientSecurity,
}

impl Entry {
    pub(crate) fn new(client_id: &str, security: &ClientSecurity) -> Self {
        Self { client_id: client_id.to_owned(), security: security.clone() }
    }

    /// A connection over a socket to `address`, written `host:port`: the host is what the broker's
    /// certificate has to be for.
    pub(crate) fn channel<S: Read + Write>(&self, socket: S, address: &str) -> io::Result<Channel<S>> {
        Channel::new(socket, &self.security, host_of(address)).map_err(io::Error::other)
    }

    /// A login at `address`, if there is to be one, and its first frame. With tickets of Kerberos
    /// it may have to ask a KDC for one, as a name may have to be asked for: before connecting.
    pub(crate) fn login(&self, address: &str) -> io::Result<Option<(Login, Bytes)>> {
        let Some(credentials) = &self.security.login else { return Ok(None) };
        let mut chance = [0; NONCE];
        getrandom::fill(&mut chance).map_err(|error| io::Error::other(error.to_string()))?;
        Login::begin(credentials, &self.client_id, host_of(address), chance).map(Some).map_err(not_let_in)
    }
}

fn host_of(address: &str) -> &str {
    address.rsplit_once(':').map_or(address, |(host, _)| host)
}

/// A login that has failed, as an error of its connection.
pub(crate) fn not_let_in(error: LoginError) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, error)
}
