//! Small files of `/proc` and `/sys`, read again and again.
//!
//! What always holds: a file is opened for reading, and only these filesystems' files are: none of
//! them waits for a device.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// What is read here is within the first bytes of a file; sockets and mounts are read
/// whole by [`read`].
const ROOM: usize = 16 << 10;

/// A file that stays open: reading it anew costs a third of opening it.
#[derive(Debug)]
pub(crate) struct Kept {
    file: File,
    text: Vec<u8>,
}

impl Kept {
    /// Opens it.
    ///
    /// # Errors
    /// When it is not there, or not for us to read.
    pub(crate) fn open(path: &str) -> io::Result<Self> {
        Ok(Self { file: File::open(path)?, text: vec![0; ROOM] })
    }

    /// What it says now; `None` when what it spoke of is gone.
    pub(crate) fn read(&mut self) -> Option<&str> {
        let length = self.file.read_at(&mut self.text, 0).ok()?;
        std::str::from_utf8(self.text.get(..length)?).ok()
    }
}

/// What a file says; `None` where it is not there, not for us, or no text.
pub(crate) fn read(path: impl AsRef<Path>) -> Option<String> {
    let bytes = std::fs::read(path).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// A time to the microsecond: more would be noise in a recording, and would not read back as it was
/// written.
pub(crate) fn micro(ms: f64) -> f64 {
    (ms * 1e3).round() / 1e3
}

/// The number in a row of numbers, counted from 0.
pub(crate) fn nth<T: std::str::FromStr>(text: &str, index: usize) -> Option<T> {
    text.split_ascii_whitespace().nth(index)?.parse().ok()
}

/// The number behind a name in a table of `name number` rows, as in `vmstat` and `meminfo`.
pub(crate) fn named(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let rest = line.strip_prefix(name)?;
        let rest = rest.strip_prefix(':').unwrap_or(rest);
        rest.starts_with([' ', '\t']).then(|| nth(rest, 0)).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_by_their_whole_name() {
        let text = "nr_dirty 12\nnr_dirty_threshold 900\nDirty:            44 kB\nDirtyish: 1\n";
        assert_eq!(named(text, "nr_dirty"), Some(12));
        assert_eq!(named(text, "Dirty"), Some(44));
        assert_eq!(named(text, "nr_dir"), None);
        assert_eq!(nth::<u64>("1 2 3", 2), Some(3));
        assert_eq!(nth::<u64>("1 2 3", 3), None);
    }

    #[test]
    fn a_kept_file_is_read_anew() {
        let mut kept = Kept::open("/proc/self/stat").expect("it is ours");
        assert!(kept.read().is_some_and(|text| text.contains(") ")));
        assert!(kept.read().is_some());
        assert!(Kept::open("/proc/nothing").is_err());
    }
}
