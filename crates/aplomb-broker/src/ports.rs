//! What comes into a shard from its connections, and what goes back. Values only: the server turns
//! them into sockets and mailboxes, the simulator into a script.
//!
//! A **shard** is one event loop's worth of partitions, connections and timers. A request is
//! decoded where its connection lives; each partition's part runs on the shard that owns the
//! partition.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use aplomb_disk_api::DiskIndex;
use aplomb_model::{Instant, Timestamp};
pub use aplomb_protocol::ErrorTally;
pub use aplomb_protocol::frame::{FrameCutter, FrameError, peek};
use bytes::{Bytes, BytesMut};

use crate::config::SecurityProtocol;
use crate::security::Who;

/// A shard's number, from 0. Shard 0 also carries the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShardId(pub u16);

/// A connection, for as long as the process lives: numbers are not used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId {
    /// Where its socket is served.
    pub shard: ShardId,
    /// Its number there.
    pub number: u64,
}

/// A request's place in its connection. Replies go out in the order of `sequence`, whatever order
/// they are made in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId {
    /// The connection that the request came by.
    pub connection: ConnectionId,
    /// Counts the requests of the connection, from 0.
    pub sequence: u64,
}

/// Both clocks, read once for each turn of the loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// The monotonic clock, for deadlines.
    pub instant: Instant,
    /// The wall clock, for records.
    pub wall: Timestamp,
}

/// Who a client is to ACLs and quotas: `User:alice`, kept as that text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Principal(Cow<'static, str>);

/// The only type of principals.
const USER: &str = "User:";

impl Principal {
    /// A client that did not say, or could not: every client of a PLAINTEXT listener.
    pub const ANONYMOUS: Self = Self(Cow::Borrowed("User:ANONYMOUS"));

    /// A user who has shown who it is.
    #[must_use]
    pub fn user(name: impl fmt::Display) -> Self {
        Self(Cow::Owned(format!("{USER}{name}")))
    }

    /// The user's name, without the type.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.strip_prefix(USER).expect("every principal is a user")
    }

    /// With the type.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The other end of a connection. Made once and shared by its requests, each of which keeps the one
/// that it was framed under: a client that authenticates anew gets another.
#[derive(Debug, PartialEq, Eq)]
pub struct Session {
    /// The client's address; IPv4 also where it came in by an IPv6 socket.
    pub peer: IpAddr,
    /// The same as Apache Kafka shows it, to coordinators for instance: `/192.0.2.1`.
    pub host: Arc<str>,
    /// The name of the listener that the connection came in by.
    pub listener: Arc<str>,
    /// How bytes travel on that listener.
    pub protocol: SecurityProtocol,
    /// Whose rights and quotas count.
    pub principal: Principal,
    /// Whether that was shown by a delegation token, which is no ground for another.
    pub by_token: bool,
}

impl Session {
    /// A client that has not authenticated.
    #[must_use]
    pub fn anonymous(peer: IpAddr, listener: Arc<str>, protocol: SecurityProtocol) -> Self {
        let peer = peer.to_canonical();
        let host = format!("/{}", java_address(peer)).into();
        Self { peer, host, listener, protocol, principal: Principal::ANONYMOUS, by_token: false }
    }

    /// Who decides whether it may do something is told this.
    #[must_use]
    pub fn who(&self) -> Who<'_> {
        let host = self.host.strip_prefix('/').unwrap_or(&self.host);
        Who { principal: self.principal.as_str(), host, peer: self.peer }
    }

    /// The same client, now that it has shown who it is.
    #[must_use]
    pub fn of(&self, principal: Principal) -> Self {
        let (host, listener) = (Arc::clone(&self.host), Arc::clone(&self.listener));
        Self { peer: self.peer, host, listener, protocol: self.protocol, principal, by_token: false }
    }
}

/// An address as Java writes it: the eight groups of an IPv6 address are all there.
#[must_use]
pub fn java_address(peer: IpAddr) -> String {
    match peer {
        IpAddr::V4(peer) => peer.to_string(),
        IpAddr::V6(peer) => peer.segments().map(|group| format!("{group:x}")).join(":"),
    }
}

/// One frame from a client.
#[derive(Clone, Debug)]
pub struct Request {
    /// Its place.
    pub id: RequestId,
    /// The frame behind the length: request header and body.
    pub frame: Bytes,
    /// Who asks.
    pub session: Arc<Session>,
    /// How long the loop was busy with its connection since the request before this one.
    pub spent: Duration,
}

/// What a request has to wait for that is not done at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitedFor {
    /// Room in a disk's share of the tail, or memory for what it reads.
    Memory(DiskIndex),
    /// A disk: a sync that was promised, or records that only it has.
    Disk(DiskIndex),
    /// The controller: a decision that is to be durable and applied everywhere.
    Controller,
    /// The coordinator of a group or of a transaction.
    Coordinator,
    /// Partitions on other shards.
    Shard,
    /// Its own turns: a batch that stands for much is validated in slices.
    Work,
}

/// What a request has waited for, on the shard where it was answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waited {
    /// The longest wait of a part of it, and how long that was.
    pub longest: Option<(WaitedFor, Duration)>,
    /// For how long it did what its client had asked for: to wait for records, or for others of its
    /// group.
    pub idle: Duration,
}

/// What becomes of a request.
#[derive(Clone, Debug)]
pub enum Reply {
    /// These bytes, in order: length, header, body. Record bytes among them are slices of the tail
    /// and are written as they are.
    Frame {
        /// The pieces.
        parts: Vec<Bytes>,
        /// How many of their bytes have a budget of their own: records, which are the tail's or
        /// lent by a disk's budget for readers.
        lent: usize,
        /// The error codes in them.
        errors: ErrorTally,
        /// For how long, from when the reply is made, no further request of the connection is taken
        /// up: the client has exceeded a quota, and is told the same time in the reply.
        throttle: Duration,
        /// Where in the bytes of all pieces it is told: four of them, in one piece, milliseconds.
        throttle_at: Option<usize>,
        /// For the flight recorder.
        waited: Waited,
    },
    /// Nothing is answered (produce with acks=0).
    Nothing {
        /// As for [`Self::Frame`], but that the client is not told.
        throttle: Duration,
        /// As for [`Self::Frame`].
        waited: Waited,
    },
    /// The connection is closed, after the replies before this one have gone out.
    Close {
        /// For the log.
        reason: CloseReason,
    },
}

impl Reply {
    /// A response of these pieces, of which none has a budget of its own.
    pub(crate) fn of(parts: Vec<Bytes>, errors: ErrorTally, throttle_at: Option<usize>) -> Self {
        Self::Frame {
            parts,
            lent: 0,
            errors,
            throttle: Duration::ZERO,
            throttle_at,
            waited: Waited::default(),
        }
    }

    /// Throttles the client, and tells it.
    pub(crate) fn set_throttle(&mut self, time: Duration) {
        match self {
            Self::Frame { parts, throttle, throttle_at, .. } => {
                *throttle = time;
                let Some(mut at) = *throttle_at else { return };
                let has_it = |part: &&mut Bytes| {
                    let is_here = at < part.len();
                    at -= if is_here { 0 } else { part.len() };
                    is_here
                };
                if let Some(part) = parts.iter_mut().find(has_it) {
                    let millis = i32::try_from(time.as_millis()).unwrap_or(i32::MAX);
                    // The pieces of a response can be of one allocation.
                    let mut bytes = std::mem::take(part)
                        .try_into_mut()
                        .unwrap_or_else(|shared| BytesMut::from(&shared[..]));
                    bytes[at..at + 4].copy_from_slice(&millis.to_be_bytes());
                    *part = bytes.freeze();
                }
            }
            Self::Nothing { throttle, .. } => *throttle = time,
            Self::Close { .. } => {}
        }
    }

    /// Says what the request has waited for.
    pub(crate) fn set_waited(&mut self, time: Waited) {
        match self {
            Self::Frame { waited, .. } | Self::Nothing { waited, .. } => *waited = time,
            Self::Close { .. } => {}
        }
    }

    /// What the request has waited for.
    #[must_use]
    pub fn waited(&self) -> Waited {
        match self {
            Self::Frame { waited, .. } | Self::Nothing { waited, .. } => *waited,
            Self::Close { .. } => Waited::default(),
        }
    }

    /// For how long no further request of the connection is taken up.
    #[must_use]
    pub fn throttle(&self) -> Duration {
        match self {
            Self::Frame { throttle, .. } | Self::Nothing { throttle, .. } => *throttle,
            Self::Close { .. } => Duration::ZERO,
        }
    }
}

/// Why a connection is closed by us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// The frame could not be read as a request.
    Malformed(String),
    /// An API or a version that we do not offer.
    Unsupported {
        /// The API key.
        api_key: i16,
        /// The version.
        version: i16,
    },
    /// A produce request with acks=0 failed: closing is the only way to say so.
    ProduceFailed,
    /// The client did not authenticate.
    Unauthenticated(String),
}

/// Draws random bytes.
pub type Chance = Box<dyn FnMut() -> [u8; 16] + Send>;

/// How grave an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Normal, rare, worth knowing.
    Info,
    /// Something that an operator may have to look at.
    Warn,
    /// Something broke.
    Error,
}

/// A line for the log: what happened, in lower case, with its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// How grave.
    pub severity: Severity,
    /// The room that it happened in, `broker/produce`.
    pub room: &'static str,
    /// What happened.
    pub text: String,
}

/// How long a line of the log keeps others of its kind out.
const PAUSE: Duration = Duration::from_secs(10);

/// Keeps a kind of line that clients can cause as often as they like from filling the log.
#[derive(Debug, Default)]
pub struct Throttle {
    next: Option<Instant>,
    left_out: u64,
}

impl Throttle {
    /// The line, if it is time for one, with how many were left out since the last.
    pub fn admit(&mut self, now: Instant, text: String) -> Option<String> {
        if self.next.is_some_and(|next| now < next) {
            self.left_out += 1;
            return None;
        }
        self.next = Some(now + PAUSE);
        Some(match std::mem::take(&mut self.left_out) {
            0 => text,
            more => format!("{text} (and {more} times since the last such line)"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_of_line_comes_now_and_then_and_says_what_was_left_out() {
        let mut throttle = Throttle::default();
        let at = |seconds| Instant::START + Duration::from_secs(seconds);
        let mut admit = |seconds| throttle.admit(at(seconds), "full".to_owned());
        assert_eq!(admit(1).as_deref(), Some("full"));
        assert_eq!((admit(2), admit(10)), (None, None));
        assert_eq!(admit(11).as_deref(), Some("full (and 2 times since the last such line)"));
        assert_eq!(admit(30).as_deref(), Some("full"));
    }

    #[test]
    fn a_client_of_a_plaintext_listener_is_the_user_that_java_calls_anonymous() {
        let peer = "::ffff:10.0.0.1".parse().expect("an address");
        let session = Session::anonymous(peer, "INSIDE".into(), SecurityProtocol::Plaintext);
        assert_eq!(session.principal.to_string(), "User:ANONYMOUS");
        assert_eq!(session.peer.to_string(), "10.0.0.1");
        assert_eq!(session.who().host, "10.0.0.1");
        let peer = "2001:db8::5".parse().expect("an address");
        let session = Session::anonymous(peer, "INSIDE".into(), SecurityProtocol::Plaintext);
        assert_eq!(&*session.host, "/2001:db8:0:0:0:0:0:5");
    }
}
