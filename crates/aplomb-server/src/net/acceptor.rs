//! The thread that takes connections in and deals them out.
//!
//! One acceptor rather than a listening socket a shard: clients keep few, long connections, and the kernel's hash would put them
//! unevenly. Each goes to the shard that has the fewest.
//!
//! What always holds: the acceptor waits in `epoll_wait` and nowhere else; at `max.connections` it leaves new connections in the
//! system's queue, and without descriptors it tries again a little later.

use std::collections::VecDeque;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use aplomb_broker::ports::{Session, ShardId};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{SocketFlags, acceptfrom_with, sockopt};

use super::limits::TooMany;
use super::transport::Transport;
use super::{Accepted, Connections, Listener, NetConfig};
use crate::log::Log;
use crate::reactor::{Mail, Outbox, Waker};

/// The number that the bell has among the listeners.
const BELL: u64 = u64::MAX;

/// How soon the acceptor tries again when it has no descriptor left, or a shard's mailbox is full.
const RETRY: Duration = Duration::from_millis(50);

/// What an acceptor is made of.
pub(crate) struct AcceptorParts {
    pub(crate) listeners: Vec<Listener>,
    pub(crate) net: NetConfig,
    pub(crate) connections: Arc<Connections>,
    pub(crate) outbox: Outbox,
    pub(crate) waker: Arc<Waker>,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) log: Log,
}

/// The acceptor.
pub(crate) struct Acceptor {
    parts: AcceptorParts,
    epoll: OwnedFd,
    /// By listener: somebody may be waiting there.
    pending: VecDeque<usize>,
    /// The last failure, so that it is logged once and not twenty times a second.
    failing: Option<Errno>,
}

/// What came of an attempt to accept.
enum Attempt {
    Accepted,
    NobodyThere,
    Failed,
}

impl Acceptor {
    /// Makes an acceptor and sets the listeners' options.
    ///
    /// # Errors
    /// If a listener cannot be watched.
    pub(crate) fn new(parts: AcceptorParts) -> std::io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &*parts.waker, EventData::new_u64(BELL), EventFlags::IN | EventFlags::ET)?;
        for (index, listener) in parts.listeners.iter().enumerate() {
            // Accepted sockets inherit these; the receive buffer decides on the window, which is agreed on at the start.
            if let Some(bytes) = parts.net.receive_buffer {
                sockopt::set_socket_recv_buffer_size(&listener.socket, bytes)?;
            }
            if let Some(bytes) = parts.net.send_buffer {
                sockopt::set_socket_send_buffer_size(&listener.socket, bytes)?;
            }
            listener.socket.set_nonblocking(true)?;
            let flags = EventFlags::IN | EventFlags::ET;
            epoll::add(&epoll, &listener.socket, EventData::new_u64(index as u64), flags)?;
        }
        let pending = (0..parts.listeners.len()).collect();
        Ok(Self { parts, epoll, pending, failing: None })
    }

    /// Accepts until it is told to stop. The listeners close with it.
    pub(crate) fn run(mut self) {
        let mut events = Vec::with_capacity(self.parts.listeners.len() + 1);
        while !self.parts.stop.load(Ordering::SeqCst) {
            self.parts.outbox.retry();
            let mut failed = false;
            while let Some(&index) = self.pending.front() {
                if self.parts.outbox.is_congested() || !self.parts.connections.has_room() {
                    break;
                }
                match self.accept(index) {
                    // Listeners take turns.
                    Attempt::Accepted => self.pending.rotate_left(1),
                    Attempt::NobodyThere => {
                        self.pending.pop_front();
                    }
                    Attempt::Failed => {
                        failed = true;
                        break;
                    }
                }
            }
            self.parts.outbox.wake();
            self.wait(failed, &mut events);
        }
    }

    fn wait(&mut self, retry: bool, events: &mut Vec<epoll::Event>) {
        let retry = (retry || self.parts.outbox.is_congested())
            .then(|| RETRY.try_into().expect("a short time is representable"));
        self.parts.waker.falling_asleep();
        let nothing_new = !self.parts.stop.load(Ordering::SeqCst);
        let may_go_on = !self.pending.is_empty() && self.parts.connections.has_room() && retry.is_none();
        let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        let timeout = if nothing_new && !may_go_on { retry } else { Some(now) };
        let congested_since = self.parts.outbox.is_congested().then(crate::clock::instant);
        match epoll::wait(&self.epoll, spare_capacity(events), timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => panic!("epoll_wait cannot fail on our own descriptors: {errno}"),
        }
        self.parts.waker.awake();
        if let Some(since) = congested_since {
            let waited = crate::clock::instant().since(since).as_nanos();
            self.parts.connections.on_congested(u64::try_from(waited).unwrap_or(u64::MAX));
        }
        for event in events.drain(..) {
            let number = event.data.u64();
            if number == BELL {
                continue;
            }
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
            Err(Errno::AGAIN) => Attempt::NobodyThere,
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
        let ip = session.peer;
        let (permit, shard): (_, ShardId) = match self.parts.connections.admit(ip) {
            Ok(admitted) => admitted,
            Err(TooMany { limit }) => {
                let text = format!("refused a connection of {ip}: it has {limit} (max.connections.per.ip)");
                self.parts.log.info("server/net", text);
                return;
            }
        };
        // Replies are written whole: waiting to join small ones only delays them. A socket that refuses has lost its client.
        let _ = sockopt::set_tcp_nodelay(&socket, true);
        let accepted = Accepted { transport: Transport::Plain(socket), session: Arc::new(session), permit };
        self.parts.outbox.send(shard, Mail::Connection(Box::new(accepted)));
    }
}

fn accept_from(listener: &TcpListener) -> Result<(OwnedFd, SocketAddr), Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (socket, peer) = acceptfrom_with(listener, flags)?;
    let peer = peer.and_then(|peer| SocketAddr::try_from(peer).ok()).ok_or(Errno::CONNABORTED)?;
    Ok((socket, peer))
}
