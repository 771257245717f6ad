//! Plain calls while the kernel takes writes at once, io_uring while it does not.
//!
//! A write that goes to the page cache waits for nothing, and a ring then only hands it to another
//! thread and back: ext4 does not write from the submitting one. 1.7 GB in writes of some 100 KiB
//! took 6 to 8 % less of a processor by plain calls. When a device or a lock keeps a write, those
//! of other files must not stand behind it: from then on they go through the ring, for a while.
//!
//! Always holds: syncs, which wait for the device by nature, go through the ring.

use std::sync::Arc;
use std::time::Duration;

use aplomb_model::Instant;

use super::threads::carry_out;
use super::uring::Uring;
use super::{Backend, FileRun, RunEnd, SyncFailed, Syncs, Write};
use crate::clock;
use crate::open_file::OpenFile;
use crate::waits;

/// A run that took longer than this had to wait, if its thread slept meanwhile: one that only lost
/// its processor to others did not.
const PROMPT: Duration = Duration::from_millis(2);

/// For how long writes go through the ring after one that had to wait.
const WARY: Duration = Duration::from_secs(1);

/// Both ways.
pub(super) struct Adaptive {
    ring: Uring,
    /// When plain calls are tried again.
    wary_until: Instant,
}

impl Adaptive {
    /// With this ring for what has to wait.
    pub(super) fn new(ring: Uring) -> Self {
        Self { ring, wary_until: Instant::START }
    }
}

impl<W: Write> Backend<W> for Adaptive {
    fn write(&mut self, runs: Vec<FileRun<W>>, ended: &mut dyn FnMut(FileRun<W>, RunEnd)) {
        let mut runs = runs.into_iter();
        let mut now = clock::now();
        while now >= self.wary_until {
            let Some(run) = runs.next() else { return };
            let waits = waits::count();
            let result = carry_out(&run);
            let begun = std::mem::replace(&mut now, clock::now());
            if now.since(begun) > PROMPT && waits::count() > waits {
                self.wary_until = now + WARY;
            }
            match result {
                Ok(()) => ended(run, RunEnd::Done),
                Err(error) => {
                    ended(run, RunEnd::Failed(error));
                    return runs.for_each(|run| ended(run, RunEnd::Skipped));
                }
            }
        }
        self.ring.write(runs.collect(), ended);
    }
}

impl Syncs for Adaptive {
    fn sync(&mut self, files: &[Arc<OpenFile>]) -> Result<(), SyncFailed> {
        self.ring.sync(files)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use rustix::fs::{CWD, Mode, OFlags, openat};

    use super::super::placed::Placed;
    use super::*;

    /// A file for one write, which is refused if the file is only to be read.
    fn run(directory: &std::path::Path, name: &str, flags: OFlags) -> FileRun<Placed> {
        let opened = openat(CWD, directory.join(name), flags | OFlags::CREATE, Mode::RUSR | Mode::WUSR);
        let file = OpenFile::new(opened.expect("it is made"), aplomb_disk_api::FileName::new(name));
        let bytes = Bytes::copy_from_slice(name.as_bytes());
        FileRun { file: Arc::new(file), writes: vec![Placed(0, vec![bytes])] }
    }

    #[test]
    fn both_ways_write_report_each_run_and_begin_none_behind_a_failure() {
        let Ok(ring) = Uring::new() else { return eprintln!("skipped: there is no io_uring for us") };
        let mut both = Adaptive::new(ring);
        for wary_until in [Instant::START, clock::now() + Duration::from_secs(3600)] {
            both.wary_until = wary_until;
            let directory = tempfile::tempdir().expect("a directory for the test");
            let at = directory.path();
            let mut ends = Vec::new();
            let mut ended = |run: FileRun<Placed>, end| {
                let end = match end {
                    RunEnd::Done => "done",
                    RunEnd::Failed(_) => "failed",
                    RunEnd::Skipped => "skipped",
                };
                ends.push((run.file.name().as_str().to_owned(), end));
            };
            both.write(["a", "b"].map(|name| run(at, name, OFlags::RDWR)).into(), &mut ended);
            both.write(vec![run(at, "c", OFlags::RDONLY)], &mut ended);
            both.write(Vec::new(), &mut ended);
            ends.sort();
            assert_eq!(ends.iter().map(|(_, end)| *end).collect::<Vec<_>>(), ["done", "done", "failed"]);
            for (name, content) in [("a", "a"), ("b", "b"), ("c", "")] {
                assert_eq!(std::fs::read_to_string(at.join(name)).expect("it is there"), content);
            }
        }
        both.wary_until = Instant::START;
        let directory = tempfile::tempdir().expect("a directory for the test");
        let runs = [("a", OFlags::RDONLY), ("b", OFlags::RDWR)];
        let mut skipped = Vec::new();
        let runs = runs.map(|(name, flags)| run(directory.path(), name, flags)).into();
        both.write(runs, &mut |run: FileRun<Placed>, end| {
            if matches!(end, RunEnd::Skipped) {
                skipped.push(run.file.name().as_str().to_owned());
            }
        });
        assert_eq!(skipped, ["b"]);
    }
}
