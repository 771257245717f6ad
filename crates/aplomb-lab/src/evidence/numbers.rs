//! How a broker's numbers are asked for while it is measured: nobody waits for the answer before
//! the end of the run.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use aplomb_doctor::attach::RequestStages;

use super::metrics::Metrics;
use crate::brokers::{NumbersAt, dies_with_the_lab};

/// How long an answer is waited for, and each step of fetching a page.
const PATIENCE: Duration = Duration::from_secs(5);

/// An open way to a broker's numbers.
#[derive(Debug)]
pub(crate) struct Numbers(Way);

#[derive(Debug)]
enum Way {
    Page(String),
    Jmx(RequestStages),
}

impl Numbers {
    /// Does what takes time before there can be an answer; seconds, with a JVM.
    ///
    /// # Errors
    /// When there is no way to them.
    pub(crate) fn open(at: &NumbersAt) -> io::Result<Self> {
        Ok(Self(match at {
            NumbersAt::Page { address } => Way::Page(address.clone()),
            NumbersAt::Jvm { java, pid } => Way::Jmx(RequestStages::open(java, *pid, dies_with_the_lab)?),
        }))
    }

    /// Asks for the numbers as they are now.
    pub(crate) fn ask(&mut self) -> Asked {
        Asked(match &mut self.0 {
            Way::Jmx(program) => program.ask(),
            Way::Page(address) => {
                let (sender, answer) = channel();
                let address = address.clone();
                // Without a thread, or without a page, the sender is dropped, and there is no
                // answer.
                let fetch = move || fetch(&address).map(|page| sender.send(page));
                let _ = thread::Builder::new().name("lab-numbers".to_owned()).spawn(fetch);
                answer
            }
        })
    }
}

/// An answer that is under way.
#[derive(Debug)]
pub(crate) struct Asked(Receiver<String>);

impl Asked {
    /// The answer, if it comes.
    #[must_use]
    pub(crate) fn answer(self) -> Option<Metrics> {
        self.0.recv_timeout(PATIENCE).ok().map(Metrics::from)
    }
}

/// Fetches `/metrics` from `address`, a `host:port`.
fn fetch(address: &str) -> io::Result<String> {
    let address = address.to_socket_addrs()?.next().ok_or(io::ErrorKind::NotFound)?;
    let mut socket = TcpStream::connect_timeout(&address, PATIENCE)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.write_all(b"GET /metrics HTTP/1.0\r\nHost: lab\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer)?;
    match answer.split_once("\r\n\r\n") {
        Some((head, page)) if head.split(' ').nth(1) == Some("200") => Ok(page.to_owned()),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// Answers one request with `head` and a page.
    fn server(head: &'static str) -> String {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let address = listener.local_addr().expect("it has one").to_string();
        thread::spawn(move || {
            let (mut socket, _) = listener.accept().expect("a request");
            let mut request = [0; 512];
            let _ = socket.read(&mut request).expect("its bytes");
            write!(socket, "HTTP/1.0 {head}\r\n\r\naplomb_guard_violations_total 3\n").expect("it reads");
        });
        address
    }

    fn answer(address: String) -> Option<Metrics> {
        Numbers::open(&NumbersAt::Page { address }).expect("a page needs no preparation").ask().answer()
    }

    #[test]
    fn a_page_is_an_answer_and_anything_else_is_none() {
        assert_eq!(answer(server("200 OK")).and_then(|page| page.guard_violations()), Some(3));
        assert!(answer(server("503 Service Unavailable")).is_none());
        assert!(answer("127.0.0.1:1".to_owned()).is_none());
    }
}
