//! Reads of what is in the page cache, and of nothing else.
//!
//! Always holds: no thread waits for the device here. What the kernel does not have is `None`, and
//! the caller takes another way.

use std::ops::Range;
use std::os::fd::AsFd;

use bytes::Bytes;

use crate::steps::{self, Patience};

/// Bytes between two looks: what the kernel reads ahead at a time, at least.
const PROBE: usize = 128 << 10;

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

/// Whether a range is likely to be in the page cache: a byte of every so many is, as far as the
/// file reaches.
pub(crate) fn seems_cached(file: impl AsFd, range: Range<u64>) -> bool {
    let probes = range.clone().step_by(PROBE).chain([range.end.saturating_sub(1)]);
    let mut byte = Vec::with_capacity(1);
    for at in probes {
        byte.clear();
        match steps::read(&file, at, &mut byte, 1, Patience::None) {
            Ok(0) => break,
            Ok(_) => {}
            Err(_) => return false,
        }
    }
    true
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
        assert!(seems_cached(&file, 0..100_000) && seems_cached(&file, 90_000..1 << 30));
        assert_eq!(read_cached(&file, 99_000, 2_000), None);
        assert_eq!(read_cached(&file, u64::MAX, 1), None);
    }
}
