//! Copying in small steps, with others let in between.
//!
//! The kernel takes a processor from a thread at a tick, which may be 4 ms away, and a request that
//! comes a moment after the last one waits for as long, whatever its thread's priority. So no thread
//! of this crate copies more than a step before it lets ready ones run. `aplomb lab run
//! inode-lock` shows it: on two processors, with a consumer that takes 100 MB/s of old records, 99
//! of 100 records of producers took 2.9 to 3.3 ms without steps and 2.2 to 2.4 ms with them (1.6 ms
//! without that consumer; medians of the seconds). A step is a compromise: letting others run puts
//! a thread behind them for a while, so that smaller ones starve a reader on a machine whose
//! processors are all busy.
#![expect(
    unsafe_code,
    reason = "a read into memory that nobody has filled yet has no safe wrapper with flags"
)]

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::thread;

/// Bytes of a step: a tenth of a millisecond, or two.
pub(crate) const STEP: usize = 256 << 10;

/// Bytes from which on a read has taken long enough to let others run: less takes no longer than
/// that itself.
const LONG: usize = 32 << 10;

/// Whether a read waits for the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// It does.
    Waits,
    /// It ends where it would have to: `RWF_NOWAIT` (preadv2(2), Linux 4.14). A file system that
    /// does not know the flag says so.
    None,
}

/// Reads a step of what `bytes` has not got of its first `len` bytes, which stand at `at` in the
/// file; gives the number of bytes, none at the file's end.
///
/// # Errors
/// Those of preadv2(2).
pub(crate) fn read(
    file: impl AsFd,
    at: u64,
    bytes: &mut Vec<u8>,
    len: usize,
    patience: Patience,
) -> io::Result<usize> {
    let missing = len.saturating_sub(bytes.len()).min(STEP);
    let place = at.checked_add(bytes.len() as u64).and_then(|place| libc::off_t::try_from(place).ok());
    let place = place.ok_or(io::ErrorKind::InvalidInput)?;
    bytes.reserve_exact(missing);
    let room = &mut bytes.spare_capacity_mut()[..missing];
    let vector = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: missing };
    let flags = match patience {
        Patience::Waits => 0,
        Patience::None => libc::RWF_NOWAIT,
    };
    // SAFETY: the kernel writes at most `missing` bytes to where `bytes` has room for them, and
    // no other thread knows that room.
    let read = unsafe { libc::preadv2(file.as_fd().as_raw_fd(), &raw const vector, 1, place, flags) };
    let read = usize::try_from(read).map_err(|_| io::Error::last_os_error())?;
    // SAFETY: the kernel has just written so many.
    unsafe { bytes.set_len(bytes.len() + read) };
    if read >= LONG {
        let_others_in();
    }
    Ok(read)
}

/// A thread that is ready runs first.
pub(crate) fn let_others_in() {
    thread::yield_now();
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// Two steps and a part of one.
    const CONTENT: usize = 2 * STEP + 70_000;

    #[test]
    fn steps_come_to_the_whole_and_end_with_the_file() {
        let mut file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).expect("a file for the test");
        let content: Vec<u8> = (0..CONTENT).map(|at| (at % 251) as u8).collect();
        file.write_all(&content).expect("there is room");
        let mut bytes = Vec::new();
        let mut step =
            || read(&file, 1_000, &mut bytes, 2 * CONTENT, Patience::Waits).expect("it can be read");
        assert_eq!([step(), step(), step(), step()], [STEP, STEP, CONTENT - 1_000 - 2 * STEP, 0]);
        assert!(bytes == content[1_000..]);
        assert_eq!(
            read(&file, 0, &mut bytes, CONTENT - 1_000, Patience::Waits).expect("nothing is missing"),
            0
        );
    }

    #[test]
    fn an_error_adds_nothing() {
        let (_, pipe) = io::pipe().expect("a pipe");
        let mut bytes = b"there".to_vec();
        let error = read(&pipe, 0, &mut bytes, 100, Patience::Waits).expect_err("pipes have no places");
        assert_eq!((error.kind(), &bytes[..]), (io::ErrorKind::NotSeekable, &b"there"[..]));
        read(&pipe, u64::MAX, &mut bytes, 100, Patience::Waits).expect_err("no file is so long");
    }
}
