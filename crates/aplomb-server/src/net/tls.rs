//! A connection's bytes in TLS.
//!
//! What always holds: no call waits; what waits for the socket is bounded; a handshake that fails
//! ends with an alert that the client can read.

use std::io::{self, BufRead as _, IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::{Errno, retry_on_intr};
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown, recv, sendmsg, shutdown};
use rustls::ServerConnection;

use super::moved::Moved;
use super::records::Records;
use crate::security::{Gate, PrincipalRules, Unsent, principal};

/// Reads of a socket by one call while they bring nothing that a frame is made of.
const EMPTY_READS: usize = 8;

/// The most that a read brings, in bytes. By itself rustls reads 4 KiB at a time, which is four
/// calls for each record.
const AT_ONCE: usize = 64 * 1024;

/// What a read brings where there is room for less, in bytes: as much as rustls takes at once.
const AT_LEAST: usize = 4 * 1024;

/// The largest message of a handshake, which TLS keeps until it has come, in bytes.
const LARGEST_HANDSHAKE: usize = 64 * 1024;

/// What is read from a client that has failed, so that it can read why, in bytes.
const DRAINED: usize = 64 * 1024;

/// A connection in TLS.
#[derive(Debug)]
pub(crate) struct Tls {
    socket: OwnedFd,
    session: ServerConnection,
    rules: PrincipalRules,
    /// What was peeked at.
    held: Vec<u8>,
    inbound: Inbound,
    /// What was encrypted and has not left.
    unsent: Unsent,
    /// The end of the handshake was told of.
    greeted: bool,
    /// Why it ended.
    fault: Option<String>,
}

/// Who is at the other end, as its certificate says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Greeting {
    /// It has shown none.
    Stranger,
    /// By the rules.
    Named(String),
    /// The rules have no name for it.
    Nameless,
}

impl Tls {
    /// The server's side of a connection that has said nothing yet.
    pub(crate) fn new(socket: OwnedFd, gate: &Gate) -> Result<Self, rustls::Error> {
        let (session, rules) = gate.connection()?;
        let (inbound, unsent) = (Inbound::default(), gate.backlog().unsent());
        Ok(Self { socket, session, rules, held: Vec::new(), inbound, unsent, greeted: false, fault: None })
    }

    /// What is here and is no text yet: half a record; and all that has come of a handshake, whose
    /// messages may be in many.
    pub(crate) fn unfinished(&self) -> usize {
        if self.session.is_handshaking() {
            self.inbound.bytes.min(LARGEST_HANDSHAKE)
        } else {
            self.inbound.records.held()
        }
    }

    pub(crate) fn is_handshaking(&self) -> bool {
        self.session.is_handshaking()
    }

    /// Who came, once, when the handshake is over.
    pub(crate) fn take_greeting(&mut self) -> Option<Greeting> {
        if self.greeted || self.session.is_handshaking() {
            return None;
        }
        self.greeted = true;
        let certificate = self.session.peer_certificates().and_then(<[_]>::first);
        Some(match certificate.map(|certificate| principal(certificate, &self.rules)) {
            None => Greeting::Stranger,
            Some(Some(name)) => Greeting::Named(name),
            Some(None) => Greeting::Nameless,
        })
    }

    /// Why the connection broke, if TLS is the reason.
    pub(crate) fn take_fault(&mut self) -> Option<String> {
        self.fault.take()
    }

    pub(crate) fn receive(&mut self, into: &mut Vec<u8>) -> Result<Moved, Errno> {
        if self.held.is_empty() {
            return self.receive_new(into).map_err(|broken| self.broken(broken));
        }
        let room = into.capacity() - into.len();
        let bytes = room.min(self.held.len());
        into.extend(self.held.drain(..bytes));
        Ok(Moved { bytes, more: true })
    }

    pub(crate) fn peek(&mut self, into: &mut Vec<u8>) -> Result<Moved, Errno> {
        let room = into.capacity() - into.len();
        let mut more = true;
        if self.held.len() < room {
            self.held.reserve_exact(room - self.held.len());
            let mut held = std::mem::take(&mut self.held);
            let received = self.receive_new(&mut held);
            // What is not there takes no room.
            held.shrink_to_fit();
            self.held = held;
            match received {
                Ok(moved) if moved.bytes == 0 && !moved.more && self.held.is_empty() => return Ok(moved),
                Ok(moved) => more = moved.more,
                Err(Fault::Socket(Errno::AGAIN)) if !self.held.is_empty() => more = false,
                Err(broken) => return Err(self.broken(broken)),
            }
        }
        let bytes = room.min(self.held.len());
        into.extend_from_slice(&self.held[..bytes]);
        Ok(Moved { bytes, more })
    }

    pub(crate) fn receive_peeked(&mut self, into: &mut [u8]) -> usize {
        let bytes = into.len().min(self.held.len());
        into[..bytes].copy_from_slice(&self.held[..bytes]);
        self.held.drain(..bytes);
        if self.held.is_empty() {
            self.held = Vec::new();
        }
        bytes
    }

    pub(crate) fn send(&mut self, pieces: &[IoSlice<'_>]) -> Result<Moved, Errno> {
        if !self.flush()? {
            return Err(Errno::AGAIN);
        }
        self.session.set_buffer_limit(Some(self.unsent.allowance()));
        let bytes = self.session.writer().write_vectored(pieces).map_err(|_| Errno::PROTO)?;
        self.unsent.add(bytes);
        let more = self.flush()?;
        Ok(Moved { bytes, more })
    }

    /// Whether something waits for the socket.
    pub(crate) fn has_unsent(&self) -> bool {
        self.session.wants_write()
    }

    /// Hands the socket what waits for it; true: all of it.
    pub(crate) fn flush(&mut self) -> Result<bool, Errno> {
        while self.session.wants_write() {
            match self.session.write_tls(&mut Outbound(&self.socket)) {
                Ok(bytes) => self.unsent.settle(bytes),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
            }
        }
        self.unsent.settle_all();
        Ok(true)
    }

    /// The last that is said.
    pub(crate) fn close(&mut self) {
        if !self.session.is_handshaking() {
            self.session.send_close_notify();
        }
        // Who does not take it will see the end all the same.
        let _ = self.flush();
    }

    /// Appends to `into` what has come, as far as it has room. Neither bytes nor more: the client
    /// has said its last.
    fn receive_new(&mut self, into: &mut Vec<u8>) -> Result<Moved, Fault> {
        let before = into.len();
        let moved = |into: &Vec<u8>, more| Ok(Moved { bytes: into.len() - before, more });
        for _ in 0..EMPTY_READS {
            if !self.take_text(into) {
                return moved(into, false);
            }
            let room = into.capacity() - into.len();
            if room == 0 {
                return moved(into, true);
            }
            let received = if self.session.is_handshaking() {
                self.read_some()
            } else {
                self.read_much(room.clamp(AT_LEAST, AT_ONCE), into)
            };
            let read = match received {
                // What TLS itself says of such an end is found by the next look at its text.
                Ok(Moved { bytes: 0, .. }) => return moved(into, into.len() > before),
                Ok(read) => read,
                Err(Fault::Socket(Errno::AGAIN)) if into.len() > before => return moved(into, false),
                Err(fault) => return Err(fault),
            };
            // A socket that takes nothing takes it when there is room.
            self.flush().map_err(Fault::Socket)?;
            // The socket had no more, and all that it had has found room.
            if !read.more && into.len() > before && into.len() < into.capacity() {
                return moved(into, false);
            }
        }
        moved(into, true)
    }

    /// Appends to `into` the text that is here, as far as it has room; false: that was the last.
    fn take_text(&mut self, into: &mut Vec<u8>) -> bool {
        loop {
            let room = into.capacity() - into.len();
            if room == 0 {
                return true;
            }
            let mut reader = self.session.reader();
            let plain = match reader.fill_buf() {
                Ok([]) => return false, // the client has closed in order
                Ok(plain) => plain,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                Err(_) => return false, // or without a word
            };
            let taken = room.min(plain.len());
            into.extend_from_slice(&plain[..taken]);
            reader.consume(taken);
        }
    }

    /// Reads what TLS asks for.
    fn read_some(&mut self) -> Result<Moved, Fault> {
        let mut arriving = Arriving { socket: &self.socket, inbound: &mut self.inbound };
        let bytes = self
            .session
            .read_tls(&mut arriving)
            .map_err(|error| Fault::Socket(Errno::from_io_error(&error).unwrap_or(Errno::IO)))?;
        self.session.process_new_packets().map_err(Fault::Tls)?;
        Ok(Moved { bytes, more: true })
    }

    /// Reads up to so many bytes by one call, and appends their text to `into`, as far as it has
    /// room. Where that is as many bytes, no more text is left over than a record has that had
    /// begun to come: as much as the session keeps.
    fn read_much(&mut self, most: usize, into: &mut Vec<u8>) -> Result<Moved, Fault> {
        let mut space = [MaybeUninit::uninit(); AT_ONCE];
        let ((new, _), bytes) = loop {
            match recv(&self.socket, &mut space[..most], RecvFlags::DONTWAIT) {
                Err(Errno::INTR) => {}
                received => break received.map_err(Fault::Socket)?,
            }
        };
        let mut rest = &*new;
        self.inbound.count(rest);
        while !rest.is_empty() {
            let fed = self.session.read_tls(&mut rest).map_err(|_| Fault::Socket(Errno::PROTO))?;
            if fed == 0 {
                break; // behind its last word nothing counts
            }
            self.session.process_new_packets().map_err(Fault::Tls)?;
            if !self.take_text(into) {
                break;
            }
        }
        Ok(Moved { bytes, more: bytes == most })
    }

    /// Has the client read the alert: what it has sent and we have not read would take the place
    /// of it.
    fn broken(&mut self, broken: Fault) -> Errno {
        let error = match broken {
            Fault::Socket(errno) => return errno,
            Fault::Tls(error) => error,
        };
        self.fault = Some(error.to_string());
        let _ = self.flush();
        let _ = shutdown(&self.socket, Shutdown::Write);
        let mut drained = [0; 4096];
        for _ in 0..DRAINED / drained.len() {
            match recv(&self.socket, &mut drained[..], RecvFlags::DONTWAIT) {
                Ok((bytes, _)) if bytes > 0 => {}
                _ => break,
            }
        }
        Errno::PROTO
    }
}

impl AsFd for Tls {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

enum Fault {
    Socket(Errno),
    Tls(rustls::Error),
}

/// What has come of records.
#[derive(Debug, Default)]
struct Inbound {
    records: Records,
    /// All that has come.
    bytes: usize,
}

impl Inbound {
    fn count(&mut self, new: &[u8]) {
        self.records.take(new);
        self.bytes = self.bytes.saturating_add(new.len());
    }
}

/// A socket as TLS reads it.
struct Arriving<'a> {
    socket: &'a OwnedFd,
    inbound: &'a mut Inbound,
}

/// A socket as TLS writes it.
struct Outbound<'a>(&'a OwnedFd);

impl Read for Arriving<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let (bytes, _) = retry_on_intr(|| recv(self.socket, &mut *into, RecvFlags::DONTWAIT))?;
        self.inbound.count(&into[..bytes]);
        Ok(bytes)
    }
}

impl Write for Outbound<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut control = SendAncillaryBuffer::default();
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        Ok(retry_on_intr(|| sendmsg(self.0, pieces, &mut control, flags))?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
