//! How a simulated disk behaves, and what can be made to go wrong with it.

use std::ops::Range;
use std::time::Duration;

/// How long commands take. A time is drawn evenly from its range, and bytes cost extra.
#[derive(Clone, Debug)]
pub struct ServiceTimes {
    /// A run of neighbouring writes, or a truncation.
    pub write: Range<Duration>,
    /// A run of neighbouring syncs, or of publications.
    pub sync: Range<Duration>,
    /// One read, besides its bytes.
    pub read: Range<Duration>,
    /// A rename, a deletion, a look at the free space.
    pub housekeeping: Range<Duration>,
    /// One step of a job, besides the bytes that it moves.
    pub job_step: Range<Duration>,
    /// Throughput of reads and writes.
    pub bytes_per_second: u64,
}

impl Default for ServiceTimes {
    /// A good SSD.
    fn default() -> Self {
        let micros = |from, to| Duration::from_micros(from)..Duration::from_micros(to);
        Self {
            write: micros(20, 60),
            sync: micros(200, 2_000),
            read: micros(80, 200),
            housekeeping: micros(50, 500),
            job_step: micros(100, 1_000),
            bytes_per_second: 500_000_000,
        }
    }
}

impl ServiceTimes {
    /// The same disk, `extra` slower for each thing it does.
    #[must_use]
    pub fn slower_by(mut self, extra: Duration) -> Self {
        let Self { write, sync, read, housekeeping, job_step, .. } = &mut self;
        for range in [write, sync, read, housekeeping, job_step] {
            *range = range.start + extra..range.end + extra;
        }
        self
    }
}

/// How to make a simulated disk.
#[derive(Clone, Debug)]
pub struct SimOptions {
    /// Everything that happens by chance follows from it.
    pub seed: u64,
    /// Commands that a lane holds, waiting or at work, before it gives them back. Shared by all
    /// owners.
    pub lane_depth: usize,
    /// Reads at work at the same time.
    pub readers: usize,
    /// Jobs at work at the same time.
    pub job_threads: usize,
    /// How long things take.
    pub service: ServiceTimes,
    /// Bytes that fit.
    pub capacity: u64,
    /// Whether what was synced survives a power cut. A disk that says so and does not do it keeps
    /// no promise of a disk: it is there to show that a search for lost records finds them.
    pub keeps_what_is_synced: bool,
    /// What the wall clock says when the monotonic clock is at its start, in milliseconds since
    /// 1970: modification times are counted from here.
    pub wall_start_ms: i64,
}

impl Default for SimOptions {
    fn default() -> Self {
        Self {
            seed: 0,
            lane_depth: 1024,
            readers: 4,
            job_threads: 2,
            service: ServiceTimes::default(),
            capacity: 1 << 40,
            keeps_what_is_synced: true,
            wall_start_ms: 1_767_225_600_000, // 2026-01-01
        }
    }
}

/// One thing that a disk does to a file, as faults name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimOperation {
    /// Bytes go into a file; a new file is made.
    Write,
    /// A file is cut.
    Truncate,
    /// A file's content, or a directory's names, are made durable.
    Sync,
    /// Bytes are read.
    Read,
    /// A name changes.
    Rename,
    /// A file or a directory is deleted.
    Remove,
    /// A directory is made.
    MakeDirectory,
    /// A directory is listed.
    List,
}

impl SimOperation {
    pub(super) fn word(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

/// An operation that is going to fail, once. The disk is lost with it, as after a real I/O error.
#[derive(Clone, Debug, Default)]
pub struct Fault {
    /// The kind of operation; `None` for any.
    pub operation: Option<SimOperation>,
    /// A part of the file's name; `None` for any file.
    pub name: Option<String>,
    /// How many operations like that still succeed.
    pub after: u64,
}

impl Fault {
    /// Whether it strikes this operation; counts it if it could have.
    pub(super) fn strikes(&mut self, operation: SimOperation, name: &str) -> bool {
        let meant = self.operation.is_none_or(|wanted| wanted == operation)
            && self.name.as_ref().is_none_or(|part| name.contains(part.as_str()));
        if meant && self.after > 0 {
            self.after -= 1;
            return false;
        }
        meant
    }
}
