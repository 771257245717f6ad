//! Distributions: counts in buckets that are an eighth of a power of two wide, of a fixed size,
//! written by one thread and read by another.
//!
//! What always holds: recording is two additions, without a lock or a locked instruction. A sum is
//! exact; a quantile is off by at most a sixteenth of its value.

use std::sync::atomic::{AtomicU64, Ordering};

/// Values from 2^28 on share the last bucket: 268 s in microseconds, 256 MiB in bytes.
const BUCKETS: usize = 208;

/// How often values of a size were seen.
#[derive(Debug)]
pub(crate) struct Histogram {
    buckets: [AtomicU64; BUCKETS],
    sum: AtomicU64,
}

/// What was counted up to one moment, or between two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Distribution {
    buckets: [u64; BUCKETS],
    sum: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: std::array::from_fn(|_| AtomicU64::new(0)), sum: AtomicU64::new(0) }
    }
}

impl Default for Distribution {
    fn default() -> Self {
        Self { buckets: [0; BUCKETS], sum: 0 }
    }
}

impl Histogram {
    /// Counts a value. One thread does: no other one's addition is lost.
    pub(crate) fn record(&self, value: u64) {
        let add = |to: &AtomicU64, more| to.store(to.load(Ordering::Relaxed) + more, Ordering::Relaxed);
        add(&self.buckets[bucket_of(value)], 1);
        add(&self.sum, value);
    }

    /// Adds what was counted to `sum`.
    pub(crate) fn add_to(&self, sum: &mut Distribution) {
        for (sum, count) in sum.buckets.iter_mut().zip(&self.buckets) {
            *sum += count.load(Ordering::Relaxed);
        }
        sum.sum += self.sum.load(Ordering::Relaxed);
    }
}

impl Distribution {
    /// How many values.
    pub(crate) fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// All of them together.
    pub(crate) fn sum(&self) -> u64 {
        self.sum
    }

    /// What came since `before`.
    pub(crate) fn since(&self, before: &Self) -> Self {
        Self {
            buckets: std::array::from_fn(|n| self.buckets[n].saturating_sub(before.buckets[n])),
            sum: self.sum.saturating_sub(before.sum),
        }
    }

    /// The smallest value that at least the share `quantile` of all values does not exceed; 0 if
    /// there is none.
    pub(crate) fn quantile(&self, quantile: f64) -> u64 {
        let rank = ((self.count() as f64 * quantile).ceil() as u64).max(1);
        let mut below = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            below += count;
            if below >= rank {
                return middle_of(bucket);
            }
        }
        0
    }
}

/// Eight buckets for each power of two; below 8 each value has its own.
fn bucket_of(value: u64) -> usize {
    if value < 8 {
        return value as usize;
    }
    let octave = value.ilog2();
    let eighth = (value >> (octave - 3)) & 7;
    ((octave as usize - 2) * 8 + eighth as usize).min(BUCKETS - 1)
}

fn middle_of(bucket: usize) -> u64 {
    if bucket < 8 {
        return bucket as u64;
    }
    let shift = bucket / 8 - 1;
    let lowest = (8 + bucket as u64 % 8) << shift;
    lowest + ((1 << shift) - 1) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_comes_back_from_its_bucket_nearly_as_it_was() {
        for value in (0..5000).chain((12..28).map(|n| (1 << n) + 12_345)) {
            let found = middle_of(bucket_of(value));
            assert!(found.abs_diff(value) <= value / 16, "{value} came back as {found}");
        }
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_of_what_came_since() {
        let histogram = Histogram::default();
        for _ in 0..1000 {
            histogram.record(100_000);
        }
        let mut before = Distribution::default();
        histogram.add_to(&mut before);
        for value in 1..=1000 {
            histogram.record(value);
        }
        let mut after = Distribution::default();
        histogram.add_to(&mut after);
        let recent = after.since(&before);
        assert_eq!((after.count(), recent.count()), (2000, 1000));
        assert_eq!((after.sum(), recent.sum()), (100_500_500, 500_500));
        for (quantile, expected) in [(0.5, 500), (0.99, 990), (0.999, 999)] {
            let found = recent.quantile(quantile);
            assert!(found.abs_diff(expected) <= expected / 16, "{quantile}: {found}");
        }
        assert_eq!(Distribution::default().quantile(0.99), 0);
    }
}
