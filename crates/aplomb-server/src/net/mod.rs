//! Listeners and connections.
//!
//! What always holds: nothing that a client sends or leaves undone makes another client wait or
//! memory grow without bound. Bytes become frames in [`frames`] under the bound of [`FrameBudget`];
//! replies leave through [`replies`]; both by a [`transport`]. Who has not shown who it is counts
//! among [`strangers`]. A connection's state machine is
//! [`connection`]; how many connections there may be is in [`limits`].

mod budget;
pub(crate) mod connection;
mod debt;
mod end;
mod entrance;
mod frames;
mod limits;
mod lists;
mod low_water;
mod moved;
mod pace;
mod rates;
mod records;
mod replies;
mod strangers;
mod taking;
mod tls;
mod transport;

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use aplomb_broker::config::SecurityProtocol;
use aplomb_broker::ports::Session;
use aplomb_broker::quotas::Windows;
pub(crate) use budget::FrameBudget;
#[cfg(test)]
pub(crate) use budget::Want;
pub(crate) use debt::ReplyBudget;
pub(crate) use end::End;
pub(crate) use entrance::{Admission, Doorkeeper};
pub use entrance::{Entrance, GssQueues, JwksCaches};
#[cfg(test)]
pub(crate) use frames::OVERHEAD;
pub(crate) use frames::{ReadContext, SCRATCH};
pub use limits::ConnectionLimits;
pub(crate) use limits::{Connections, Permit, TooMany};
pub(crate) use rates::AcceptRates;
#[cfg(test)]
pub(crate) use replies::PIECE_BYTES;
pub(crate) use strangers::Overstay;
pub(crate) use taking::Slowness;
pub(crate) use tls::Tls;
pub(crate) use transport::Transport;

use crate::security::Gate;

/// A socket that listens, bound already.
#[derive(Debug)]
pub struct Listener {
    /// The listener's name (`PLAINTEXT`), as the broker knows it.
    pub name: Arc<str>,
    /// How bytes travel on it.
    pub protocol: SecurityProtocol,
    /// Its TLS, if the protocol has some.
    pub gate: Option<Arc<Gate>>,
    /// Not blocking from [`crate::Server::start`] on.
    pub socket: TcpListener,
}

/// How connections are treated.
#[derive(Clone, Debug)]
pub struct NetConfig {
    /// The largest frame, in bytes (`socket.request.max.bytes`).
    pub max_frame: usize,
    /// The bound on memory for frames in flight over all shards, in bytes.
    pub max_frames: usize,
    /// A frame that arrives more slowly than so many bytes a second goes when others wait for
    /// memory (`aplomb.frames.min.rate`); 0: none does.
    pub min_frame_rate: u64,
    /// The bound on memory for replies that clients have not taken, over all shards, in bytes.
    pub max_replies: usize,
    /// What clients have to pass before they may ask.
    pub entrance: Entrance,
    /// How many connections there may be.
    pub connections: ConnectionLimits,
    /// What their rates are measured over.
    pub rate_windows: Windows,
    /// A connection that has moved no byte for so long is closed (`connections.max.idle.ms`);
    /// `None`: never.
    pub max_idle: Option<Duration>,
    /// `SO_SNDBUF` in bytes (`socket.send.buffer.bytes`); `None`: the system's choice.
    pub send_buffer: Option<usize>,
    /// `SO_RCVBUF` in bytes (`socket.receive.buffer.bytes`); `None`: the system's choice.
    pub receive_buffer: Option<usize>,
}

/// A connection on its way from the acceptor to its shard.
#[derive(Debug)]
pub(crate) struct Accepted {
    pub(crate) transport: Transport,
    pub(crate) session: Arc<Session>,
    pub(crate) permit: Permit,
}
