//! One connection that never waits: bytes go out as far as the socket takes them, frames come in as
//! far as they are there, in TLS and behind a login where that is asked for.
//!
//! What always holds: answers come in the order of the requests, which is how Kafka's brokers
//! answer on one connection; each request carries what its sender wants to remember (`T`), and gets
//! it back with the answer or with the loss of the connection.

use std::collections::VecDeque;
use std::io::{self, IoSlice, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};

use aplomb_model::Instant;
use aplomb_protocol::frame::FrameCutter;
use aplomb_security::client::{Channel, LARGEST_ANSWER};
use bytes::Bytes;
use rustix::net::{AddressFamily, SocketFlags, SocketType};

use crate::door::{Door, Knock};
use crate::entry::Entry;
use crate::versions::malformed;

/// The largest response that is believed, in bytes.
const LARGEST_FRAME: usize = 512 * 1024 * 1024;
/// Frames that one write hands over at most.
const SLICES: usize = 16;
/// And bytes: a kernel gives the processor to no other thread in the middle of a call. A client
/// with batches of 1 MB kept one for 7.5 ms.
const CALL: usize = 256 * 1024;

/// A connection and what was asked on it.
#[derive(Debug)]
pub(crate) struct Connection<T> {
    channel: Channel<TcpStream>,
    address: String,
    door: Option<Door>,
    cutter: FrameCutter,
    buffer: Vec<u8>,
    /// Responses that have arrived, oldest first.
    frames: VecDeque<Bytes>,
    out: VecDeque<Outgoing>,
    /// Bytes that were handed to [`Self::send`], and how many of them the socket took.
    queued: u64,
    written: u64,
    waiting: VecDeque<Waiting<T>>,
    next_correlation: i32,
}

/// A frame that is to be sent.
#[derive(Debug)]
struct Outgoing {
    bytes: Bytes,
    /// It is of a login, and no request of the client.
    is_login: bool,
}

/// A request without an answer.
#[derive(Debug)]
struct Waiting<T> {
    correlation: i32,
    sent_at: Instant,
    /// The bytes written when it is all out.
    ends: u64,
    answered: bool,
    what: T,
}

/// What came of one request.
#[derive(Debug)]
pub(crate) enum Came<T> {
    /// The response without its length and correlation id.
    Answer(T, Bytes),
    /// The request is all out, and no response will come.
    Sent(T),
}

impl<T> Connection<T> {
    /// Begins to connect to `address` (`host:port`), which is `to`. The socket reports that it can
    /// be written when that is done. One read asks for `read_size` bytes.
    pub(crate) fn open(address: &str, to: SocketAddr, entry: &Entry, read_size: usize) -> io::Result<Self> {
        let (door, first) = Door::closed(entry, address)?.unzip();
        let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
        match rustix::net::connect(&socket, &to) {
            Ok(()) | Err(rustix::io::Errno::INPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        let socket = TcpStream::from(socket);
        socket.set_nodelay(true)?;
        let limit = if door.is_some() { LARGEST_ANSWER } else { LARGEST_FRAME };
        Ok(Self {
            channel: entry.channel(socket, address)?,
            address: address.to_owned(),
            door,
            cutter: FrameCutter::new(limit),
            buffer: vec![0; read_size],
            frames: VecDeque::new(),
            out: first.into_iter().map(|bytes| Outgoing { bytes, is_login: true }).collect(),
            queued: 0,
            written: 0,
            waiting: VecDeque::new(),
            next_correlation: 0,
        })
    }

    /// For the poll.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.channel.socket().as_fd()
    }

    /// The number for the next request.
    pub(crate) fn correlation(&self) -> i32 {
        self.next_correlation
    }

    /// Logs in again if it is time to; what is queued from then on goes behind it.
    pub(crate) fn renew_login(&mut self, entry: &Entry, now: Instant) -> io::Result<()> {
        let Some(door) = self.door.as_mut().filter(|door| door.is_due(now)) else { return Ok(()) };
        if let Some((login, first)) = entry.login(&self.address)? {
            let asked = self.waiting.iter().filter(|waiting| waiting.answered).count();
            door.close(login, asked - self.frames.len());
            self.out.push_back(Outgoing { bytes: first, is_login: true });
        }
        Ok(())
    }

    /// Queues a frame made with [`Self::correlation`]; [`Self::flush`] sends it.
    pub(crate) fn send(&mut self, frame: Bytes, what: T, answered: bool, now: Instant) {
        self.queued += frame.len() as u64;
        match self.door.as_mut().filter(|door| door.is_closed()) {
            Some(door) => door.hold(frame),
            None => self.out.push_back(Outgoing { bytes: frame, is_login: false }),
        }
        let correlation = self.next_correlation;
        self.next_correlation = correlation.wrapping_add(1);
        self.waiting.push_back(Waiting { correlation, sent_at: now, ends: self.queued, answered, what });
    }

    /// Requests that have not been answered.
    pub(crate) fn in_flight(&self) -> usize {
        self.waiting.len()
    }

    /// When the oldest of them was queued.
    pub(crate) fn oldest(&self) -> Option<Instant> {
        self.waiting.front().map(|waiting| waiting.sent_at)
    }

    /// What the requests without an answer carried.
    pub(crate) fn into_waiting(self) -> impl Iterator<Item = T> {
        self.waiting.into_iter().map(|waiting| waiting.what)
    }

    /// Writes what the socket takes.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        while !self.out.is_empty() {
            let mut left = CALL;
            let slices = self.out.iter().take(SLICES).map_while(|frame| {
                let part = &frame.bytes[..frame.bytes.len().min(left)];
                left -= part.len();
                (!part.is_empty()).then(|| IoSlice::new(part))
            });
            let slices: Vec<IoSlice<'_>> = slices.collect();
            let mut taken = match self.channel.write_vectored(&slices) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(taken) => taken,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // Not connected yet looks like this too; the poll tells when that has changed.
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::NotConnected) =>
                {
                    return Ok(());
                }
                Err(error) => return Err(error),
            };
            while let Some(front) = self.out.front_mut() {
                let part = taken.min(front.bytes.len());
                taken -= part;
                let _ = front.bytes.split_to(part);
                if !front.is_login {
                    self.written += part as u64;
                }
                if !front.bytes.is_empty() {
                    break;
                }
                self.out.pop_front();
            }
        }
        match self.channel.flush() {
            Err(error)
                if !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::NotConnected) =>
            {
                Err(error)
            }
            _ => Ok(()),
        }
    }

    /// Reads what is there; [`Self::flush`] sends what that leads to. An end of the stream is an
    /// error.
    pub(crate) fn fill(&mut self, now: Instant) -> io::Result<()> {
        if let Some(error) = self.channel.socket().take_error()? {
            return Err(error);
        }
        loop {
            match self.channel.read(&mut self.buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(len) => {
                    self.cut(len, now)?;
                    if len < self.buffer.len() && !self.channel.reads_in_pieces() {
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::NotConnected) =>
                {
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes frames from what was read.
    fn cut(&mut self, len: usize, now: Instant) -> io::Result<()> {
        let mut bytes = &self.buffer[..len];
        while let Some(frame) = self.cutter.next_frame(&mut bytes).map_err(malformed)? {
            let Some(door) = self.door.as_mut().filter(|door| door.is_closed()) else {
                self.frames.push_back(frame.into());
                continue;
            };
            let own = |bytes| Outgoing { bytes, is_login: true };
            match door.on_frame(frame.into(), now)? {
                Knock::Other(frame) => self.frames.push_back(frame),
                Knock::Say(frame) => self.out.push_back(own(frame)),
                Knock::Open(held) => {
                    self.cutter.set_limit(LARGEST_FRAME);
                    self.out.extend(held.into_iter().map(|bytes| Outgoing { bytes, is_login: false }));
                }
            }
        }
        Ok(())
    }

    /// The next request that has come to its end.
    pub(crate) fn next(&mut self) -> io::Result<Option<Came<T>>> {
        let Some(first) = self.waiting.front() else { return Ok(None) };
        if !first.answered {
            if self.written < first.ends || self.channel.has_unsent() {
                return Ok(None);
            }
            return Ok(self.waiting.pop_front().map(|first| Came::Sent(first.what)));
        }
        let Some(frame) = self.frames.pop_front() else { return Ok(None) };
        let number = frame.first_chunk().map(|raw| i32::from_be_bytes(*raw));
        if number != Some(first.correlation) {
            return Err(malformed("an answer to another request"));
        }
        let first = self.waiting.pop_front().expect("it was looked at above");
        Ok(Some(Came::Answer(first.what, frame.slice(4..))))
    }
}
