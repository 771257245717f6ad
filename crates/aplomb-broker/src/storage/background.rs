//! What bounds the shards together in moves and compaction, for which no client waits.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use aplomb_model::Instant;

/// What bounds the shards together.
#[derive(Debug, Default)]
pub(crate) struct Background {
    moves: ByteRate,
    cleaner: ByteRate,
    passes: AtomicU32,
}

impl Background {
    /// The rate at which partitions are copied to other disks.
    pub(super) fn moves(&self) -> &ByteRate {
        &self.moves
    }

    /// The rate at which compaction reads and writes.
    pub(super) fn cleaner(&self) -> &ByteRate {
        &self.cleaner
    }

    /// A pass is to begin. Whether it may, since fewer than `most` are under way.
    pub(super) fn begin_pass(&self, most: u32) -> bool {
        let next = |passes: u32| (passes < most).then_some(passes + 1);
        self.passes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_ok()
    }

    /// A pass is over.
    pub(super) fn end_pass(&self) {
        let before = self.passes.fetch_sub(1, Ordering::Relaxed);
        assert!(before > 0, "a pass that ends has begun");
    }
}

/// A rate that all shards together keep to.
#[derive(Debug, Default)]
pub(crate) struct ByteRate {
    /// When the next step may begin, in nanoseconds of the monotonic clock.
    free_at: AtomicU64,
}

impl ByteRate {
    /// Whether a step may begin; otherwise when to ask again.
    pub(super) fn check(&self, now: Instant) -> Result<(), Instant> {
        let free_at = Duration::from_nanos(self.free_at.load(Ordering::Relaxed));
        let free_at = Instant::START + free_at;
        if free_at <= now { Ok(()) } else { Err(free_at) }
    }

    /// So many bytes were moved, of so many that may be in a second.
    pub(super) fn spend(&self, bytes: u64, per_second: u64, now: Instant) {
        let cost = u128::from(bytes) * 1_000_000_000 / u128::from(per_second.max(1));
        let cost = u64::try_from(cost).unwrap_or(u64::MAX);
        let now = now.as_nanos();
        let later = |free_at: u64| Some(free_at.max(now).saturating_add(cost));
        // The update is never refused.
        let _ = self.free_at.fetch_update(Ordering::Relaxed, Ordering::Relaxed, later);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_moved_takes_the_time_that_its_bytes_may() {
        let rate = ByteRate::default();
        let start = Instant::START + Duration::from_secs(5);
        assert_eq!(rate.check(start), Ok(()));
        rate.spend(1_000_000, 500_000, start);
        assert_eq!(rate.check(start), Err(start + Duration::from_secs(2)));
        rate.spend(500_000, 500_000, start);
        assert_eq!(rate.check(start + Duration::from_secs(2)), Err(start + Duration::from_secs(3)));
        assert_eq!(rate.check(start + Duration::from_secs(3)), Ok(()));
    }

    #[test]
    fn no_more_passes_begin_than_may() {
        let work = Background::default();
        assert!(!work.begin_pass(0));
        assert!(work.begin_pass(2) && work.begin_pass(2) && !work.begin_pass(2));
        work.end_pass();
        assert!(!work.begin_pass(1) && work.begin_pass(2));
    }
}
