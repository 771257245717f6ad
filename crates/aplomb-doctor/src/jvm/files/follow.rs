//! A log that is being written, followed by polling.
//!
//! What always holds: a line is given when it is whole; when a log is rotated, its rest is given
//! before the next one's beginning; a poll reads 4 MiB at most. A file that was
//! rotated away *and* replaced a second time between two polls is not read.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::{LineCutter, PIECE, open};

/// The most bytes that a poll reads: about what a JVM's log gets in minutes.
const MOST_AT_ONCE: u64 = 4 << 20;

/// Where in a file to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowFrom {
    /// What it has now is given too.
    Start,
    /// Only what is written from now on.
    End,
    /// At so many bytes, as [`Follower::place`] said. A file that is shorter is another one: it is
    /// given from its start.
    Place(u64),
}

/// What a poll found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Polled {
    /// Bytes that were read.
    pub bytes: u64,
    /// The path now has another file, which is followed on from its start.
    pub rotated: bool,
    /// The file was emptied, and is followed on from its start.
    pub truncated: bool,
    /// There is more to read right now.
    pub more: bool,
}

/// Follows a log.
#[derive(Debug)]
pub struct Follower {
    path: PathBuf,
    /// Where to begin in the file that is opened next.
    from: FollowFrom,
    file: Option<File>,
    /// How far it has been read.
    at: u64,
    lines: LineCutter,
    /// Long lines of files before this one.
    cut_before: u64,
}

impl Follower {
    /// Follows the log at `path`, which need not be there yet: one that comes later is given from
    /// its start. Nothing is opened before the first poll.
    #[must_use]
    pub fn new(path: &Path, from: FollowFrom) -> Self {
        Self { path: path.to_owned(), from, file: None, at: 0, lines: LineCutter::default(), cut_before: 0 }
    }

    /// Gives the lines that were completed since the last poll.
    ///
    /// # Errors
    /// When the file cannot be opened or read. That there is none is no error.
    pub fn poll(&mut self, each: &mut dyn FnMut(&str)) -> io::Result<Polled> {
        let mut polled = Polled::default();
        // Looked at before the old file is read to its end: it gets no more lines once there is
        // another.
        let replacement = self.replacement()?;
        let Some(file) = &self.file else {
            if let Some(file) = replacement {
                self.begin(file)?;
                self.read(&mut polled, each)?;
            } else {
                self.from = FollowFrom::Start;
            }
            return Ok(polled);
        };
        if file.metadata()?.len() < self.at {
            polled.truncated = true;
            self.restart();
        }
        self.read(&mut polled, each)?;
        if let Some(file) = replacement.filter(|_| !polled.more) {
            polled.rotated = true;
            self.lines.finish(each);
            self.restart();
            self.file = Some(file);
            self.read(&mut polled, each)?;
        }
        Ok(polled)
    }

    /// The place behind the last line that was given, to go on from another time.
    #[must_use]
    pub fn place(&self) -> u64 {
        self.at - self.lines.unfinished()
    }

    /// How many lines were longer than [`super::MAX_LINE`], and lost their ends.
    #[must_use]
    pub fn cut(&self) -> u64 {
        self.cut_before + self.lines.cut()
    }

    /// The file that the path has, if it is not the one that is open.
    fn replacement(&self) -> io::Result<Option<File>> {
        if let Some(file) = &self.file {
            let is_same = |now: &std::fs::Metadata| -> io::Result<bool> {
                let open = file.metadata()?;
                Ok((now.dev(), now.ino()) == (open.dev(), open.ino()))
            };
            match std::fs::metadata(&self.path) {
                Ok(now) if is_same(&now)? => return Ok(None),
                Ok(_) => {}
                // In the middle of a rotation, or deleted while its writer goes on with it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        match open(&self.path) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens the first file where it is to be followed from.
    fn begin(&mut self, file: File) -> io::Result<()> {
        let length = file.metadata()?.len();
        self.at = match self.from {
            FollowFrom::Start => 0,
            FollowFrom::End => length,
            FollowFrom::Place(place) => {
                if place <= length {
                    place
                } else {
                    0
                }
            }
        };
        if let Some(before) = self.at.checked_sub(1) {
            let mut last = [b'\n'];
            file.read_at(&mut last, before)?;
            if last != *b"\n" {
                self.lines = LineCutter::amid_a_line();
            }
        }
        self.file = Some(file);
        Ok(())
    }

    /// Goes to the start of a file that is new or was emptied.
    fn restart(&mut self) {
        self.cut_before += self.lines.cut();
        self.lines = LineCutter::default();
        self.at = 0;
    }

    fn read(&mut self, polled: &mut Polled, each: &mut dyn FnMut(&str)) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let mut piece = vec![0; PIECE];
        loop {
            let room = MOST_AT_ONCE.saturating_sub(polled.bytes).min(PIECE as u64);
            if room == 0 {
                polled.more = file.metadata()?.len() > self.at;
                return Ok(());
            }
            match file.read_at(&mut piece[..room as usize], self.at) {
                Ok(0) => return Ok(()),
                Ok(count) => {
                    self.at += count as u64;
                    polled.bytes += count as u64;
                    self.lines.feed(&piece[..count], each);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;

    struct Log {
        folder: tempfile::TempDir,
    }

    impl Log {
        fn new() -> Self {
            Self { folder: tempfile::tempdir().expect("a folder") }
        }

        fn path(&self) -> PathBuf {
            self.folder.path().join("gc.log")
        }

        fn append(&self, text: &str) {
            let file = File::options().create(true).append(true).open(self.path());
            file.expect("open").write_all(text.as_bytes()).expect("written");
        }

        fn rotate(&self) {
            fs::rename(self.path(), self.folder.path().join("gc.log.0")).expect("renamed");
        }
    }

    fn poll(follower: &mut Follower) -> (Vec<String>, Polled) {
        let mut lines = Vec::new();
        let polled = follower.poll(&mut |line| lines.push(line.to_owned())).expect("polled");
        (lines, polled)
    }

    #[test]
    fn lines_are_given_when_they_are_whole() {
        let log = Log::new();
        let mut follower = Follower::new(&log.path(), FollowFrom::End);
        assert_eq!(poll(&mut follower), (vec![], Polled::default()));
        log.append("one\ntw");
        assert_eq!(poll(&mut follower).0, ["one"]);
        assert_eq!(follower.place(), 4);
        log.append("o\n");
        assert_eq!(poll(&mut follower).0, ["two"]);
        assert_eq!(poll(&mut follower).1.bytes, 0);
    }

    #[test]
    fn it_begins_at_the_end_or_at_a_place() {
        let log = Log::new();
        log.append("one\ntwo\nthr");
        let mut at_end = Follower::new(&log.path(), FollowFrom::End);
        let mut at_place = Follower::new(&log.path(), FollowFrom::Place(4));
        let mut from_another = Follower::new(&log.path(), FollowFrom::Place(400));
        let mut at_start = Follower::new(&log.path(), FollowFrom::Start);
        assert_eq!(poll(&mut at_end).0, [""; 0]);
        assert_eq!(poll(&mut at_place).0, ["two"]);
        assert_eq!(poll(&mut from_another).0, ["one", "two"]);
        assert_eq!(poll(&mut at_start).0, ["one", "two"]);
        log.append("ee\nfour\n");
        // The line that was half there is not of the time after.
        assert_eq!(poll(&mut at_end).0, ["four"]);
        assert_eq!(poll(&mut at_place).0, ["three", "four"]);
    }

    #[test]
    fn the_rest_of_a_rotated_file_comes_before_the_next_ones_beginning() {
        let log = Log::new();
        log.append("one\n");
        let mut follower = Follower::new(&log.path(), FollowFrom::Start);
        assert_eq!(poll(&mut follower).0, ["one"]);
        log.append("two\nthree");
        log.rotate();
        assert_eq!(poll(&mut follower), (vec!["two".into()], Polled { bytes: 9, ..Polled::default() }));
        log.append("four\n");
        let (lines, polled) = poll(&mut follower);
        assert_eq!(lines, ["three", "four"]);
        assert!(polled.rotated && !polled.truncated);
        assert_eq!((follower.place(), follower.cut()), (5, 0));
    }

    #[test]
    fn a_file_that_was_emptied_is_followed_from_its_start() {
        let log = Log::new();
        log.append("a long line of before\nhalf");
        let mut follower = Follower::new(&log.path(), FollowFrom::Start);
        assert_eq!(poll(&mut follower).0.len(), 1);
        fs::write(log.path(), "new\n").expect("written");
        let (lines, polled) = poll(&mut follower);
        assert_eq!(lines, ["new"]);
        assert!(polled.truncated && !polled.rotated);
    }

    #[test]
    fn a_poll_reads_no_more_than_it_may() {
        let log = Log::new();
        let line = "x".repeat(99) + "\n";
        let count = MOST_AT_ONCE as usize / 100 + 10;
        log.append(&line.repeat(count));
        let mut follower = Follower::new(&log.path(), FollowFrom::Start);
        let (first, polled) = poll(&mut follower);
        assert_eq!((polled.bytes, polled.more), (MOST_AT_ONCE, true));
        let (second, polled) = poll(&mut follower);
        assert_eq!((first.len() + second.len(), polled.more), (count, false));
    }

    #[test]
    fn a_directory_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut follower = Follower::new(folder.path(), FollowFrom::Start);
        follower.poll(&mut |_| {}).expect_err("no file");
    }
}
