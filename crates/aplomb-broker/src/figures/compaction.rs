//! Compaction as it can be seen (`LogCleaner`, `LogCleanerManager`).

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use aplomb_log::compaction::PassStats;
use aplomb_model::Instant;

/// The figures of one shard's compaction.
#[derive(Debug)]
pub struct CompactionFigures {
    passes: AtomicU64,
    read: AtomicU64,
    kept: AtomicU64,
    records: AtomicU64,
    kept_records: AtomicU64,
    /// Of the last pass: its time, how full its map was, and how much of what it read it kept.
    last_ms: AtomicU64,
    last_map_ppm: AtomicU64,
    last_kept_ppm: AtomicU64,
    /// Of the last look at all partitions: when it was, and how dirty the dirtiest is.
    looked_at: AtomicU64,
    dirtiest_ppm: AtomicU64,
    uncleanable: Vec<Uncleanable>,
}

/// What cannot be compacted in a log directory.
#[derive(Debug, Default)]
struct Uncleanable {
    partitions: AtomicU64,
    bytes: AtomicU64,
}

/// What passes have done since the start. Sizes are bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactionCounts {
    /// Passes that came to their end.
    pub passes: u64,
    /// Read for maps and to be written anew.
    pub read: u64,
    /// Written to new segments.
    pub kept: u64,
    /// Records in what was written anew.
    pub records: u64,
    /// Of these, those that stay.
    pub kept_records: u64,
}

const MILLION: f64 = 1e6;

impl CompactionFigures {
    pub(super) fn new(disks: usize) -> Self {
        Self {
            passes: AtomicU64::new(0),
            read: AtomicU64::new(0),
            kept: AtomicU64::new(0),
            records: AtomicU64::new(0),
            kept_records: AtomicU64::new(0),
            last_ms: AtomicU64::new(0),
            last_map_ppm: AtomicU64::new(0),
            last_kept_ppm: AtomicU64::new(0),
            looked_at: AtomicU64::new(0),
            dirtiest_ppm: AtomicU64::new(0),
            uncleanable: (0..disks).map(|_| Uncleanable::default()).collect(),
        }
    }

    /// What passes have done since the start.
    #[must_use]
    pub fn counts(&self) -> CompactionCounts {
        let load = |number: &AtomicU64| number.load(Ordering::Relaxed);
        CompactionCounts {
            passes: load(&self.passes),
            read: load(&self.read),
            kept: load(&self.kept),
            records: load(&self.records),
            kept_records: load(&self.kept_records),
        }
    }

    /// How long the last pass took.
    #[must_use]
    pub fn last_pass(&self) -> Duration {
        Duration::from_millis(self.last_ms.load(Ordering::Relaxed))
    }

    /// How full the last pass's map was, and how much of what it has read it has written, of 1.
    #[must_use]
    pub fn last_ratios(&self) -> (f64, f64) {
        let ratio = |ppm: &AtomicU64| ppm.load(Ordering::Relaxed) as f64 / MILLION;
        (ratio(&self.last_map_ppm), ratio(&self.last_kept_ppm))
    }

    /// When all partitions were looked at last, and how much of the dirtiest log is dirty, of 1.
    #[must_use]
    pub fn last_look(&self) -> (Option<Instant>, f64) {
        let at = self.looked_at.load(Ordering::Relaxed);
        let dirtiest = self.dirtiest_ppm.load(Ordering::Relaxed) as f64 / MILLION;
        ((at > 0).then_some(Instant::from_nanos(at)), dirtiest)
    }

    /// Partitions of a log directory that cannot be compacted, and the bytes of their logs.
    #[must_use]
    pub fn uncleanable(&self, disk: usize) -> (u64, u64) {
        self.uncleanable.get(disk).map_or((0, 0), |found| {
            (found.partitions.load(Ordering::Relaxed), found.bytes.load(Ordering::Relaxed))
        })
    }

    pub(crate) fn on_pass(&self, stats: &PassStats, took: Duration) {
        let read = stats.mapped + stats.read - stats.passed_over;
        self.passes.fetch_add(1, Ordering::Relaxed);
        self.read.fetch_add(read, Ordering::Relaxed);
        self.kept.fetch_add(stats.kept, Ordering::Relaxed);
        self.records.fetch_add(stats.records, Ordering::Relaxed);
        self.kept_records.fetch_add(stats.kept_records, Ordering::Relaxed);
        let ppm = |ratio: f64| (ratio * MILLION) as u64;
        let took = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        self.last_ms.store(took, Ordering::Relaxed);
        self.last_map_ppm.store(ppm(stats.map_used), Ordering::Relaxed);
        self.last_kept_ppm.store(ppm(stats.kept as f64 / stats.read.max(1) as f64), Ordering::Relaxed);
    }

    /// All partitions were looked at. `uncleanable`: of each disk, how many and how many bytes.
    pub(crate) fn on_look(&self, now: Instant, dirtiest: f64, uncleanable: &[(u64, u64)]) {
        self.looked_at.store(now.as_nanos(), Ordering::Relaxed);
        self.dirtiest_ppm.store((dirtiest * MILLION) as u64, Ordering::Relaxed);
        for (disk, (partitions, bytes)) in self.uncleanable.iter().zip(uncleanable) {
            disk.partitions.store(*partitions, Ordering::Relaxed);
            disk.bytes.store(*bytes, Ordering::Relaxed);
        }
    }
}
