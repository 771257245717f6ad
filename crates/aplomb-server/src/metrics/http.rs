//! The pages over HTTP: `GET /metrics`, `/healthz`, `/readyz`; one request a connection, from
//! threads that carry no requests of clients.
//!
//! What always holds: a visitor has a few seconds and a few kilobytes. Visitors may have to wait
//! for each other, and no client of the broker waits for them. There are several threads, so that a
//! look at the health does not wait behind a slow reader of a long page.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use super::{Health, Metrics};
use crate::log::Log;

/// How long a visitor may take to ask, and to read.
const PATIENCE: Duration = Duration::from_secs(3);

/// How many visitors are answered at once.
const THREADS: usize = 4;

/// The priority of the pages' threads, as `nice` counts.
const LESS_URGENT: i32 = 10;

/// How many reads, of up to a kilobyte each, the head of a request may take.
const MAX_READS: usize = 8;

/// Serves the pages at `listener` from threads of their own for as long as the process lives. Gives
/// the address.
///
/// # Errors
/// If the listener has no address or there is no thread.
pub fn serve(
    listener: TcpListener,
    metrics: &Metrics,
    health: &Health,
    log: &Log,
) -> std::io::Result<SocketAddr> {
    let address = listener.local_addr()?;
    for n in 0..THREADS {
        let listener = listener.try_clone()?;
        let (metrics, health, log) = (metrics.clone(), health.clone(), log.clone());
        let name = format!("aplomb-metrics-{n}");
        std::thread::Builder::new()
            .name(name)
            .spawn(move || answer_all(&listener, &metrics, &health, &log))?;
    }
    Ok(address)
}

fn answer_all(listener: &TcpListener, metrics: &Metrics, health: &Health, log: &Log) {
    // A page of many partitions is some work: where processors are short, that of requests goes
    // first. On Linux this is the thread's own priority; a kernel that refuses has its reasons.
    let _ = rustix::process::setpriority_process(None, LESS_URGENT);
    for visitor in listener.incoming() {
        match visitor {
            // A visitor who leaves early has lost nothing that we owe.
            Ok(stream) => drop(answer(stream, metrics, health)),
            Err(error) => {
                log.warn("server/metrics", format!("a connection could not be accepted: {error}"));
                // Out of descriptors, most likely: without a pause this would turn in circles.
                std::thread::park_timeout(PATIENCE);
            }
        }
    }
}

fn answer(mut stream: TcpStream, metrics: &Metrics, health: &Health) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut head = Vec::new();
    let mut buffer = [0; 1024];
    for _ in 0..MAX_READS {
        let count = stream.read(&mut buffer)?;
        head.extend_from_slice(&buffer[..count]);
        if count == 0 || head.windows(4).any(|end| end == b"\r\n\r\n") {
            break;
        }
    }
    let (status, body) = match request_line(&head) {
        Some(("GET", "/metrics")) => ("200 OK", metrics.render()),
        Some(("GET", "/healthz")) => told(health.liveness(crate::clock::instant())),
        Some(("GET", "/readyz")) => told(health.readiness(crate::clock::instant())),
        Some(("GET", _)) => {
            ("404 Not Found", "the numbers are at /metrics, the health at /healthz and /readyz\n".to_owned())
        }
        _ => ("405 Method Not Allowed", "GET is all that is answered here\n".to_owned()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

fn told(state: Result<String, String>) -> (&'static str, String) {
    match state {
        Ok(line) => ("200 OK", line + "\n"),
        Err(line) => ("503 Service Unavailable", line + "\n"),
    }
}

/// Method and path, without the query.
fn request_line(head: &[u8]) -> Option<(&str, &str)> {
    let line = std::str::from_utf8(head.split(|&byte| byte == b'\r').next()?).ok()?;
    let mut words = line.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    Some((method, target.split('?').next()?))
}

#[cfg(test)]
mod tests {
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
        let address = serve(listener, &metrics, &health, &log).expect("threads start");

        let page = ask(address, "GET /metrics?x=1 HTTP/1.1\r\nHost: here\r\n\r\n");
        assert!(page.starts_with("HTTP/1.1 200 OK\r\n") && page.ends_with("\nanswers_total 42\n"), "{page}");
        let get = |path| ask(address, &format!("GET {path} HTTP/1.1\r\nHost: here\r\n\r\n"));
        assert!(get("/healthz").starts_with("HTTP/1.1 200 OK\r\n"), "alive while it starts");
        let early = get("/readyz");
        assert!(early.starts_with("HTTP/1.1 503 ") && early.ends_with("\r\n\r\nstarting\n"), "{early}");
        health.enter(Phase::Ready);
        assert!(get("/readyz").starts_with("HTTP/1.1 200 OK\r\n"));

        let _silent: Vec<TcpStream> =
            (1..THREADS).map(|_| TcpStream::connect(address).expect("somebody listens")).collect();
        assert!(get("/healthz").ends_with("\r\n\r\nalive\n"), "visitors who say nothing are not waited for");
        assert!(ask(address, "GET / HTTP/1.0\r\n\r\n").starts_with("HTTP/1.1 404 "));
        assert!(ask(address, "POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
    }
}
