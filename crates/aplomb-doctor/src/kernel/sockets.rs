//! The connections that clients have to the process: who does not take what was sent to them, and
//! what the network lost.
//!
//! `/proc/PID/net/tcp` has all sockets of the network namespace; the process's are told by the
//! ports that it listens on.

use std::collections::HashSet;

use super::files::read;
use crate::recording::Traffic;

/// The state of a socket that listens, and of one that is connected.
const LISTEN: &str = "0A";
const ESTABLISHED: &str = "01";
/// The timer that retransmits.
const RETRANSMITS: &str = "01";
/// A socket's inode in a link of `/proc/PID/fd`.
const PREFIX: &str = "socket:[";

/// The process's listening ports.
#[derive(Debug)]
pub(super) struct Sockets {
    pid: u32,
    ports: HashSet<u16>,
    segments_again: u64,
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row<'a> {
    port: u16,
    state: &'a str,
    unread_by_peer: u64,
    unread_by_us: u64,
    timer: &'a str,
    retries: u64,
    inode: u64,
}

impl Sockets {
    pub(super) fn of(pid: u32) -> Self {
        let mut sockets = Self { pid, ports: HashSet::new(), segments_again: 0 };
        sockets.segments_again = sockets.segments_sent_again();
        sockets
    }

    /// Finds the ports that the process listens on.
    pub(super) fn find_ports(&mut self) {
        let Ok(entries) = std::fs::read_dir(format!("/proc/{}/fd", self.pid)) else { return };
        let inode = |link: &str| link.strip_prefix(PREFIX)?.strip_suffix(']')?.parse::<u64>().ok();
        let links = entries.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
        let inodes: HashSet<u64> = links.filter_map(|link| inode(link.to_str()?)).collect();
        let listening = |row: &Row<'_>| row.state == LISTEN && inodes.contains(&row.inode);
        let tables = self.tables();
        let rows = tables.iter().flat_map(|table| table.lines().skip(1)).filter_map(row);
        self.ports = rows.filter(listening).map(|row| row.port).collect();
    }

    /// Whether it listens anywhere.
    pub(super) fn listens(&self) -> bool {
        !self.ports.is_empty()
    }

    /// How its connections are.
    pub(super) fn traffic(&mut self) -> Traffic {
        let tables = self.tables();
        let again = self.segments_sent_again();
        let mut traffic = Traffic {
            retransmits: again.saturating_sub(self.segments_again),
            ..counted(&tables, &self.ports)
        };
        self.segments_again = again;
        if self.ports.is_empty() {
            traffic.retransmits = 0;
        }
        traffic
    }

    fn tables(&self) -> Vec<String> {
        let table = |name: &&str| read(format!("/proc/{}/net/{name}", self.pid));
        ["tcp", "tcp6"].iter().filter_map(table).collect()
    }

    /// Of the whole network namespace.
    fn segments_sent_again(&self) -> u64 {
        let text = read(format!("/proc/{}/net/snmp", self.pid)).unwrap_or_default();
        let mut lines = text.lines().filter(|line| line.starts_with("Tcp:"));
        let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return 0 };
        let column = names.split(' ').position(|name| name == "RetransSegs");
        column.and_then(|column| values.split(' ').nth(column)?.parse().ok()).unwrap_or(0)
    }
}

/// The process that listens on a port, of those whose descriptors may be read.
#[must_use]
pub fn listening(port: u16) -> Option<u32> {
    let tables = ["tcp", "tcp6"].iter().filter_map(|name| read(format!("/proc/self/net/{name}")));
    let tables: Vec<String> = tables.collect();
    let rows = tables.iter().flat_map(|table| table.lines().skip(1)).filter_map(row);
    let links: HashSet<String> = rows
        .filter(|row| row.state == LISTEN && row.port == port)
        .map(|row| format!("{PREFIX}{}]", row.inode))
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

fn counted(tables: &[String], ports: &HashSet<u16>) -> Traffic {
    let mut traffic = Traffic::default();
    let rows = tables.iter().flat_map(|table| table.lines().skip(1)).filter_map(row);
    for row in rows.filter(|row| row.state == ESTABLISHED && ports.contains(&row.port)) {
        traffic.connections += 1;
        traffic.unread_connections += u64::from(row.unread_by_peer > 0);
        traffic.unread_bytes += row.unread_by_peer;
        traffic.waiting_connections += u64::from(row.unread_by_us > 0);
        traffic.waiting_bytes += row.unread_by_us;
        traffic.retransmitting += u64::from(row.timer == RETRANSMITS && row.retries > 0);
    }
    traffic
}

/// `sl local:port remote:port st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode …`, with
/// numbers in hexadecimal but for the inode.
fn row(line: &str) -> Option<Row<'_>> {
    let words: Vec<&str> = line.split_ascii_whitespace().take(10).collect();
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let (sent, received) = words.get(4)?.split_once(':')?;
    Some(Row {
        port: u16::from_str_radix(words.get(1)?.rsplit_once(':')?.1, 16).ok()?,
        state: words.get(3)?,
        unread_by_peer: hex(sent)?,
        unread_by_us: hex(received)?,
        timer: words.get(5)?.split_once(':')?.0,
        retries: hex(words.get(6)?)?,
        inode: words.get(9)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_row_is_read() {
        let line = "   3: 0100007F:2384 0100007F:9C40 01 000010FF:00000020 01:00000014 00000003  1000        0 48213 2 0 20 4";
        let row = row(line).expect("a row");
        assert_eq!((row.port, row.state, row.unread_by_peer, row.unread_by_us), (9092, "01", 0x10ff, 0x20));
        assert_eq!((row.timer, row.retries, row.inode), ("01", 3, 48213));
        let ports = HashSet::from([9092]);
        let traffic = counted(&[format!("header\n{line}\n")], &ports);
        assert_eq!((traffic.connections, traffic.unread_connections, traffic.retransmitting), (1, 1, 1));
        assert_eq!(super::row("header"), None);
    }

    #[test]
    fn a_peer_that_does_not_read_is_seen() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let peer = TcpStream::connect(listener.local_addr().expect("it has one")).expect("a peer");
        let (mut ours, _) = listener.accept().expect("a connection");
        ours.set_nonblocking(true).expect("it can be set");
        while ours.write(&[0; 1 << 16]).is_ok() {}
        let mut sockets = Sockets::of(std::process::id());
        sockets.find_ports();
        let traffic = sockets.traffic();
        assert!(traffic.unread_connections >= 1 && traffic.unread_bytes > 0, "{traffic:?}");
        drop(peer);
    }
}
