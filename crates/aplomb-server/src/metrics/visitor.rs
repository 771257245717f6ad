//! One visitor of the pages: what has been asked, and how much of the answer is sent.
//!
//! What always holds: nothing here waits; a visitor who takes longer than is meant for what is to
//! be done is let go.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use aplomb_model::Instant;
use rustix::event::PollFlags;

use super::Door;
use super::channel::Channel;
use super::console::assets::{self, Asset};

/// For how long a visitor may say nothing that is a request.
const TO_ASK: Duration = Duration::from_secs(2);

/// For how long a visitor waits for a page of numbers, and may take to read an answer.
const TO_READ: Duration = Duration::from_secs(10);

/// The most bytes of a request that are looked at.
const MAX_HEAD: usize = 8192;

/// One connection, from its first byte to the last of its answer.
pub(super) struct Visitor {
    pub(super) channel: Channel,
    step: VisitorStep,
    until: Instant,
}

enum VisitorStep {
    Asking {
        head: Vec<u8>,
    },
    /// For a page: the one that is made under this order, once it is given.
    Waiting {
        paper: Paper,
        order: Option<u64>,
    },
    /// A head, a page, and how much of both is sent.
    Told {
        head: Vec<u8>,
        page: Arc<Vec<u8>>,
        sent: usize,
    },
    /// All is said, and has yet to leave.
    Leaving,
}

/// A page that is some work to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paper {
    /// The numbers for Prometheus.
    Numbers,
    /// Slow requests.
    Slow,
    /// What the console shows, with the steps of its history from this number on.
    Console(u64),
}

/// What a visitor wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    Paper(Paper),
    /// A file of the console; whether the visitor has it already.
    Asset(Asset, bool),
    Liveness,
    Readiness,
    Elsewhere,
    NoPage,
    /// It has to say who it is.
    Password,
}

/// What has become of a visitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VisitorProgress {
    Stays,
    Asks(Wish),
    Goes,
}

impl Visitor {
    /// Comes in.
    pub(super) fn new(stream: TcpStream, door: &Door, now: Instant) -> std::io::Result<Self> {
        let channel = Channel::new(stream, door.gate())?;
        Ok(Self { channel, step: VisitorStep::Asking { head: Vec::new() }, until: now + TO_ASK })
    }

    /// When the visitor has to go.
    pub(super) fn until(&self) -> Instant {
        self.until
    }

    pub(super) fn has_asked(&self) -> bool {
        !matches!(self.step, VisitorStep::Asking { .. })
    }

    /// What to be woken for.
    pub(super) fn interest(&self) -> PollFlags {
        match self.step {
            VisitorStep::Asking { .. } if self.channel.has_unsent() => PollFlags::IN | PollFlags::OUT,
            VisitorStep::Asking { .. } => PollFlags::IN,
            VisitorStep::Waiting { .. } => PollFlags::empty(),
            VisitorStep::Told { .. } | VisitorStep::Leaving => PollFlags::OUT,
        }
    }

    /// Reads or writes what can be at once.
    pub(super) fn on_ready(&mut self, door: &Door) -> VisitorProgress {
        match &mut self.step {
            VisitorStep::Asking { head } => {
                let _ = self.channel.flush();
                read(&mut self.channel, head, door)
            }
            VisitorStep::Waiting { .. } => VisitorProgress::Goes, // woken without a wish: an error
            VisitorStep::Told { .. } | VisitorStep::Leaving => self.write(),
        }
    }

    /// The visitor is to get the page of the next order of its kind.
    pub(super) fn wait(&mut self, paper: Paper, now: Instant) {
        self.step = VisitorStep::Waiting { paper, order: None };
        self.until = now + TO_READ;
    }

    /// The page for which the visitor waits for an order to be given.
    pub(super) fn wants_an_order(&self) -> Option<Paper> {
        match self.step {
            VisitorStep::Waiting { paper, order: None } => Some(paper),
            _ => None,
        }
    }

    /// The order is given for this page.
    pub(super) fn on_order(&mut self, ordered: Paper, number: u64) {
        if let VisitorStep::Waiting { paper, order: none @ None } = &mut self.step
            && *paper == ordered
        {
            *none = Some(number);
        }
    }

    /// Whether the visitor waits for the page of this order.
    pub(super) fn waits_for(&self, number: u64) -> bool {
        matches!(self.step, VisitorStep::Waiting { order: Some(order), .. } if order == number)
    }

    /// Begins to answer.
    pub(super) fn tell(&mut self, head: Vec<u8>, page: Arc<Vec<u8>>, now: Instant) -> VisitorProgress {
        self.step = VisitorStep::Told { head, page, sent: 0 };
        self.until = now + TO_READ;
        self.write()
    }

    fn write(&mut self) -> VisitorProgress {
        if let VisitorStep::Told { head, page, sent } = &mut self.step {
            match write(&mut self.channel, head, page, sent) {
                VisitorProgress::Goes => self.step = VisitorStep::Leaving,
                other => return other,
            }
        }
        match self.channel.close() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => VisitorProgress::Stays,
            // A visitor who leaves early has lost nothing that we owe.
            _ => VisitorProgress::Goes,
        }
    }
}

fn read(channel: &mut Channel, head: &mut Vec<u8>, door: &Door) -> VisitorProgress {
    let mut buffer = [0; 1024];
    loop {
        let count = match channel.read(&mut buffer) {
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return VisitorProgress::Stays,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => return VisitorProgress::Goes,
        };
        head.extend_from_slice(&buffer[..count]);
        let is_whole = head.windows(4).any(|end| end == b"\r\n\r\n");
        if is_whole || count == 0 || head.len() >= MAX_HEAD {
            return if head.is_empty() {
                VisitorProgress::Goes
            } else {
                VisitorProgress::Asks(wish(head, door))
            };
        }
    }
}

fn write(channel: &mut Channel, head: &[u8], page: &[u8], sent: &mut usize) -> VisitorProgress {
    loop {
        let rest = match sent.checked_sub(head.len()) {
            None => &head[*sent..],
            Some(of_the_page) => &page[of_the_page..],
        };
        if rest.is_empty() {
            return VisitorProgress::Goes;
        }
        match channel.write(rest) {
            Ok(count) => *sent += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return VisitorProgress::Stays,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return VisitorProgress::Goes,
        }
    }
}

fn wish(head: &[u8], door: &Door) -> Wish {
    let (line, since) = request_line(head);
    match line {
        // Who looks after processes knows no password, and learns no more than that they live.
        Some(("GET", "/healthz")) => Wish::Liveness,
        Some(("GET", "/readyz")) => Wish::Readiness,
        _ if !door.lets_in(head) => Wish::Password,
        Some(("GET", "/metrics")) => Wish::Paper(Paper::Numbers),
        Some(("GET", "/slow")) => Wish::Paper(Paper::Slow),
        Some(("GET", "/console/data")) => Wish::Paper(Paper::Console(since)),
        Some(("GET", path)) => assets::at(path).map_or(Wish::Elsewhere, |asset| {
            Wish::Asset(asset, asset.is_known_to(std::str::from_utf8(head).unwrap_or_default()))
        }),
        _ => Wish::NoPage,
    }
}

/// Method and path, and the number that the query says for `since`, or 0.
fn request_line(head: &[u8]) -> (Option<(&str, &str)>, u64) {
    let line = head.split(|&byte| byte == b'\r').next().and_then(|line| std::str::from_utf8(line).ok());
    let mut words = line.unwrap_or_default().split(' ');
    let (Some(method), Some(target)) = (words.next(), words.next()) else { return (None, 0) };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let since = query.split('&').find_map(|pair| pair.strip_prefix("since=")?.parse().ok());
    (Some((method, path)), since.unwrap_or(0))
}
