//! A visitor's connection: bytes as they are, or in TLS.
//!
//! What always holds: no call waits; who breaks TLS is gone.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};

use rustls::ServerConnection;

use crate::security::Gate;

/// How much may wait for a visitor's socket, in bytes.
const BUFFER: usize = 64 * 1024;

/// Reads of TLS by one call that bring no text.
const EMPTY_READS: usize = 8;

pub(super) struct Channel {
    socket: TcpStream,
    session: Option<Box<ServerConnection>>,
}

impl Channel {
    /// Takes over an accepted connection.
    pub(super) fn new(socket: TcpStream, gate: Option<&Gate>) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let session = match gate {
            None => None,
            Some(gate) => {
                let (mut session, _) = gate.connection().map_err(io::Error::other)?;
                session.set_buffer_limit(Some(BUFFER));
                Some(Box::new(session))
            }
        };
        Ok(Self { socket, session })
    }

    /// Whether something waits for the socket.
    pub(super) fn has_unsent(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.wants_write())
    }

    /// Hands the socket what waits for it.
    pub(super) fn send_rest(&mut self) -> io::Result<()> {
        let Some(session) = &mut self.session else { return Ok(()) };
        while session.wants_write() {
            session.write_tls(&mut self.socket)?;
        }
        Ok(())
    }

    /// The last that is said.
    pub(super) fn close(&mut self) -> io::Result<()> {
        if let Some(session) = &mut self.session {
            session.send_close_notify();
        }
        self.send_rest()
    }
}

impl Read for Channel {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        for _ in 0..EMPTY_READS {
            let Some(session) = &mut self.session else { return self.socket.read(into) };
            match session.reader().read(into) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                other => return other,
            }
            if session.read_tls(&mut self.socket)? == 0 {
                return Ok(0);
            }
            let broken = session.process_new_packets().err();
            match self.send_rest() {
                Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
                _ => {}
            }
            if let Some(error) = broken {
                return Err(io::Error::new(ErrorKind::InvalidData, error));
            }
        }
        // One who sends so little at a time is heard again when others were.
        Err(ErrorKind::WouldBlock.into())
    }
}

impl Write for Channel {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.send_rest()?;
        match &mut self.session {
            None => self.socket.write(bytes),
            Some(session) => session.writer().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send_rest()
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
