//! A client's bytes as they are, or in TLS.
//!
//! What always holds: no call waits unless the socket does; what waits for the socket is bounded,
//! and so is what comes in without being of any use.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::sync::Arc;

use rustls::ClientConnection;
use rustls::pki_types::ServerName;

use super::ClientSecurity;
use super::fault::TlsFault;

/// How much may wait for the socket, in bytes.
const BUFFER: usize = 256 * 1024;

/// How much TLS a server may send without text in it, in bytes: more than the longest handshake.
const MOST_WITHOUT_TEXT: usize = 1 << 20;

/// A connection over a socket, or whatever bytes can be read from and written to.
#[derive(Debug)]
pub struct Channel<S> {
    socket: S,
    session: Option<Box<ClientConnection>>,
}

impl<S: Read + Write> Channel<S> {
    /// Over a socket that has said nothing yet, to this host: the name or the address that the
    /// server's certificate has to have.
    ///
    /// # Errors
    /// When the host is none.
    pub fn new(socket: S, security: &ClientSecurity, host: &str) -> Result<Self, TlsFault> {
        let Some(config) = &security.tls else { return Ok(Self { socket, session: None }) };
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let name = ServerName::try_from(host.to_owned()).map_err(|_| TlsFault::Name(host.to_owned()))?;
        let mut session = ClientConnection::new(Arc::clone(config), name)?;
        session.set_buffer_limit(Some(BUFFER));
        Ok(Self { socket, session: Some(Box::new(session)) })
    }

    /// What it is over.
    pub fn socket(&self) -> &S {
        &self.socket
    }

    /// The same, to be told how long it may wait.
    pub fn socket_mut(&mut self) -> &mut S {
        &mut self.socket
    }

    /// Whether something was taken that the socket does not have yet.
    #[must_use]
    pub fn has_unsent(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.wants_write() || session.is_handshaking())
    }

    /// Whether an empty read of the socket is all that says that nothing more is here: TLS gives
    /// its text in pieces.
    #[must_use]
    pub fn reads_in_pieces(&self) -> bool {
        self.session.is_some()
    }

    fn send_rest(&mut self) -> io::Result<()> {
        let Some(session) = &mut self.session else { return Ok(()) };
        while session.wants_write() {
            match session.write_tls(&mut self.socket) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                sent => _ = sent?,
            }
        }
        Ok(())
    }

    /// As much of it as the socket takes now.
    fn send_some(&mut self) -> io::Result<()> {
        match self.send_rest() {
            // One that is not connected yet looks like this, too.
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::NotConnected) => Ok(()),
            other => other,
        }
    }
}

impl<S: Read + Write> Read for Channel<S> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut without_text = 0;
        loop {
            let Some(session) = &mut self.session else { return self.socket.read(into) };
            match session.reader().read(into) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                other => return other,
            }
            if without_text > MOST_WITHOUT_TEXT {
                return Err(io::Error::new(ErrorKind::InvalidData, TlsFault::NoText));
            }
            // The end of the stream is what the next look at the text finds, in order or not.
            without_text += match session.read_tls(&mut self.socket) {
                Ok(0) if session.is_handshaking() => return Err(ErrorKind::UnexpectedEof.into()),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                // Not the socket's: rustls has as much as it keeps, and nothing of it was text.
                Err(error) if error.kind() == ErrorKind::InvalidData => {
                    return Err(io::Error::new(ErrorKind::InvalidData, TlsFault::NoText));
                }
                read => read?,
            };
            let broken = session.process_new_packets().err();
            let sent = self.send_some();
            if let Some(error) = broken {
                // The alert that says it to the server matters less.
                return Err(io::Error::new(ErrorKind::InvalidData, TlsFault::Tls(error)));
            }
            sent?;
        }
    }
}

impl<S: Read + Write> Write for Channel<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        // What is still here from before makes room first.
        self.send_some()?;
        let Some(session) = &mut self.session else { return self.socket.write_vectored(slices) };
        let taken = session.writer().write_vectored(slices)?;
        if taken == 0 && slices.iter().any(|slice| !slice.is_empty()) {
            // The socket takes nothing, or the handshake has yet to end.
            return Err(ErrorKind::WouldBlock.into());
        }
        self.send_some()?;
        Ok(taken)
    }

    /// Hands the socket what waits for it.
    fn flush(&mut self) -> io::Result<()> {
        self.send_rest()?;
        self.socket.flush()
    }
}
