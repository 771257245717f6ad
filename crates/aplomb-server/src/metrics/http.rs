//! The pages over HTTP: `GET /metrics`, `/slow`, `/healthz`, `/readyz`, and the console at `/`; one
//! request a connection, from threads that carry no requests of clients.
//!
//! What always holds: visitors are served side by side, and none waits for another who says or
//! reads nothing; each has a few seconds and a few kilobytes, and there are so many at most. The
//! numbers are some work, and are made by a thread of their own: a look at the health does not wait
//! behind them. Between pages the same thread looks at what slow requests have waited for.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::time::Duration;

use aplomb_model::Instant;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::visitor::{Paper, Visitor, VisitorProgress, Wish};
use super::{Door, Health, Metrics};
use crate::clock;
use crate::log::Log;

/// How many visitors there may be at once. For one more, the one goes that has said nothing for
/// longest.
const MOST_VISITORS: usize = 128;

/// How many pages of numbers visitors may hold at once.
const MOST_PAGES: usize = 4;

/// The priority of the thread that makes the numbers, as `nice` counts.
const LESS_URGENT: i32 = 10;

/// How often the thread that makes the numbers looks at what happens.
const LOOK: Duration = Duration::from_millis(250);

/// After an error, for how long no new visitors are let in.
const PAUSE: Duration = Duration::from_secs(1);

/// Serves the pages at `listener`, behind `door`, from threads of their own for as long as the
/// process lives. Gives the address.
///
/// # Errors
/// If the listener has no address or there is no thread.
pub fn serve(
    listener: TcpListener,
    door: Door,
    metrics: &Metrics,
    health: &Health,
    log: &Log,
) -> std::io::Result<SocketAddr> {
    let address = listener.local_addr()?;
    listener.set_nonblocking(true)?;
    let (ring, bell) = UnixStream::pair()?;
    bell.set_nonblocking(true)?;
    let (orders, ordered) = sync_channel(1);
    let (deliver, made) = sync_channel(1);
    let metrics = metrics.clone();
    std::thread::Builder::new()
        .name("aplomb-numbers".to_owned())
        .spawn(move || make_pages(&metrics, &ordered, &deliver, ring))?;
    let (health, log) = (health.clone(), log.clone());
    let mut hall = Hall {
        listener,
        door,
        deaf_until: None,
        bell,
        orders,
        made,
        order: 0,
        is_ordered: false,
        pages: Vec::new(),
        visitors: Vec::new(),
        health,
        log,
    };
    std::thread::Builder::new().name("aplomb-metrics".to_owned()).spawn(move || {
        loop {
            hall.turn();
        }
    })?;
    Ok(address)
}

/// What is to be made, and under which number.
type Order = (u64, Paper);

/// A page that was made: the order's number, and what it is.
type Made = (u64, Paper, Vec<u8>);

/// Makes a page for each order.
fn make_pages(
    metrics: &Metrics,
    ordered: &Receiver<Order>,
    deliver: &SyncSender<Made>,
    mut ring: UnixStream,
) {
    // A page of many partitions is some work: where processors are short, that of requests goes
    // first. On Linux this is the thread's own priority; a kernel that refuses has its reasons.
    let _ = rustix::process::setpriority_process(None, LESS_URGENT);
    let mut next_look = clock::instant() + LOOK;
    loop {
        match ordered.recv_timeout(next_look.since(clock::instant())) {
            Ok((number, paper)) => {
                let page = match paper {
                    Paper::Numbers => metrics.render(),
                    Paper::Slow => metrics.slow(),
                    Paper::Console(since) => metrics.console(since).unwrap_or_default(),
                };
                let made = (number, paper, page.into_bytes());
                if deliver.send(made).is_err() || ring.write_all(&[0]).is_err() {
                    return;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if next_look <= clock::instant() {
            metrics.look();
            next_look = clock::instant() + LOOK;
        }
    }
}

/// All visitors, and who sees to them.
struct Hall {
    listener: TcpListener,
    door: Door,
    /// No new visitors until then.
    deaf_until: Option<Instant>,
    /// Rung when a page is made.
    bell: UnixStream,
    orders: SyncSender<Order>,
    made: Receiver<Made>,
    /// The number of the last order, and whether it is still under way.
    order: u64,
    is_ordered: bool,
    /// Pages of them that visitors still hold.
    pages: Vec<Weak<Vec<u8>>>,
    visitors: Vec<Visitor>,
    health: Health,
    log: Log,
}

impl Hall {
    /// Waits for something to do, and does it.
    fn turn(&mut self) {
        let ready = self.wait();
        let now = clock::instant();
        self.deaf_until.take_if(|until| *until <= now);
        let visitors = std::mem::take(&mut self.visitors);
        for (mut visitor, flags) in visitors.into_iter().zip(ready) {
            let is_gone = flags.intersects(PollFlags::ERR | PollFlags::NVAL) || visitor.until() <= now;
            let progress = if is_gone {
                VisitorProgress::Goes
            } else if flags.is_empty() {
                VisitorProgress::Stays
            } else {
                visitor.on_ready(&self.door)
            };
            self.on_progress(visitor, progress, now);
        }
        self.let_in(now);
        self.take_page(now);
        self.order_page();
    }

    /// Waits until a visitor, a newcomer or a page wants attention, or has waited for too long.
    /// Gives what each visitor is ready for.
    fn wait(&self) -> Vec<PollFlags> {
        let now = clock::instant();
        let ends = self.visitors.iter().map(Visitor::until).chain(self.deaf_until);
        let left = ends.min().map(|at| at.since(now));
        let timeout = left.map(|left| Timespec {
            tv_sec: left.as_secs().try_into().unwrap_or(1),
            // Rounded up: an end is over when this is.
            tv_nsec: i64::from(left.subsec_nanos().min(998_999_999)) + 1_000_000,
        });
        let listens = if self.deaf_until.is_some() { PollFlags::empty() } else { PollFlags::IN };
        let mut watched = vec![PollFd::new(&self.listener, listens), PollFd::new(&self.bell, PollFlags::IN)];
        watched.extend(self.visitors.iter().map(|visitor| PollFd::new(&visitor.channel, visitor.interest())));
        match poll(&mut watched, timeout.as_ref()) {
            Ok(_) => watched[2..].iter().map(PollFd::revents).collect(),
            Err(_) => vec![PollFlags::empty(); self.visitors.len()],
        }
    }

    fn on_progress(&mut self, mut visitor: Visitor, progress: VisitorProgress, now: Instant) {
        let answer = |status, line: Result<String, String>| {
            let body = line.unwrap_or_else(|line| line);
            (status, body + "\n")
        };
        let told = |line: Result<String, String>| {
            answer(if line.is_ok() { "200 OK" } else { "503 Service Unavailable" }, line)
        };
        let said = |status, text: &str| answer(status, Ok(text.to_owned()));
        let (status, body) = match progress {
            VisitorProgress::Goes => return,
            VisitorProgress::Stays => return self.visitors.push(visitor),
            VisitorProgress::Asks(Wish::Paper(paper)) => {
                visitor.wait(paper, now);
                return self.visitors.push(visitor);
            }
            VisitorProgress::Asks(Wish::Asset(asset, is_known)) => {
                let (status, body) =
                    if is_known { ("304 Not Modified", &b""[..]) } else { ("200 OK", asset.bytes) };
                let answer = [&head(status, asset.kind, body.len(), &asset.headers()), body].concat();
                return self.tell(visitor, answer, now);
            }
            VisitorProgress::Asks(Wish::Liveness) => told(self.health.liveness(now)),
            VisitorProgress::Asks(Wish::Readiness) => told(self.health.readiness(now)),
            VisitorProgress::Asks(Wish::Elsewhere) => said(
                "404 Not Found",
                "the numbers are at /metrics, slow requests at /slow, the health at /healthz and /readyz, the console at /",
            ),
            VisitorProgress::Asks(Wish::Password) => {
                let body = "a name and a password are asked for here\n";
                let asks = "WWW-Authenticate: Basic realm=\"aplomb\", charset=\"UTF-8\"\r\n";
                let answer = head("401 Unauthorized", TEXT, body.len(), asks);
                return self.tell(visitor, [answer, body.into()].concat(), now);
            }
            VisitorProgress::Asks(Wish::NoPage) => {
                said("405 Method Not Allowed", "GET is all that is answered here")
            }
        };
        let answer = [head(status, TEXT, body.len(), ""), body.into_bytes()].concat();
        self.tell(visitor, answer, now);
    }

    fn tell(&mut self, mut visitor: Visitor, answer: Vec<u8>, now: Instant) {
        if visitor.tell(answer, Arc::default(), now) == VisitorProgress::Stays {
            self.visitors.push(visitor);
        }
    }

    /// Lets in who waits at the door.
    fn let_in(&mut self, now: Instant) {
        while self.deaf_until.is_none() {
            match self.listener.accept().and_then(|(stream, _)| Visitor::new(stream, &self.door, now)) {
                Ok(visitor) => {
                    if self.visitors.len() >= MOST_VISITORS {
                        self.send_one_away();
                    }
                    self.visitors.push(visitor);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) => {
                    self.log.warn("server/metrics", format!("a connection could not be accepted: {error}"));
                    // Out of descriptors, most likely: without a pause this would turn in circles.
                    self.deaf_until = Some(now + PAUSE);
                    self.send_one_away();
                }
            }
        }
    }

    /// Those come first in `visitors` who came first.
    fn send_one_away(&mut self) {
        let silent = self.visitors.iter().position(|visitor| !visitor.has_asked());
        if !self.visitors.is_empty() {
            drop(self.visitors.remove(silent.unwrap_or(0)));
        }
    }

    /// Hands out a page that was made.
    fn take_page(&mut self, now: Instant) {
        let mut rings = [0; 8];
        while (&self.bell).read(&mut rings).is_ok_and(|count| count > 0) {}
        let Ok((order, paper, page)) = self.made.try_recv() else { return };
        self.is_ordered = false;
        let page = Arc::new(page);
        self.pages.push(Arc::downgrade(&page));
        let kind = match paper {
            Paper::Numbers => TEXT,
            Paper::Slow | Paper::Console(_) => JSON,
        };
        let head = match (paper, page.is_empty()) {
            (Paper::Console(_), true) => head("503 Service Unavailable", kind, 0, ""),
            _ => head("200 OK", kind, page.len(), ""),
        };
        self.visitors.retain_mut(|visitor| {
            !visitor.waits_for(order)
                || visitor.tell(head.clone(), Arc::clone(&page), now) == VisitorProgress::Stays
        });
    }

    /// Orders numbers for those who wait for some, if there are not too many about.
    fn order_page(&mut self) {
        self.pages.retain(|page| page.strong_count() > 0);
        let Some(paper) = self.visitors.iter().find_map(Visitor::wants_an_order) else { return };
        if self.is_ordered || self.pages.len() >= MOST_PAGES {
            return;
        }
        if self.orders.try_send((self.order + 1, paper)).is_ok() {
            self.order += 1;
            self.is_ordered = true;
            self.visitors.iter_mut().for_each(|visitor| visitor.on_order(paper, self.order));
        }
    }
}

/// What the pages are.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";
const JSON: &str = "application/json";

/// The head of an answer, with lines of headers beside those that all have.
fn head(status: &str, kind: &str, len: usize, more: &str) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n\
         Content-Length: {len}\r\n{more}Connection: close\r\n\r\n"
    );
    head.into_bytes()
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::*;
    use crate::metrics::Phase;

    fn ask(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).expect("somebody listens");
        stream.write_all(request.as_bytes()).expect("the request is short");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer comes, then the end");
        answer
    }

    #[test]
    fn the_pages_are_served_and_nothing_else() {
        let metrics = Metrics::default();
        metrics.add(|page| page.counter("answers_total", "Answers.", &[], 42));
        let (log, _writer) = Log::start(Box::new(std::io::sink())).expect("a thread starts");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let health = Health::default();
        let address = serve(listener, Door::default(), &metrics, &health, &log).expect("threads start");

        let page = ask(address, "GET /metrics?x=1 HTTP/1.1\r\nHost: here\r\n\r\n");
        assert!(page.starts_with("HTTP/1.1 200 OK\r\n") && page.ends_with("\nanswers_total 42\n"), "{page}");
        let get = |path| ask(address, &format!("GET {path} HTTP/1.1\r\nHost: here\r\n\r\n"));
        assert!(get("/healthz").starts_with("HTTP/1.1 200 OK\r\n"), "alive while it starts");
        let early = get("/readyz");
        assert!(early.starts_with("HTTP/1.1 503 ") && early.ends_with("\r\n\r\nstarting\n"), "{early}");
        health.enter(Phase::Ready);
        assert!(get("/readyz").starts_with("HTTP/1.1 200 OK\r\n"));

        assert!(ask(address, "GET /other HTTP/1.0\r\n\r\n").starts_with("HTTP/1.1 404 "));
        assert!(get("/slow").ends_with("\r\n\r\n{\"requests\":[]}"), "nothing is recorded yet");
        assert!(get("/console/data?since=3").starts_with("HTTP/1.1 503 "));
        let page = get("/");
        assert!(
            page.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/html") && page.ends_with("</html>\n")
        );
        assert!(page.contains("\r\nContent-Security-Policy: default-src 'none'; script-src 'self'; "));
        let tag = page.lines().find_map(|line| line.strip_prefix("ETag: ")).expect("a tag");
        let again = ask(address, &format!("GET /console HTTP/1.1\r\nIf-None-Match: {tag}\r\n\r\n"));
        assert!(again.starts_with("HTTP/1.1 304 Not Modified\r\n") && again.ends_with("\r\n\r\n"));
        assert!(ask(address, "POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
    }

    #[test]
    fn who_gives_no_password_learns_whether_the_process_lives_and_no_more() {
        let metrics = Metrics::default();
        metrics.add(|page| page.counter("answers_total", "Answers.", &[], 42));
        let (log, _writer) = Log::start(Box::new(std::io::sink())).expect("a thread starts");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let door = Door::new(None, Some(("prom", "secret")));
        let address = serve(listener, door, &metrics, &Health::default(), &log).expect("threads start");
        let get = |path, more| ask(address, &format!("GET {path} HTTP/1.1\r\n{more}\r\n"));
        for path in ["/metrics", "/slow", "/console/data", "/", "/other"] {
            let refused = get(path, "");
            assert!(
                refused.starts_with("HTTP/1.1 401 ") && refused.contains("\r\nWWW-Authenticate: Basic "),
                "{refused}"
            );
            assert_eq!(get(path, "Authorization: Basic cHJvbTpzZWNyZXQx\r\n"), refused);
        }
        assert!(ask(address, "POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 401 "));
        assert!(get("/healthz", "").starts_with("HTTP/1.1 200 OK\r\n"));
        assert!(get("/readyz", "").ends_with("\r\n\r\nstarting\n"));
        assert!(
            get("/metrics", "Authorization: Basic cHJvbTpzZWNyZXQ=\r\n").ends_with("\nanswers_total 42\n")
        );
    }

    #[test]
    fn no_visitor_waits_for_another() {
        let metrics = Metrics::default();
        let long: &str = "x".repeat(8 << 20).leak(); // more than sockets take from us
        metrics.add(move |page| page.counter("answers_total", long, &[], 42));
        let (log, _writer) = Log::start(Box::new(std::io::sink())).expect("a thread starts");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address =
            serve(listener, Door::default(), &metrics, &Health::default(), &log).expect("threads start");
        let connect = || TcpStream::connect(address).expect("somebody listens");
        let healthz = || ask(address, "GET /healthz HTTP/1.1\r\n\r\n");
        let is_there = |visitor: &mut TcpStream| {
            visitor.set_nonblocking(true).expect("a socket");
            visitor.read(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
        };

        let mut silent: Vec<TcpStream> = (0..40).map(|_| connect()).collect();
        assert!(healthz().ends_with("\r\n\r\nalive\n"));
        assert!(is_there(&mut silent[0]), "it was answered before a silent one was let go");

        // Asks for the numbers and does not read them: one more than may hold a page.
        let slow: Vec<TcpStream> = (0..=MOST_PAGES)
            .map(|_| {
                let mut stream = connect();
                stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").expect("the request is short");
                stream
            })
            .collect();
        assert!(healthz().ends_with("\r\n\r\nalive\n"));
        drop(slow);
        assert!(ask(address, "GET /metrics HTTP/1.1\r\n\r\n").ends_with("\nanswers_total 42\n"));

        let mut many: Vec<TcpStream> = (0..2 * MOST_VISITORS).map(|_| connect()).collect();
        assert!(healthz().ends_with("\r\n\r\nalive\n"));
        assert!(!is_there(&mut many[0]), "there are so many at most");
    }
}
