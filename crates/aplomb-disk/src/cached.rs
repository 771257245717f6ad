//! Reads of what is in the page cache, and of nothing else.
//!
//! Always holds: no thread waits for the device here. What the kernel does not have is `None`, and the caller takes another way.
#![expect(
    unsafe_code,
    reason = "a read into memory that nobody has filled yet has no safe wrapper with flags"
)]

use std::os::fd::{AsFd, AsRawFd};

use bytes::Bytes;

/// Reads `len` bytes at `at` if all of them are in the page cache; a file that ends earlier has not got them.
///
/// `RWF_NOWAIT` (preadv2(2), Linux 4.14): the call ends where it would have to wait. A file system that does not know the flag says so,
/// and then nothing is found here.
pub(crate) fn read_cached(file: impl AsFd, at: u64, len: u64) -> Option<Bytes> {
    let len = usize::try_from(len).ok()?;
    let at = libc::off_t::try_from(at).ok()?;
    let mut bytes: Vec<u8> = Vec::with_capacity(len);
    let place = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: len };
    // SAFETY: the kernel writes at most `len` bytes to where `bytes` has room for them, and nobody else knows that room.
    let read = unsafe { libc::preadv2(file.as_fd().as_raw_fd(), &raw const place, 1, at, libc::RWF_NOWAIT) };
    // A signal, a missing page, an error: the other way finds out which.
    if usize::try_from(read).ok()? < len {
        return None;
    }
    // SAFETY: the kernel has just written all of them.
    unsafe { bytes.set_len(len) };
    Some(Bytes::from(bytes))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn what_was_just_written_is_there_and_what_lies_beyond_is_not() {
        let mut file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).expect("a file for the test");
        let content: Vec<u8> = (0..100_000_u32).map(|at| (at % 251) as u8).collect();
        file.write_all(&content).expect("there is room");
        match read_cached(&file, 5_000, 70_000) {
            Some(bytes) => assert!(bytes == content[5_000..75_000]),
            None => eprintln!("skipped: this file system does not read without waiting"),
        }
        assert_eq!(read_cached(&file, 99_000, 2_000), None);
        assert_eq!(read_cached(&file, u64::MAX, 1), None);
    }
}
