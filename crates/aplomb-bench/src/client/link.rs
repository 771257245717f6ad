//! A broker that a client knows, and the connection to it.
//!
//! What always holds: a link whose connection breaks stays down for a while, and gives back what
//! was asked on it.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::os::fd::BorrowedFd;
use std::time::Duration;

use aplomb_model::Instant;
use aplomb_protocol::Request;
use aplomb_protocol::frame::encode_request;

use crate::connection::{Came, Connection};
use crate::consumer::OffsetsOf;
use crate::entry::Entry;
use crate::producer::Sent;
use crate::versions::{FIRST_ASKED, Versions, malformed, versions_request};

/// Bytes that one read asks for.
const READ_SIZE: usize = 256 * 1024;

/// What is remembered of a request until its answer: the version, and whatever its sender needs.
#[derive(Debug)]
pub(super) enum Asked {
    Versions,
    Metadata(i16),
    ProducerId(i16),
    Produce(i16, Vec<Sent>),
    Offsets(i16, OffsetsOf),
    /// When the fetch was due.
    Fetch(i16, Instant),
}

/// Has a new socket watched under its link's number.
pub(crate) trait Watch {
    /// The socket is open; `link` is its number among the client's.
    fn watch(&mut self, socket: BorrowedFd<'_>, link: usize) -> io::Result<()>;
}

/// A broker, and the connection to it if there is one.
#[derive(Debug)]
pub(super) struct Link {
    /// `None`: a broker to begin with, for metadata only.
    broker: Option<i32>,
    address: String,
    resolved: Option<SocketAddr>,
    state: LinkState,
}

#[derive(Debug)]
enum LinkState {
    Down {
        until: Instant,
    },
    Up {
        connection: Box<Connection<Asked>>,
        /// Not known before the first answer.
        versions: Option<Versions>,
    },
}

/// A link on which requests can be sent.
pub(super) struct OpenLink<'a> {
    pub(super) broker: Option<i32>,
    pub(super) versions: &'a Versions,
    connection: &'a mut Connection<Asked>,
    entry: &'a Entry,
}

impl Link {
    pub(super) fn new(broker: Option<i32>, address: String) -> Self {
        Self { broker, address, resolved: None, state: LinkState::Down { until: Instant::START } }
    }

    pub(super) fn broker(&self) -> Option<i32> {
        self.broker
    }

    pub(super) fn is_at(&self, address: &str) -> bool {
        self.address == address
    }

    /// The next connection goes to `address`, which is resolved anew.
    pub(super) fn move_to(&mut self, address: &str) {
        address.clone_into(&mut self.address);
        self.resolved = None;
    }

    pub(super) fn is_up(&self) -> bool {
        matches!(self.state, LinkState::Up { .. })
    }

    /// Whether requests can be sent.
    pub(super) fn is_ready(&self) -> bool {
        matches!(self.state, LinkState::Up { versions: Some(_), .. })
    }

    /// Whether nothing is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.in_flight().is_none_or(|in_flight| in_flight == 0)
    }

    /// Requests that are under way; `None` if there is no connection.
    pub(super) fn in_flight(&self) -> Option<usize> {
        match &self.state {
            LinkState::Up { connection, .. } => Some(connection.in_flight()),
            LinkState::Down { .. } => None,
        }
    }

    /// Whether a connection may be tried.
    pub(super) fn may_open(&self, now: Instant) -> bool {
        matches!(self.state, LinkState::Down { until } if until <= now)
    }

    /// Whether the oldest request has waited for `timeout`.
    pub(super) fn is_overdue(&self, timeout: Duration, now: Instant) -> bool {
        let LinkState::Up { connection, .. } = &self.state else { return false };
        connection.oldest().is_some_and(|sent| now.since(sent) >= timeout)
    }

    /// When something changes by time alone.
    pub(super) fn wake_at(&self, timeout: Duration, now: Instant) -> Option<Instant> {
        match &self.state {
            // What lies in the past has been tried, and waits for something else to happen.
            LinkState::Down { until } => Some(*until).filter(|until| *until > now),
            LinkState::Up { connection, .. } => connection.oldest().map(|sent| sent + timeout),
        }
    }

    /// Begins to connect, as link number `number`.
    pub(super) fn open(
        &mut self,
        number: usize,
        entry: &Entry,
        watch: &mut dyn Watch,
        now: Instant,
    ) -> io::Result<()> {
        let address = match self.resolved {
            Some(address) => address,
            None => self.address.to_socket_addrs()?.next().ok_or(io::ErrorKind::NotFound)?,
        };
        self.resolved = Some(address);
        let mut connection = Box::new(Connection::open(&self.address, address, entry, READ_SIZE)?);
        watch.watch(connection.fd(), number)?;
        let frame =
            encode_request(&versions_request(), FIRST_ASKED, connection.correlation(), &entry.client_id);
        connection.send(frame.map_err(malformed)?, Asked::Versions, true, now);
        connection.flush()?;
        self.state = LinkState::Up { connection, versions: None };
        Ok(())
    }

    /// The broker has said what it speaks.
    pub(super) fn learn(&mut self, learned: Versions) {
        if let LinkState::Up { versions, .. } = &mut self.state {
            *versions = Some(learned);
        }
    }

    /// To send requests, if that is possible.
    pub(super) fn ready<'a>(&'a mut self, entry: &'a Entry) -> Option<OpenLink<'a>> {
        match &mut self.state {
            LinkState::Up { connection, versions: Some(versions) } => {
                Some(OpenLink { broker: self.broker, versions, connection, entry })
            }
            LinkState::Up { .. } | LinkState::Down { .. } => None,
        }
    }

    /// Writes what is left, and reads what is there.
    pub(super) fn exchange(&mut self, now: Instant) -> io::Result<()> {
        let LinkState::Up { connection, .. } = &mut self.state else { return Ok(()) };
        connection.fill(now)?;
        connection.flush()
    }

    /// The next request that has come to its end.
    pub(super) fn next(&mut self) -> io::Result<Option<Came<Asked>>> {
        match &mut self.state {
            LinkState::Up { connection, .. } => connection.next(),
            LinkState::Down { .. } => Ok(None),
        }
    }

    /// Ends the connection. Returns the requests without an answer.
    pub(super) fn take_down(&mut self, until: Instant) -> impl Iterator<Item = Asked> + use<> {
        let connection = match std::mem::replace(&mut self.state, LinkState::Down { until }) {
            LinkState::Up { connection, .. } => Some(connection),
            LinkState::Down { .. } => None,
        };
        connection.into_iter().flat_map(|connection| connection.into_waiting())
    }
}

impl OpenLink<'_> {
    pub(super) fn in_flight(&self) -> usize {
        self.connection.in_flight()
    }

    /// Queues a request; [`Self::flush`] sends it. `answered`: whether an answer comes.
    pub(super) fn send<T: Request>(
        &mut self,
        request: &T,
        version: i16,
        asked: Asked,
        answered: bool,
        now: Instant,
    ) -> io::Result<()> {
        self.connection.renew_login(self.entry, now)?;
        let frame = encode_request(request, version, self.connection.correlation(), &self.entry.client_id);
        self.connection.send(frame.map_err(malformed)?, asked, answered, now);
        Ok(())
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.connection.flush()
    }
}
