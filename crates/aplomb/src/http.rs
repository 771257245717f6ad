//! GET of HTTP/1.1, no more of it than a set of keys or a page of figures needs: one request a
//! connection, no redirects.
//!
//! What always holds: all of it together takes no longer than it may, however slowly a server
//! speaks; and no more is read than may be. The host's name is resolved before that, in the time
//! that the system's resolver gives itself.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use aplomb_broker::config::{HttpUrl, Secret};
use aplomb_security::client::{Channel, ClientSecurity, TlsFault};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::ClientConfig;
use zeroize::Zeroizing;

/// The most bytes of an answer beside its body: its head, and what is between the chunks of it.
const ROUND: u64 = 256 * 1024;

/// The longest line of it.
const LONGEST_LINE: u64 = 16 * 1024;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpFault {
    #[error("the host cannot be resolved: {0}")]
    Host(std::io::Error),
    #[error("{0}")]
    Network(#[from] std::io::Error),
    #[error("it has not answered within {0:?}")]
    Late(Duration),
    #[error("TLS: {0}")]
    Tls(#[from] TlsFault),
    #[error("the answer is not HTTP")]
    Form,
    #[error("the answer is {0}, and not 200")]
    Status(u16),
    #[error("the answer is longer than {0} bytes")]
    TooLong(usize),
    #[error("the answer is cut off")]
    CutOff,
}

/// What a server has at a place, `most` bytes of it at most. `login`: a name and a password, if it
/// wants them.
pub(crate) fn get(
    url: &HttpUrl,
    tls: Option<Arc<ClientConfig>>,
    login: Option<(&str, &Secret)>,
    patience: Duration,
    most: usize,
) -> Result<Vec<u8>, HttpFault> {
    let deadline = Instant::now() + patience;
    ask(url, tls, login, deadline, most).map_err(|fault| match fault {
        HttpFault::Network(error) if tls_fault(&error).is_some() => {
            tls_fault(&error).map_or(HttpFault::Form, HttpFault::Tls)
        }
        HttpFault::Network(error) if is_late(&error) => HttpFault::Late(patience),
        HttpFault::Network(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => HttpFault::CutOff,
        other => other,
    })
}

fn tls_fault(error: &std::io::Error) -> Option<TlsFault> {
    error.get_ref()?.downcast_ref::<TlsFault>().cloned()
}

fn is_late(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)
}

fn ask(
    url: &HttpUrl,
    tls: Option<Arc<ClientConfig>>,
    login: Option<(&str, &Secret)>,
    deadline: Instant,
    most: usize,
) -> Result<Vec<u8>, HttpFault> {
    let socket = connect(url, deadline)?;
    let authorization = login.map_or_else(Zeroizing::default, |(user, password)| {
        let pair = Zeroizing::new(format!("{user}:{}", password.reveal()));
        Zeroizing::new(format!("Authorization: Basic {}\r\n", STANDARD.encode(&*pair)))
    });
    let request = Zeroizing::new(format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\nAccept: application/json\r\nUser-Agent: aplomb/{}\r\n{}Connection: close\r\n\r\n",
        url.target,
        url.authority(),
        env!("CARGO_PKG_VERSION"),
        *authorization
    ));
    let channel = Channel::new(socket, &ClientSecurity { tls, login: None }, &url.host)?;
    exchange(channel, &request, most)
}

fn connect(url: &HttpUrl, deadline: Instant) -> Result<Timed, HttpFault> {
    let mut last = HttpFault::Host(std::io::ErrorKind::NotFound.into());
    for address in (url.host.as_str(), url.port).to_socket_addrs().map_err(HttpFault::Host)? {
        match TcpStream::connect_timeout(&address, left(deadline)?) {
            Ok(stream) => return Ok(Timed { stream, deadline }),
            Err(error) => last = error.into(),
        }
    }
    Err(last)
}

fn left(deadline: Instant) -> std::io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(std::io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// A socket that all together has until its deadline.
struct Timed {
    stream: TcpStream,
    deadline: Instant,
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.stream.set_read_timeout(Some(left(self.deadline)?))?;
        self.stream.read(buffer)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.stream.set_write_timeout(Some(left(self.deadline)?))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.stream.flush()
    }
}

fn exchange(mut wire: impl Read + Write, request: &str, most: usize) -> Result<Vec<u8>, HttpFault> {
    wire.write_all(request.as_bytes())?;
    wire.flush()?;
    read_answer(&mut BufReader::new(wire.take(most as u64 + ROUND)), most)
}

/// How long a body is.
enum BodyLength {
    Known(usize),
    /// In chunks, each of which says how long it is.
    Chunked,
    /// As long as the connection lasts.
    UntilClosed,
}

fn read_answer(answer: &mut impl BufRead, most: usize) -> Result<Vec<u8>, HttpFault> {
    let status = line(answer)?;
    let (version, rest) = status.split_once(' ').ok_or(HttpFault::Form)?;
    let status: u16 = rest.get(..3).and_then(|code| code.parse().ok()).ok_or(HttpFault::Form)?;
    if !version.starts_with("HTTP/1.") {
        return Err(HttpFault::Form);
    }
    if status != 200 {
        return Err(HttpFault::Status(status));
    }
    match head(answer)? {
        BodyLength::Known(length) if length > most => Err(HttpFault::TooLong(most)),
        BodyLength::Known(length) => {
            let mut body = vec![0; length];
            answer.read_exact(&mut body)?;
            Ok(body)
        }
        BodyLength::Chunked => chunks(answer, most),
        BodyLength::UntilClosed => {
            let mut body = Vec::new();
            answer.take(most as u64 + 1).read_to_end(&mut body)?;
            if body.len() > most { Err(HttpFault::TooLong(most)) } else { Ok(body) }
        }
    }
}

/// What the head says of the body.
fn head(answer: &mut impl BufRead) -> Result<BodyLength, HttpFault> {
    let mut length = BodyLength::UntilClosed;
    loop {
        let field = line(answer)?;
        if field.is_empty() {
            return Ok(length);
        }
        let (name, value) = field.split_once(':').ok_or(HttpFault::Form)?;
        let value = value.trim();
        if name.eq_ignore_ascii_case("transfer-encoding") {
            if !value.eq_ignore_ascii_case("chunked") {
                return Err(HttpFault::Form);
            }
            length = BodyLength::Chunked;
        } else if name.eq_ignore_ascii_case("content-length") && !matches!(length, BodyLength::Chunked) {
            length = BodyLength::Known(value.parse().map_err(|_| HttpFault::Form)?);
        }
    }
}

fn chunks(answer: &mut impl BufRead, most: usize) -> Result<Vec<u8>, HttpFault> {
    let mut body = Vec::new();
    loop {
        let size = line(answer)?;
        let size = size.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).map_err(|_| HttpFault::Form)?;
        if size == 0 {
            return Ok(body);
        }
        if size > most - body.len() {
            return Err(HttpFault::TooLong(most));
        }
        let begin = body.len();
        body.resize(begin + size, 0);
        answer.read_exact(&mut body[begin..])?;
        if !line(answer)?.is_empty() {
            return Err(HttpFault::Form);
        }
    }
}

/// A line, without its end.
fn line(answer: &mut impl BufRead) -> Result<String, HttpFault> {
    let mut line = Vec::new();
    answer.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)?;
    if line.pop() != Some(b'\n') {
        return Err(if line.len() as u64 + 1 >= LONGEST_LINE { HttpFault::Form } else { HttpFault::CutOff });
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    String::from_utf8(line).map_err(|_| HttpFault::Form)
}

#[cfg(test)]
mod tests;
