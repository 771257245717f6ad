//! Asks the kernel for sockets (`NETLINK_SOCK_DIAG`).
//!
//! All connections cost milliseconds, however few there are: the kernel walks a hash that is as
//! large as its memory asks for, and where it is not preempted nothing else runs on that processor.
//! It does so once for an answer here, and several times for the text of `/proc/PID/net/tcp` and
//! `tcp6`. One connection that is known by its addresses, and all sockets that listen, cost
//! microseconds. What always holds: nothing is asked but how a socket is, and the kernel answers at
//! once.

use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};

/// `SOCK_DIAG_BY_FAMILY`, and a request for one socket.
const BY_FAMILY: u16 = 20;
const REQUEST: u16 = 1;
/// `TCPDIAG_GETSOCK`, the older question, which is for both families at once, and all sockets.
const OF_BOTH: u16 = 18;
const ALL: u16 = 0x300;
/// An answer that says that there are no more, and one that nothing was understood.
const DONE: u16 = 3;
const ERROR: u16 = 2;
const TCP: u8 = 6;
const V4: u8 = 2;
const V6: u8 = 10;
/// The state of a connected socket: for a connection that is gone the one that listens answers.
const ESTABLISHED: u8 = 1;
const LISTENING: u8 = 10;
/// Any socket of these addresses.
const NO_COOKIE: [u8; 8] = [0xff; 8];
/// The sizes of a message's head, and of what it carries.
const HEAD: usize = 16;
const ASKED: usize = 56;
const ALL_ASKED: usize = 60;
/// Answers come in pieces of up to half of this, in bytes.
const PIECE: usize = 64 << 10;
/// Where in an answer its numbers are, behind the head.
const FAMILY: usize = 0;
const STATE: usize = 1;
const TIMER: usize = 2;
const RETRIES: usize = 3;
const PORTS: usize = 4;
const ADDRESSES: usize = 8;
const RECEIVED: usize = 56;
const SENT: usize = 60;
const INODE: usize = 68;
const ANSWER: usize = 72;
/// What is asked for beyond that, `INET_DIAG_INFO`: the bit in a question, the attribute in an
/// answer, and where in it the bytes are that have come (`tcp_info.tcpi_bytes_received`).
const WITH_INFO: u8 = 1 << 1;
const INFO: u16 = 2;
const BYTES_RECEIVED: usize = 128;
/// Before an attribute's value: its length, that of the head included, and its kind.
const ATTRIBUTE: usize = 4;

/// Which sockets are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SocketState {
    Listening,
    Established,
}

/// A socket; one that listens has no peer, and its second port is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Socket {
    pub(super) ends: Ends,
    pub(super) queues: Queues,
}

/// The two ends of a connection, as the kernel keeps them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ends {
    pub(super) is_v6: bool,
    /// Ours and the peer's.
    pub(super) ports: (u16, u16),
    /// In the network's order; of IPv4 the first four bytes.
    pub(super) addresses: ([u8; 16], [u8; 16]),
}

impl Ends {
    /// Whether the peer's address is a loopback's.
    pub(super) fn is_local(&self) -> bool {
        let peer = &self.addresses.1;
        let mapped = peer[..12] == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
        if self.is_v6 && !mapped {
            return peer[..15] == [0; 15] && peer[15] == 1;
        }
        peer[if self.is_v6 { 12 } else { 0 }] == 127
    }
}

/// How a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Queues {
    pub(super) unread_by_us: u64,
    /// Bytes that we have read of it since it began, where the kernel says so.
    pub(super) read_by_us: Option<u64>,
    pub(super) unread_by_peer: u64,
    /// It waits for an acknowledgement, and has sent something again.
    pub(super) is_retransmitting: bool,
    /// Its peer is on the same machine.
    pub(super) is_local: bool,
    pub(super) inode: u64,
}

/// A socket to ask with.
#[derive(Debug)]
pub(super) struct SocketDiag(OwnedFd);

impl SocketDiag {
    /// `None` where the kernel does not offer it, or not to us.
    pub(super) fn open() -> Option<Self> {
        let protocol = rustix::net::netlink::SOCK_DIAG;
        let made =
            socket_with(AddressFamily::NETLINK, SocketType::DGRAM, SocketFlags::CLOEXEC, Some(protocol));
        made.ok().map(Self)
    }

    /// One connection; `None` if it is gone.
    pub(super) fn ask(&self, ends: &Ends) -> Option<Queues> {
        send(&self.0, &question(ends), SendFlags::empty()).ok()?;
        let mut answer = [0; 1024];
        let (length, _) = recv(&self.0, &mut answer, RecvFlags::DONTWAIT).ok()?;
        let found = answered(answer.get(..length)?, BY_FAMILY, ESTABLISHED)?;
        Some(found.queues)
    }
}

/// All sockets of our network namespace in a state; `None` where the kernel does not tell.
pub(super) fn all(wanted: SocketState) -> Option<Vec<Socket>> {
    // A socket of its own: answers that are not read to their end stay in it.
    let SocketDiag(socket) = SocketDiag::open()?;
    let state = match wanted {
        SocketState::Listening => LISTENING,
        SocketState::Established => ESTABLISHED,
    };
    send(&socket, &question_for_all(state), SendFlags::empty()).ok()?;
    let (mut found, mut piece) = (Vec::new(), vec![0; PIECE]);
    loop {
        // The next piece is made as this one is taken.
        let (length, _) = recv(&socket, &mut piece, RecvFlags::DONTWAIT).ok()?;
        let mut left = piece.get(..length).filter(|bytes| !bytes.is_empty())?;
        while !left.is_empty() {
            let length = u32::from_ne_bytes(left.get(..4)?.try_into().ok()?) as usize;
            let message = left.get(..length.max(HEAD))?;
            match u16::from_ne_bytes([message[4], message[5]]) {
                DONE => return Some(found),
                ERROR => return None,
                _ => found.extend(answered(message, OF_BOTH, state)),
            }
            left = left.get(message.len().next_multiple_of(ATTRIBUTE)..).unwrap_or_default();
        }
    }
}

fn question_for_all(state: u8) -> Vec<u8> {
    let mut message = Vec::with_capacity(HEAD + ALL_ASKED);
    message.extend(((HEAD + ALL_ASKED) as u32).to_ne_bytes());
    message.extend(OF_BOTH.to_ne_bytes());
    message.extend((REQUEST | ALL).to_ne_bytes());
    message.resize(HEAD + ALL_ASKED - 8, 0);
    message.extend((1_u32 << state).to_ne_bytes());
    message.extend([0; 4]);
    message
}

fn question(ends: &Ends) -> Vec<u8> {
    let mut message = Vec::with_capacity(HEAD + ASKED);
    message.extend(((HEAD + ASKED) as u32).to_ne_bytes());
    message.extend(BY_FAMILY.to_ne_bytes());
    message.extend(REQUEST.to_ne_bytes());
    message.extend([0; 8]);
    message.extend([if ends.is_v6 { V6 } else { V4 }, TCP, WITH_INFO, 0]);
    message.extend(u32::MAX.to_ne_bytes());
    message.extend(ends.ports.0.to_be_bytes());
    message.extend(ends.ports.1.to_be_bytes());
    message.extend(ends.addresses.0);
    message.extend(ends.addresses.1);
    message.extend([0; 4]);
    message.extend(NO_COOKIE);
    message
}

/// What a message says of a socket, if it is of this kind and state.
fn answered(message: &[u8], kind: u16, state: u8) -> Option<Socket> {
    let found = u16::from_ne_bytes(message.get(4..6)?.try_into().ok()?);
    let body = message.get(HEAD..HEAD + ANSWER).filter(|_| found == kind)?;
    if body[STATE] != state {
        return None;
    }
    let number = |at: usize| Some(u64::from(u32::from_ne_bytes(body.get(at..at + 4)?.try_into().ok()?)));
    let port = |at: usize| Some(u16::from_be_bytes(body.get(at..at + 2)?.try_into().ok()?));
    let address = |at: usize| body.get(at..at + 16)?.try_into().ok();
    let ends = Ends {
        is_v6: body[FAMILY] == V6,
        ports: (port(PORTS)?, port(PORTS + 2)?),
        addresses: (address(ADDRESSES)?, address(ADDRESSES + 16)?),
    };
    let unread_by_us = number(RECEIVED)?;
    let received = bytes_received(&message[HEAD + ANSWER..]);
    let queues = Queues {
        unread_by_us,
        read_by_us: received.and_then(|received| received.checked_sub(unread_by_us)),
        unread_by_peer: number(SENT)?,
        is_retransmitting: body[TIMER] == 1 && body[RETRIES] > 0,
        is_local: ends.is_local(),
        inode: number(INODE)?,
    };
    Some(Socket { ends, queues })
}

/// What has come of a connection, of an answer's attributes; a kernel may be too old to say.
fn bytes_received(mut attributes: &[u8]) -> Option<u64> {
    loop {
        let head = attributes.get(..ATTRIBUTE)?;
        let length = usize::from(u16::from_ne_bytes([head[0], head[1]]));
        let value = attributes.get(ATTRIBUTE..length)?;
        if u16::from_ne_bytes([head[2], head[3]]) == INFO {
            return Some(u64::from_ne_bytes(value.get(BYTES_RECEIVED..BYTES_RECEIVED + 8)?.try_into().ok()?));
        }
        attributes = attributes.get(length.next_multiple_of(ATTRIBUTE)..)?;
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};

    use super::*;

    fn ends(ours: SocketAddr, peer: SocketAddr) -> Ends {
        let address = |at: SocketAddr| {
            let mut bytes = [0; 16];
            match at.ip() {
                IpAddr::V4(ip) => bytes[..4].copy_from_slice(&ip.octets()),
                IpAddr::V6(ip) => bytes = ip.octets(),
            }
            bytes
        };
        Ends {
            is_v6: ours.is_ipv6(),
            ports: (ours.port(), peer.port()),
            addresses: (address(ours), address(peer)),
        }
    }

    #[test]
    fn a_connection_is_found_by_its_ends() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut peer = TcpStream::connect(listener.local_addr().expect("it has one")).expect("a peer");
        let (mut ours, theirs) = listener.accept().expect("a connection");
        peer.write_all(&[0; 1000]).expect("there is room");
        let diag = SocketDiag::open().expect("this kernel has it");
        let ends = ends(ours.local_addr().expect("it has one"), theirs);
        let found = diag.ask(&ends).expect("it is there");
        assert_eq!((found.unread_by_us, found.unread_by_peer, found.is_retransmitting), (1000, 0, false));
        assert_eq!(found.read_by_us, Some(0));
        ours.read_exact(&mut [0; 300]).expect("it is there");
        peer.write_all(&[0; 300]).expect("there is room");
        let found = diag.ask(&ends).expect("it is there");
        assert_eq!((found.unread_by_us, found.read_by_us), (1000, Some(300)));
        let gone = Ends { ports: (ends.ports.0, 1), ..ends };
        assert_eq!(diag.ask(&gone), None);
    }

    #[test]
    fn all_sockets_of_both_families_are_told() {
        for at in ["127.0.0.1:0", "[::1]:0"] {
            let listener = TcpListener::bind(at).expect("a port");
            let at = listener.local_addr().expect("it has one");
            let connected = |_| {
                let peer = TcpStream::connect(at).expect("a peer");
                (listener.accept().expect("a connection").0, peer)
            };
            let connections: Vec<_> = (0..200).map(connected).collect();
            let sockets = all(SocketState::Listening).expect("this kernel has it");
            let listening = sockets.iter().find(|socket| socket.ends.ports.0 == at.port());
            assert!(listening.is_some_and(|socket| socket.ends.is_v6 == at.is_ipv6()), "{listening:?}");
            let mut sockets = all(SocketState::Established).expect("this kernel has it");
            sockets.retain(|socket| socket.ends.ports.0 == at.port());
            assert_eq!(sockets.len(), connections.len(), "more than one piece has room for");
            let diag = SocketDiag::open().expect("this kernel has it");
            for socket in sockets {
                assert!(socket.ends.is_local() && socket.queues.is_local);
                let again = diag.ask(&socket.ends).expect("it is there");
                assert_eq!(again.inode, socket.queues.inode);
            }
        }
    }

    #[test]
    fn an_answer_of_another_kind_is_none() {
        for message in [&[0; 20][..], &[0; HEAD + ANSWER], &[]] {
            assert_eq!(answered(message, BY_FAMILY, ESTABLISHED), None);
        }
        for attributes in [&[0; 8][..], &[4, 0], &[200, 0, 2, 0, 1], &[12, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0]] {
            assert_eq!(bytes_received(attributes), None);
        }
    }
}
