//! How long the device really took: histograms of the time from a request's arrival to its answer,
//! delays and freezes included.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::operation::PerOperation;
use crate::record::Bucket;

/// The longest time that is told apart from longer ones.
const LONGEST: Duration = Duration::from_secs(3600);

/// What is counted where the answers are given. Its memory is there from the beginning.
#[derive(Debug)]
pub(super) struct Recorder(PerOperation<Histogram<u64>>);

impl Recorder {
    pub(super) fn new() -> Self {
        let longest = u64::try_from(LONGEST.as_micros()).unwrap_or(u64::MAX);
        Self(PerOperation::from_fn(|_| {
            Histogram::new_with_bounds(1, longest, 2).expect("two digits up to an hour is a valid range")
        }))
    }

    pub(super) fn record(&mut self, operation: super::Operation, took: Duration) {
        self.0[operation].saturating_record(u64::try_from(took.as_micros()).unwrap_or(u64::MAX).max(1));
    }

    /// All that was recorded, from the beginning.
    pub(super) fn times(&self) -> PerOperation<ServiceTimes> {
        PerOperation::from_fn(|operation| ServiceTimes {
            buckets: self.0[operation]
                .iter_recorded()
                .map(|step| Bucket {
                    up_to_us: step.value_iterated_to(),
                    count: step.count_since_last_iteration(),
                })
                .collect(),
        })
    }
}

/// Service times of one kind of request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceTimes {
    /// In rising order; without those in which there is nothing. The times of a bucket are within 1
    /// %.
    pub buckets: Vec<Bucket>,
}

impl ServiceTimes {
    /// How many requests were answered.
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.count).sum()
    }

    /// The time in microseconds within which this share (0 to 1) of the requests was answered;
    /// nothing without requests.
    pub fn quantile_us(&self, share: f64) -> Option<u64> {
        let wanted = (share.clamp(0.0, 1.0) * self.count() as f64).ceil();
        let mut seen = 0;
        self.buckets.iter().find_map(|bucket| {
            seen += bucket.count;
            (seen as f64 >= wanted).then_some(bucket.up_to_us)
        })
    }

    /// What came after `earlier`, which was taken of the same device before.
    pub fn since(&self, earlier: &Self) -> Self {
        let before: BTreeMap<u64, u64> =
            earlier.buckets.iter().map(|bucket| (bucket.up_to_us, bucket.count)).collect();
        let buckets = self
            .buckets
            .iter()
            .map(|bucket| Bucket {
                count: bucket.count.saturating_sub(before.get(&bucket.up_to_us).copied().unwrap_or(0)),
                ..*bucket
            })
            .filter(|bucket| bucket.count > 0)
            .collect();
        Self { buckets }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Operation;
    use super::*;

    #[test]
    fn times_are_counted_for_each_operation_within_one_percent() {
        let mut recorder = Recorder::new();
        for ms in [20, 20, 300] {
            recorder.record(Operation::Read, Duration::from_millis(ms));
        }
        recorder.record(Operation::Flush, Duration::from_nanos(10));
        let times = recorder.times();
        assert_eq!((times.read.count(), times.write.count(), times.flush.count()), (3, 0, 1));
        let median = times.read.quantile_us(0.5).expect("there are reads");
        assert!((20_000..=20_200).contains(&median), "{median}");
        let longest = times.read.quantile_us(1.0).expect("there are reads");
        assert!((300_000..=303_000).contains(&longest), "{longest}");
        assert_eq!(times.write.quantile_us(0.5), None);
    }

    #[test]
    fn a_time_beyond_an_hour_counts_as_an_hour() {
        let mut recorder = Recorder::new();
        recorder.record(Operation::Write, LONGEST * 5);
        assert_eq!(recorder.times().write.count(), 1);
    }

    #[test]
    fn what_was_seen_before_is_not_seen_again() {
        let mut recorder = Recorder::new();
        recorder.record(Operation::Read, Duration::from_millis(20));
        let earlier = recorder.times().read;
        recorder.record(Operation::Read, Duration::from_millis(20));
        recorder.record(Operation::Read, Duration::from_millis(300));
        let since = recorder.times().read.since(&earlier);
        assert_eq!(since.buckets.iter().map(|bucket| bucket.count).collect::<Vec<_>>(), [1, 1]);
        assert_eq!(earlier.since(&earlier), ServiceTimes::default());
    }
}
