//! What can be seen of a disk from outside, without asking it: shared counters.
//!
//! The engine writes them, the pages for operators and the watch over stalls read them. Times are nanoseconds of the monotonic clock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use aplomb_model::Instant;

use crate::Lane;

/// Upper bounds of the service-time buckets: 2^k microseconds.
const BUCKETS: usize = 28;

/// Counters of one lane.
#[derive(Debug)]
pub struct LaneStats {
    /// Commands handed over and not yet completed.
    depth: AtomicU64,
    /// When the oldest of them was handed over; 0 when there is none.
    oldest: AtomicU64,
    /// Commands completed.
    completed: AtomicU64,
    /// Bytes written or read.
    bytes: AtomicU64,
    /// Completions by service time.
    service: [AtomicU64; BUCKETS],
}

impl Default for LaneStats {
    fn default() -> Self {
        Self {
            depth: AtomicU64::new(0),
            oldest: AtomicU64::new(0),
            completed: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            service: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }
}

/// Counters of one disk.
#[derive(Debug, Default)]
pub struct DiskStats {
    lanes: [LaneStats; Lane::COUNT],
    syncs: AtomicU64,
    shortages: AtomicU64,
}

impl DiskStats {
    /// The counters of one lane.
    #[must_use]
    pub fn lane(&self, lane: Lane) -> &LaneStats {
        &self.lanes[lane.index()]
    }

    /// Counts a system call that waited for stable storage.
    pub fn on_sync(&self) {
        self.syncs.fetch_add(1, Ordering::Relaxed);
    }

    /// How many times the disk was made to wait for stable storage.
    #[must_use]
    pub fn syncs(&self) -> u64 {
        self.syncs.load(Ordering::Relaxed)
    }

    /// Counts an operation for which there was no descriptor, or no memory, at first.
    pub fn on_shortage(&self) {
        self.shortages.fetch_add(1, Ordering::Relaxed);
    }

    /// How many operations found no descriptor, or no memory, at first.
    #[must_use]
    pub fn shortages(&self) -> u64 {
        self.shortages.load(Ordering::Relaxed)
    }

    /// Since when the disk owes an answer: the oldest of all lanes.
    #[must_use]
    pub fn oldest(&self) -> Option<Instant> {
        self.lanes.iter().filter_map(LaneStats::oldest).min()
    }
}

impl LaneStats {
    /// A command was accepted.
    pub fn on_submit(&self) {
        self.depth.fetch_add(1, Ordering::Relaxed);
    }

    /// A command ended after `service` in the queue and at work.
    pub fn on_complete(&self, service: Duration, bytes: u64) {
        self.depth.fetch_sub(1, Ordering::Relaxed);
        self.completed.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        let micros = u64::try_from(service.as_micros()).unwrap_or(u64::MAX).max(1);
        let bucket = (64 - (micros - 1).leading_zeros() as usize).min(BUCKETS - 1);
        self.service[bucket].fetch_add(1, Ordering::Relaxed);
    }

    /// The engine says when its oldest outstanding command was handed over.
    pub fn set_oldest(&self, oldest: Option<Instant>) {
        self.oldest.store(as_number(oldest), Ordering::SeqCst);
    }

    /// The same for a command of which it is not known whether it is the oldest: what stands here
    /// already is older.
    pub fn offer_oldest(&self, at: Instant) {
        let _ = self.oldest.compare_exchange(0, as_number(Some(at)), Ordering::SeqCst, Ordering::SeqCst);
    }

    /// When the oldest outstanding command was handed over. In the lane of jobs, which wait for
    /// each other and compute: when the call of one was made that has not returned for the longest
    /// time.
    #[must_use]
    pub fn oldest(&self) -> Option<Instant> {
        match self.oldest.load(Ordering::Relaxed) {
            0 => None,
            nanos => Some(Instant::from_nanos(nanos)),
        }
    }

    /// Commands handed over and not yet completed.
    #[must_use]
    pub fn depth(&self) -> u64 {
        self.depth.load(Ordering::Relaxed)
    }

    /// Commands completed since start.
    #[must_use]
    pub fn completed(&self) -> u64 {
        self.completed.load(Ordering::Relaxed)
    }

    /// Bytes moved since start.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Completions by service time: (upper bound, count), cumulative counts left to the reader.
    pub fn service_times(&self) -> impl Iterator<Item = (Duration, u64)> + '_ {
        self.service
            .iter()
            .enumerate()
            .map(|(k, count)| (Duration::from_micros(1 << k), count.load(Ordering::Relaxed)))
    }
}

/// Nanoseconds; 0 for none.
fn as_number(at: Option<Instant>) -> u64 {
    at.map_or(0, |at| at.as_nanos().max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_time_lands_in_the_first_bucket_that_holds_it() {
        let stats = LaneStats::default();
        stats.on_submit();
        stats.on_complete(Duration::from_micros(1000), 10);
        let (bound, count) = stats.service_times().find(|(_, count)| *count > 0).expect("one was counted");
        assert_eq!((bound, count), (Duration::from_micros(1024), 1));
        assert_eq!(stats.depth(), 0);
    }

    #[test]
    fn what_is_offered_does_not_replace_what_is_older() {
        let stats = LaneStats::default();
        let at = |seconds| Instant::START + Duration::from_secs(seconds);
        stats.offer_oldest(at(1));
        stats.offer_oldest(at(2));
        assert_eq!(stats.oldest(), Some(at(1)));
        stats.set_oldest(None);
        stats.offer_oldest(at(3));
        assert_eq!(stats.oldest(), Some(at(3)));
    }
}
