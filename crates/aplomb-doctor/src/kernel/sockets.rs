//! The connections that clients have to the process: who does not take what was sent to them, whom
//! the process does not read from, and what the network lost.
//!
//! The kernel tells of all sockets of the network namespace ([`super::socket_diag`], or where the
//! process is in another one `/proc/PID/net/tcp`); the process's are told by the ports that it
//! listens on. What always holds: all connections, which are dear, are asked for only when there
//! are new ones or more than are followed, and now and then; in between those that are known are
//! asked for one by one.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::Read as _;
use std::time::{Duration, Instant};

use super::files::read;
use super::socket_diag::{Ends, Queues, Socket, SocketDiag, SocketState, all};
use crate::recording::Traffic;

/// In the text of a table: the state of a socket that listens, and of one that is connected.
const LISTEN: &str = "0A";
const ESTABLISHED: &str = "01";
/// A table is read in pieces of this many bytes: for each the kernel walks all that comes before.
const ROOM: usize = 256 << 10;
/// The timer that retransmits.
const RETRANSMITS: &str = "01";
/// A socket's inode in a link of `/proc/PID/fd`.
const PREFIX: &str = "socket:[";
/// All connections are asked for so often, or so many times more seldom than it takes.
const TABLE: Duration = Duration::from_secs(2);
const CHEAP: u32 = 200;
/// A process that listens keeps its ports for a while; but when it begins to be watched it may have
/// just begun itself, and opens them one after the other.
const PORTS: Duration = Duration::from_secs(10);
const BEGINNING: Duration = Duration::from_secs(30);
/// No more connections than this are followed: those that the table has first.
const MOST: usize = 512;

/// The process's connections.
#[derive(Debug)]
pub(super) struct Sockets {
    pid: u32,
    diag: Option<SocketDiag>,
    /// What listened, by inodes, when the ports were found, if they were.
    listening: Option<HashSet<u64>>,
    ports: HashSet<u16>,
    ports_due: Instant,
    began: Instant,
    table_due: Instant,
    /// What was counted when all connections were asked for; `None` before.
    at_table: Option<u64>,
    connections: Vec<Ends>,
    /// There are more connections than these.
    are_more: bool,
    segments_again: u64,
    /// Connections that we had not read to the end at the last look, by their sockets.
    unread: HashMap<u64, Queues>,
}

/// What the network namespace has counted.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    /// Connections that a process has accepted.
    accepted: u64,
    segments_again: u64,
}

impl Sockets {
    pub(super) fn of(pid: u32) -> Self {
        let now = Instant::now();
        let same_network = std::fs::read_link(format!("/proc/{pid}/ns/net")).ok()
            == std::fs::read_link("/proc/self/ns/net").ok();
        let mut sockets = Self {
            pid,
            // Of another namespace's connections this one's kernel socket knows nothing.
            diag: if same_network { SocketDiag::open() } else { None },
            listening: None,
            ports: HashSet::new(),
            ports_due: now,
            began: now,
            table_due: now,
            at_table: None,
            connections: Vec::new(),
            are_more: false,
            segments_again: 0,
            unread: HashMap::new(),
        };
        sockets.segments_again = sockets.counted().segments_again;
        sockets
    }

    /// How its connections are; `None` if that would cost too much now, or if its ports are not to
    /// be found since its descriptors may not be read.
    pub(super) fn traffic(&mut self) -> Option<Traffic> {
        let now = Instant::now();
        if now >= self.ports_due {
            self.find_ports()?;
            let may_open_more = self.ports.is_empty() || now < self.began + BEGINNING;
            self.ports_due = now + if may_open_more { TABLE } else { PORTS };
        }
        let Counted { accepted, segments_again: again } = self.counted();
        let is_wanted = self.are_more || self.at_table != Some(accepted) || self.diag.is_none();
        let found = if is_wanted && now >= self.table_due {
            let found = self.table();
            self.at_table = Some(accepted);
            self.table_due = now + TABLE.max(now.elapsed() * CHEAP);
            found
        } else {
            let diag = self.diag.as_ref()?;
            self.connections.iter().filter_map(|ends| diag.ask(ends)).collect()
        };
        let (counted, unread) = counted(&found, &self.unread);
        let retransmits = if self.ports.is_empty() { 0 } else { again.saturating_sub(self.segments_again) };
        self.segments_again = again;
        self.unread = unread;
        Some(Traffic { retransmits, ..counted })
    }

    /// Finds the ports that the process listens on; `None` if that is not for us to know.
    fn find_ports(&mut self) -> Option<()> {
        let sockets = self.sockets(SocketState::Listening);
        let listening: HashSet<u64> = sockets.iter().map(|socket| socket.queues.inode).collect();
        if self.listening.as_ref() == Some(&listening) {
            return Some(());
        }
        // Of a large broker that is a link for each of its files.
        let entries = std::fs::read_dir(format!("/proc/{}/fd", self.pid)).ok()?;
        let inode = |link: &str| link.strip_prefix(PREFIX)?.strip_suffix(']')?.parse::<u64>().ok();
        let links = entries.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
        let inodes: HashSet<u64> = links.filter_map(|link| inode(link.to_str()?)).collect();
        let ours = sockets.iter().filter(|socket| inodes.contains(&socket.queues.inode));
        let ports = ours.map(|socket| socket.ends.ports.0).collect();
        if self.ports != ports {
            self.ports = ports;
            self.at_table = None;
        }
        self.listening = Some(listening);
        Some(())
    }

    /// All connections to its ports.
    fn table(&mut self) -> Vec<Queues> {
        let mut sockets = self.sockets(SocketState::Established);
        sockets.retain(|socket| self.ports.contains(&socket.ends.ports.0));
        self.are_more = sockets.len() > MOST;
        self.connections = sockets.iter().take(MOST).map(|socket| socket.ends).collect();
        // All at once are told without how much was read.
        let whole = |(at, socket): (usize, Socket)| {
            let diag = self.diag.as_ref().filter(|_| at < MOST && socket.queues.unread_by_us > 0);
            diag.and_then(|diag| diag.ask(&socket.ends)).unwrap_or(socket.queues)
        };
        sockets.into_iter().enumerate().map(whole).collect()
    }

    fn sockets(&self, state: SocketState) -> Vec<Socket> {
        let told = self.diag.as_ref().and_then(|_| all(state));
        told.unwrap_or_else(|| tables(&self.pid.to_string(), state))
    }

    /// Of the whole network namespace.
    fn counted(&self) -> Counted {
        let text = read(format!("/proc/{}/net/snmp", self.pid)).unwrap_or_default();
        let mut lines = text.lines().filter(|line| line.starts_with("Tcp:"));
        let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return Counted::default() };
        let of = |wanted: &str| {
            let column = names.split(' ').position(|name| name == wanted);
            column.and_then(|column| values.split(' ').nth(column)?.parse().ok()).unwrap_or(0)
        };
        Counted { accepted: of("PassiveOpens"), segments_again: of("RetransSegs") }
    }
}

/// The sockets in the tables of a process's network namespace.
fn tables(pid: &str, state: SocketState) -> Vec<Socket> {
    let read = |name: &&str| {
        let mut text = String::with_capacity(ROOM);
        File::open(format!("/proc/{pid}/net/{name}")).ok()?.read_to_string(&mut text).ok()?;
        Some(text)
    };
    let tables: Vec<String> = ["tcp", "tcp6"].iter().filter_map(read).collect();
    let rows = tables.iter().flat_map(|table| table.lines().skip(1)).filter_map(row);
    rows.filter(|(found, _)| *found == state).map(|(_, socket)| socket).collect()
}

/// The process that listens on a port, of those whose descriptors may be read.
#[must_use]
pub fn listening(port: u16) -> Option<u32> {
    let sockets = all(SocketState::Listening).unwrap_or_else(|| tables("self", SocketState::Listening));
    let links: HashSet<String> = sockets
        .iter()
        .filter(|socket| socket.ends.ports.0 == port)
        .map(|socket| format!("{PREFIX}{}]", socket.queues.inode))
        .collect();
    if links.is_empty() {
        return None;
    }
    let processes = std::fs::read_dir("/proc").ok()?;
    let mut pids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    pids.find(|pid| {
        let Ok(entries) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
        let mut targets = entries.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
        targets.any(|target| target.to_str().is_some_and(|target| links.contains(target)))
    })
}

/// The sum of them, and those that we have not read to the end.
fn counted(all: &[Queues], before: &HashMap<u64, Queues>) -> (Traffic, HashMap<u64, Queues>) {
    let mut traffic = Traffic::default();
    let mut unread = HashMap::new();
    for queues in all {
        traffic.connections += 1;
        traffic.unread_connections += u64::from(queues.unread_by_peer > 0);
        traffic.unread_bytes += queues.unread_by_peer;
        traffic.waiting_connections += u64::from(queues.unread_by_us > 0);
        traffic.waiting_bytes += queues.unread_by_us;
        if queues.unread_by_us > 0 {
            let is_muted = before.get(&queues.inode).is_some_and(|before| nothing_read(before, queues));
            traffic.muted_connections += u64::from(is_muted);
            unread.insert(queues.inode, *queues);
        }
        traffic.retransmitting += u64::from(queues.is_retransmitting && !queues.is_local);
        traffic.local_connections += u64::from(queues.is_local);
    }
    (traffic, unread)
}

/// Whether we have read nothing of a connection between two looks at which there was something.
/// Where the kernel does not say how much was read, one that has no fewer bytes passes for it.
fn nothing_read(before: &Queues, now: &Queues) -> bool {
    match (before.read_by_us, now.read_by_us) {
        (Some(before), Some(now)) => before == now,
        _ => now.unread_by_us >= before.unread_by_us,
    }
}

/// `sl local:port remote:port st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode …`, with
/// numbers in hexadecimal but for the inode. Sockets in other states are none of ours.
fn row(line: &str) -> Option<(SocketState, Socket)> {
    let words: Vec<&str> = line.split_ascii_whitespace().take(10).collect();
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let (sent, received) = words.get(4)?.split_once(':')?;
    let (ours, our_port) = end(words.get(1)?)?;
    let (peers, peers_port) = end(words.get(2)?)?;
    let ends = Ends {
        is_v6: words.get(1)?.len() > "0100007F:2384".len(),
        ports: (our_port, peers_port),
        addresses: (ours, peers),
    };
    let is_retransmitting = words.get(5)?.split_once(':')?.0 == RETRANSMITS && hex(words.get(6)?)? > 0;
    let queues = Queues {
        unread_by_us: hex(received)?,
        read_by_us: None,
        unread_by_peer: hex(sent)?,
        is_retransmitting,
        is_local: ends.is_local(),
        inode: words.get(9)?.parse().ok()?,
    };
    let state = match *words.get(3)? {
        LISTEN => SocketState::Listening,
        ESTABLISHED => SocketState::Established,
        _ => return None,
    };
    Some((state, Socket { ends, queues }))
}

/// An address and a port. Each word of an address is written as this machine would read it.
fn end(text: &str) -> Option<([u8; 16], u16)> {
    let (address, port) = text.rsplit_once(':')?;
    let mut bytes = [0; 16];
    for (word, into) in address.as_bytes().chunks(8).zip(bytes.chunks_mut(4)) {
        let word = u32::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok()?;
        into.copy_from_slice(&word.to_ne_bytes());
    }
    Some((bytes, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_row_is_read() {
        let line = "   3: 0100007F:2384 0100007F:9C40 01 000010FF:00000020 01:00000014 00000003  1000        0 48213 2 0 20 4";
        let (state, Socket { ends, queues }) = row(line).expect("a row");
        assert_eq!((state, ends.ports, ends.is_v6), (SocketState::Established, (9092, 0x9c40), false));
        assert_eq!(ends.addresses.0[..4], [127, 0, 0, 1]);
        assert_eq!((queues.unread_by_peer, queues.unread_by_us, queues.inode), (0x10ff, 0x20, 48213));
        let (traffic, unread) = counted(&[queues], &HashMap::new());
        assert_eq!((traffic.connections, traffic.unread_connections), (1, 1));
        assert_eq!((traffic.local_connections, traffic.retransmitting), (1, 0), "no network loses that");
        let far = Queues { is_local: false, ..queues };
        assert_eq!(counted(&[far], &HashMap::new()).0.retransmitting, 1);
        assert_eq!((traffic.waiting_connections, traffic.muted_connections), (1, 0));
        assert_eq!(counted(&[queues], &unread).0.muted_connections, 1);
        // A request like the one before lies there, and that one was read.
        let (first, next) =
            (Queues { read_by_us: Some(0), ..queues }, Queues { read_by_us: Some(32), ..queues });
        let (_, unread) = counted(&[first], &HashMap::new());
        assert_eq!(counted(&[first], &unread).0.muted_connections, 1);
        assert_eq!(counted(&[next], &unread).0.muted_connections, 0);
        assert_eq!(row("header"), None);
    }

    #[test]
    fn where_the_ports_are_not_told_nothing_is_said_of_connections() {
        assert_eq!(Sockets::of(u32::MAX).traffic(), None);
    }

    #[test]
    fn a_peer_that_does_not_read_is_seen_by_the_table_and_by_asking() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let peer = TcpStream::connect(listener.local_addr().expect("it has one")).expect("a peer");
        let (mut ours, _) = listener.accept().expect("a connection");
        ours.set_nonblocking(true).expect("it can be set");
        while ours.write(&[0; 1 << 16]).is_ok() {}
        let mut sockets = Sockets::of(std::process::id());
        for _ in 0..2 {
            let traffic = sockets.traffic().expect("both ways are open");
            assert!(traffic.unread_connections >= 1 && traffic.unread_bytes > 0, "{traffic:?}");
        }
        let inodes = |state| tables("self", state).into_iter().map(|socket| socket.queues.inode);
        for state in [SocketState::Listening, SocketState::Established] {
            let asked: HashSet<u64> =
                all(state).expect("this kernel has it").iter().map(|socket| socket.queues.inode).collect();
            // Other tests open and close some meanwhile.
            assert!(inodes(state).filter(|inode| asked.contains(inode)).count() > 0, "{state:?}");
        }
        drop(peer);
    }
}
