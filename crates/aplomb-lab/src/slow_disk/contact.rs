//! Talking to a disk's daemon.

use std::io;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::net::sockopt::socket_peercred;
use rustix::process::{PidfdFlags, pidfd_open};

use super::daemon;
use super::error::{DiskError, io_error};
use super::place::Place;
use super::protocol::{self, Answer, Request, Status};

/// For how long a daemon may take to answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// What goes on in the disk of this place.
pub(super) fn status_of(place: &Place) -> Result<Status, DiskError> {
    match ask(place, &Request::Status, PATIENCE)? {
        Answer::Status(status) => Ok(*status),
        other => Err(unexpected(other)),
    }
}

/// An answer to something else, or a failure.
pub(super) fn unexpected(answer: Answer) -> DiskError {
    match answer {
        Answer::Failed(why) => DiskError::Refused(why),
        other => DiskError::Refused(format!("the daemon answers something else: {other:?}")),
    }
}

/// Asks a daemon for something. After a [`Request::Destroy`] that succeeds its process is gone too.
pub(super) fn ask(place: &Place, request: &Request, patience: Duration) -> Result<Answer, DiskError> {
    let gone = || DiskError::Gone(place.name().to_owned());
    let mut stream = UnixStream::connect(place.socket()).map_err(|why| match why.kind() {
        io::ErrorKind::NotFound if !place.directory().exists() => DiskError::Unknown(place.name().to_owned()),
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => gone(),
        _ => DiskError::Io { doing: "the disk's daemon cannot be reached", why },
    })?;
    let failed = io_error("the disk's daemon does not answer");
    stream.set_read_timeout(Some(patience)).map_err(&failed)?;
    stream.set_write_timeout(Some(patience)).map_err(&failed)?;
    // Taken before, since a process that is gone cannot be waited for.
    let daemon = socket_peercred(&stream)
        .and_then(|peer| pidfd_open(peer.pid, PidfdFlags::empty()))
        .map_err(|_| gone())?;
    let told = protocol::say(&mut stream, request);
    let answer = told.and_then(|()| protocol::hear(&mut stream)).map_err(|why| match why.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => gone(),
        _ => failed(why),
    })?;
    if matches!(answer, Answer::Destroyed { .. }) {
        daemon::await_end(&daemon);
    }
    Ok(answer)
}
