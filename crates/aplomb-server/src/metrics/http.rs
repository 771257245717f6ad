//! The page over HTTP: `GET /metrics`, one request a connection, from a thread that carries no requests.
//!
//! What always holds: a visitor has a few seconds and a few kilobytes; visitors wait for each other and for nobody else.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use super::Metrics;
use crate::log::Log;

/// How long a visitor may take to ask, and to read.
const PATIENCE: Duration = Duration::from_secs(3);

/// How many reads, of up to a kilobyte each, the head of a request may take.
const MAX_READS: usize = 8;

/// Serves the page at `listener` from a thread of its own for as long as the process lives. Gives the address.
///
/// # Errors
/// If the listener has no address or there is no thread.
pub fn serve(listener: TcpListener, metrics: Metrics, log: Log) -> std::io::Result<SocketAddr> {
    let address = listener.local_addr()?;
    std::thread::Builder::new().name("aplomb-metrics".to_owned()).spawn(move || {
        for visitor in listener.incoming() {
            match visitor {
                // A visitor who leaves early has lost nothing that we owe.
                Ok(stream) => drop(answer(stream, &metrics)),
                Err(error) => {
                    log.warn("server/metrics", format!("a connection could not be accepted: {error}"));
                    // Out of descriptors, most likely: without a pause this would turn in circles.
                    std::thread::park_timeout(PATIENCE);
                }
            }
        }
    })?;
    Ok(address)
}

fn answer(mut stream: TcpStream, metrics: &Metrics) -> std::io::Result<()> {
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
        Some(("GET", _)) => ("404 Not Found", "the numbers are at /metrics\n".to_owned()),
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

    fn ask(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).expect("somebody listens");
        stream.write_all(request.as_bytes()).expect("the request is short");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer comes, then the end");
        answer
    }

    #[test]
    fn the_page_is_served_and_nothing_else() {
        let metrics = Metrics::default();
        metrics.add(|page| page.counter("answers_total", "Answers.", &[], 42));
        let (log, _writer) = Log::start(Box::new(std::io::sink())).expect("a thread starts");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = serve(listener, metrics, log).expect("a thread starts");

        let page = ask(address, "GET /metrics?x=1 HTTP/1.1\r\nHost: here\r\n\r\n");
        assert!(page.starts_with("HTTP/1.1 200 OK\r\n") && page.ends_with("\nanswers_total 42\n"), "{page}");
        assert!(ask(address, "GET / HTTP/1.0\r\n\r\n").starts_with("HTTP/1.1 404 "));
        assert!(ask(address, "POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
    }
}
