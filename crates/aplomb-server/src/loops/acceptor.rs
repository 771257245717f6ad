//! The thread that takes connections in and deals them out.
//!
//! One acceptor rather than a listening socket a shard: clients keep few, long connections, and the
//! kernel's hash would put them unevenly. Each goes to the shard that has the fewest.
//!
//! What always holds: at `max.connections`, of all or of a listener, the acceptor leaves new
//! connections in the system's queue, and without descriptors it tries again a little later. Those
//! that come too fast wait there too; those of an address that makes too many are held and closed.

use std::collections::VecDeque;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use aplomb_broker::ports::Session;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{SocketFlags, acceptfrom_with, sockopt};

use super::mail::Mail;
use super::poll::{Events, Poll};
use crate::clock;
use crate::log::Log;
use crate::mail::{Outbox, Waker};
use crate::net::{AcceptRates, Accepted, Connections, Listener, NetConfig, Tls, TooMany, Transport};

/// How soon the acceptor tries again when it has no descriptor left, or a shard's mailbox is full.
const RETRY: Duration = Duration::from_millis(50);

/// What an acceptor is made of.
pub(crate) struct AcceptorParts {
    pub(crate) listeners: Vec<Listener>,
    pub(crate) net: NetConfig,
    pub(crate) connections: Arc<Connections>,
    pub(crate) outbox: Outbox<Mail>,
    pub(crate) waker: Arc<Waker>,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) log: Log,
}

/// The acceptor's loop.
pub(crate) struct Acceptor {
    parts: AcceptorParts,
    poll: Poll,
    /// Listeners that may have a client for us.
    pending: VecDeque<usize>,
    rates: AcceptRates,
    /// The last failure, so that it is logged once and not twenty times a second.
    failing: Option<Errno>,
}

/// What came of an attempt to accept.
enum Attempt {
    Accepted,
    Empty,
    Failed,
}

impl Acceptor {
    /// Sets the listeners' options. Fails if a listener cannot be watched.
    pub(crate) fn new(parts: AcceptorParts) -> std::io::Result<Self> {
        let poll = Poll::new(Arc::clone(&parts.waker))?;
        for (index, listener) in parts.listeners.iter().enumerate() {
            // Accepted sockets inherit these; the receive buffer decides on the window, which is
            // agreed on at the start.
            if let Some(bytes) = parts.net.receive_buffer {
                sockopt::set_socket_recv_buffer_size(&listener.socket, bytes)?;
            }
            if let Some(bytes) = parts.net.send_buffer {
                sockopt::set_socket_send_buffer_size(&listener.socket, bytes)?;
            }
            listener.socket.set_nonblocking(true)?;
            poll.watch(&listener.socket, index as u64, EventFlags::IN)?;
        }
        let pending = (0..parts.listeners.len()).collect();
        let rates = AcceptRates::new(parts.net.rate_windows);
        Ok(Self { parts, poll, pending, rates, failing: None })
    }

    /// Accepts until it is told to stop. The listeners close with it.
    pub(crate) fn run(mut self) {
        let mut events = Events::new(self.parts.listeners.len() + 1);
        while !self.parts.stop.load(Ordering::SeqCst) {
            self.parts.outbox.retry();
            self.parts.connections.take_rates().into_iter().for_each(|rates| self.rates.set(rates));
            self.rates.close_held(clock::instant());
            let failed = self.accept_all();
            self.parts.outbox.wake();
            self.wait(&mut events, failed);
        }
    }

    /// Accepts as long as there is room. True if that failed.
    fn accept_all(&mut self) -> bool {
        while !self.parts.outbox.is_congested() {
            let Some(next) = self.next_open() else { break };
            let index = self.pending[next];
            match self.accept(index) {
                // Listeners take turns.
                Attempt::Accepted => {
                    self.pending.remove(next);
                    self.pending.push_back(index);
                }
                Attempt::Empty => drop(self.pending.remove(next)),
                Attempt::Failed => return true,
            }
        }
        false
    }

    /// The first of the pending listeners that may have another connection.
    fn next_open(&self) -> Option<usize> {
        let (now, connections) = (clock::instant(), &self.parts.connections);
        if self.pending.is_empty() || !self.rates.may_accept(now) || !connections.has_room() {
            return None;
        }
        self.pending.iter().position(|index| {
            let name = &self.parts.listeners[*index].name;
            self.rates.may_accept_at(name, now) && connections.has_room_at(name)
        })
    }

    fn wait(&mut self, events: &mut Events, failed: bool) {
        let congested_since = self.parts.outbox.is_congested().then(clock::instant);
        let retry = (failed || congested_since.is_some()).then_some(RETRY);
        let (stop, connections) = (&self.parts.stop, &self.parts.connections);
        let patience = retry.into_iter().chain(self.rates.patience(clock::instant())).min();
        self.poll.wait(events, patience, || {
            stop.load(Ordering::SeqCst) || retry.is_none() && self.next_open().is_some()
        });
        if let Some(since) = congested_since {
            let waited = clock::instant().since(since).as_nanos();
            connections.on_congested(u64::try_from(waited).unwrap_or(u64::MAX));
        }
        for (number, _) in events.take() {
            let index = usize::try_from(number).expect("listeners are few");
            if !self.pending.contains(&index) {
                self.pending.push_back(index);
            }
        }
    }

    fn accept(&mut self, index: usize) -> Attempt {
        let listener = &self.parts.listeners[index];
        match accept_from(&listener.socket) {
            Ok((socket, peer)) => {
                self.failing = None;
                self.deal_out(socket, peer, index);
                Attempt::Accepted
            }
            Err(Errno::AGAIN) => Attempt::Empty,
            // The client has gone before we came.
            Err(Errno::INTR | Errno::CONNABORTED | Errno::PROTO | Errno::PERM) => Attempt::Accepted,
            Err(errno) => {
                if self.failing.replace(errno) != Some(errno) {
                    self.parts
                        .log
                        .warn("server/net", format!("connections cannot be accepted for now: {errno}"));
                }
                Attempt::Failed
            }
        }
    }

    fn deal_out(&mut self, socket: OwnedFd, peer: SocketAddr, index: usize) {
        let listener = &self.parts.listeners[index];
        let session = Session::anonymous(peer.ip(), Arc::clone(&listener.name), listener.protocol);
        if let Err(until) = self.rates.admit(&session.listener, session.peer, clock::instant()) {
            self.parts.connections.on_throttled();
            return self.rates.hold(socket, until);
        }
        let (permit, shard) = match self.parts.connections.admit(&session.listener, session.peer) {
            Ok(admitted) => admitted,
            Err(TooMany { limit }) => {
                let peer = session.peer;
                let text = format!("refused a connection of {peer}: it has {limit} (max.connections.per.ip)");
                self.parts.log.info("server/net", text);
                return;
            }
        };
        // Replies are written whole: waiting to join small ones only delays them. A socket that
        // refuses has lost its client.
        let _ = sockopt::set_tcp_nodelay(&socket, true);
        let transport = match &self.parts.listeners[index].gate {
            None => Transport::Plain(socket),
            Some(gate) => match Tls::new(socket, gate) {
                Ok(tls) => Transport::Tls(Box::new(tls)),
                Err(error) => {
                    let text = format!("refused a connection of {}: TLS cannot begin: {error}", session.peer);
                    return self.parts.log.warn("server/net", text);
                }
            },
        };
        let accepted = Accepted { transport, session: Arc::new(session), permit };
        self.parts.outbox.send(shard, Mail::Connection(Box::new(accepted)));
    }
}

fn accept_from(listener: &TcpListener) -> Result<(OwnedFd, SocketAddr), Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (socket, peer) = acceptfrom_with(listener, flags)?;
    let peer = peer.and_then(|peer| SocketAddr::try_from(peer).ok()).ok_or(Errno::CONNABORTED)?;
    Ok((socket, peer))
}
