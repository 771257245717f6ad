//! What carries a connection's bytes: reads into memory, writes many pieces with one call.
//!
//! What always holds: no call waits. `more` is what an edge-triggered loop has to know: without it
//! the socket is empty, or full, and says so itself when that changes.

use std::io::IoSlice;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::moved::Moved;
use super::tls::{Greeting, Tls};
use rustix::buffer::spare_capacity;
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, recv, sendmsg};

/// A connection's way to its client.
#[derive(Debug)]
pub(crate) enum Transport {
    /// Bytes as they are.
    Plain(OwnedFd),
    /// The bytes of a session of TLS, which they are in.
    Tls(Box<Tls>),
}

impl Transport {
    /// Appends to `into` what has come, as far as it has room. No bytes: the client has said its
    /// last.
    pub(crate) fn receive(&mut self, into: &mut Vec<u8>) -> Result<Moved, Errno> {
        match self {
            Self::Plain(socket) => {
                let room = into.capacity() - into.len();
                let (bytes, _) = retry_on_intr(|| recv(&*socket, spare_capacity(into), RecvFlags::empty()))?;
                Ok(Moved { bytes, more: bytes == room })
            }
            Self::Tls(tls) => tls.receive(into),
        }
    }

    /// Appends to `into` what has come, as far as it has room, and leaves it to be received.
    pub(crate) fn peek(&mut self, into: &mut Vec<u8>) -> Result<Moved, Errno> {
        match self {
            Self::Plain(socket) => {
                let room = into.capacity() - into.len();
                let (bytes, _) = retry_on_intr(|| recv(&*socket, spare_capacity(into), RecvFlags::PEEK))?;
                Ok(Moved { bytes, more: bytes == room })
            }
            Self::Tls(tls) => tls.peek(into),
        }
    }

    /// Receives what was peeked at, as much as `into` has. How much that was.
    pub(crate) fn receive_peeked(&mut self, into: &mut [u8]) -> Result<usize, Errno> {
        match self {
            Self::Plain(socket) => {
                let (bytes, _) = retry_on_intr(|| recv(&*socket, &mut *into, RecvFlags::empty()))?;
                Ok(bytes)
            }
            Self::Tls(tls) => Ok(tls.receive_peeked(into)),
        }
    }

    /// Sends the beginning of `pieces`, as much as may leave now.
    pub(crate) fn send(&mut self, pieces: &[IoSlice<'_>]) -> Result<Moved, Errno> {
        match self {
            Self::Plain(socket) => {
                let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
                let mut control = SendAncillaryBuffer::default();
                let bytes = retry_on_intr(|| sendmsg(&*socket, pieces, &mut control, flags))?;
                let offered: usize = pieces.iter().map(|piece| piece.len()).sum();
                Ok(Moved { bytes, more: bytes == offered })
            }
            Self::Tls(tls) => tls.send(pieces),
        }
    }

    /// Whether something that was sent waits here for the socket.
    pub(crate) fn has_unsent(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Tls(tls) => tls.has_unsent(),
        }
    }

    /// Hands the socket what waits for it; true: all of it.
    pub(crate) fn flush(&mut self) -> Result<bool, Errno> {
        match self {
            Self::Plain(_) => Ok(true),
            Self::Tls(tls) => tls.flush(),
        }
    }

    /// What is here and cannot be taken up yet, in bytes.
    pub(crate) fn unfinished(&self) -> usize {
        match self {
            Self::Plain(_) => 0,
            Self::Tls(tls) => tls.unfinished(),
        }
    }

    /// Whether the client is not through yet.
    pub(crate) fn is_handshaking(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Tls(tls) => tls.is_handshaking(),
        }
    }

    /// Who came, once, when the handshake is over.
    pub(crate) fn take_greeting(&mut self) -> Option<Greeting> {
        match self {
            Self::Plain(_) => None,
            Self::Tls(tls) => tls.take_greeting(),
        }
    }

    /// Why it broke, if TLS is the reason.
    pub(crate) fn take_fault(&mut self) -> Option<String> {
        match self {
            Self::Plain(_) => None,
            Self::Tls(tls) => tls.take_fault(),
        }
    }

    /// The last that is said, before the socket closes.
    pub(crate) fn close(&mut self) {
        match self {
            Self::Plain(_) => {}
            Self::Tls(tls) => tls.close(),
        }
    }
}

impl AsFd for Transport {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Plain(socket) => socket.as_fd(),
            Self::Tls(tls) => tls.as_fd(),
        }
    }
}
