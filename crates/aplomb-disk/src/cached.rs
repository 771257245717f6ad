//! Reads of what is in the page cache, and of nothing else.
//!
//! Always holds: no thread waits for the device here. What the kernel does not have is `None`, and
//! the caller takes another way.

use std::os::fd::AsFd;

use bytes::Bytes;

use crate::steps::{self, Patience};

/// Reads `len` bytes at `at` if all of them are in the page cache; a file that ends earlier has not
/// got them.
pub(crate) fn read_cached(file: impl AsFd, at: u64, len: u64) -> Option<Bytes> {
    let len = usize::try_from(len).ok()?;
    let mut bytes = Vec::with_capacity(len);
    while bytes.len() < len {
        // A signal, a missing page, an error: the other way finds out which.
        steps::read(&file, at, &mut bytes, len, Patience::None).ok().filter(|read| *read > 0)?;
    }
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
