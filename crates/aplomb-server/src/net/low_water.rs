//! How much has to have come before a socket says so (`SO_RCVLOWAT`): while much of a frame is
//! missing, a wake-up for each segment of it would find work that cannot be done yet.
//!
//! What always holds: a mark is at most what is still to come of the frame at hand, and taken away
//! when the frame has come. So what comes is heard of; the kernel speaks up earlier where its
//! buffer or the client's end does not let so much come.
#![expect(unsafe_code, reason = "rustix has no SO_RCVLOWAT")]

use std::os::fd::{AsRawFd as _, BorrowedFd};

/// The highest mark, in bytes: who sends 100 bytes a second is still heard of before
/// `connections.max.idle.ms` is over.
const HIGHEST: usize = 32 * 1024;

/// Below so much a wake-up more is not worth a system call, in bytes.
const LOWEST: usize = 8 * 1024;

/// A socket's mark.
#[derive(Debug)]
pub(crate) struct LowWater(usize);

impl Default for LowWater {
    fn default() -> Self {
        Self(1)
    }
}

impl LowWater {
    /// So many bytes are still to come of a frame, at least; zero: it is not known what comes.
    pub(crate) fn expect(&mut self, bytes: usize, socket: BorrowedFd<'_>) {
        let mark = if bytes < LOWEST { 1 } else { bytes.min(HIGHEST) };
        if mark != self.0 && set(socket, mark) {
            self.0 = mark;
        }
    }
}

/// Gives whether the socket has such a mark now. One that is none of TCP's may have none.
fn set(socket: BorrowedFd<'_>, mark: usize) -> bool {
    let mark = libc::c_int::try_from(mark).expect("a mark is small");
    let size = libc::socklen_t::try_from(size_of_val(&mark)).expect("a number is small");
    // SAFETY: the kernel reads `mark`, which has that size, and keeps no reference to it.
    let set = unsafe {
        let option = (&raw const mark).cast();
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVLOWAT, option, size)
    };
    set == 0
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd as _;

    use rustix::event::{PollFd, PollFlags, poll};

    use super::*;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let there = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
        let (here, _) = listener.accept().expect("somebody came");
        (there, here)
    }

    fn is_heard(socket: &TcpStream) -> bool {
        let patience = rustix::time::Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
        poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&patience)).expect("a socket") == 1
    }

    #[test]
    fn a_socket_is_silent_until_as_much_has_come_or_its_end() {
        let (mut there, mut here) = pair();
        let mut mark = LowWater::default();
        mark.expect(20_000, here.as_fd());
        there.write_all(&[1; 19_999]).expect("there is room");
        assert!(!is_heard(&here));
        there.write_all(&[1]).expect("there is room");
        assert!(is_heard(&here));
        here.read_exact(&mut [0; 20_000]).expect("they are here");
        mark.expect(0, here.as_fd());
        there.write_all(&[1]).expect("there is room");
        assert!(is_heard(&here), "of a frame that is not known each byte counts");
        here.read_exact(&mut [0]).expect("it is here");
        mark.expect(1 << 30, here.as_fd());
        there.write_all(&[1]).expect("there is room");
        assert!(!is_heard(&here));
        drop(there);
        assert!(is_heard(&here), "the end is heard of");
    }

    #[test]
    fn a_mark_that_is_lowered_lets_what_is_here_be_heard() {
        let (mut there, here) = pair();
        let mut mark = LowWater::default();
        mark.expect(10_000, here.as_fd());
        there.write_all(&[1; 9_000]).expect("there is room");
        assert!(!is_heard(&here));
        mark.expect(100, here.as_fd());
        assert!(is_heard(&here));
    }

    #[test]
    fn a_small_buffer_is_heard_of_when_it_is_full() {
        let (mut there, here) = pair();
        rustix::net::sockopt::set_socket_recv_buffer_size(&here, 4096).expect("a size");
        LowWater::default().expect(HIGHEST, here.as_fd());
        there.set_nonblocking(true).expect("a socket");
        while there.write(&[1; 4096]).is_ok() {}
        assert!(is_heard(&here));
    }
}
