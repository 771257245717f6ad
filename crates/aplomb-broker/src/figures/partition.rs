//! The figures of one partition: what was counted for its topic, and how its log looks.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use aplomb_model::TopicPartition;

/// What is counted (`BrokerTopicMetrics` of Apache Kafka).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Records appended.
    MessagesIn,
    /// Bytes of batches appended.
    BytesIn,
    /// Bytes of batches sent to consumers.
    BytesOut,
    /// Bytes of batches that were too large.
    BytesRejected,
    /// Batches that came.
    ProduceRequests,
    /// Batches that were refused for another reason than size, checksum or a lost disk.
    FailedProduceRequests,
    /// Reads.
    FetchRequests,
    /// Reads that found something else in a segment than what was written there.
    FailedFetchRequests,
    /// Batches whose checksum was wrong.
    InvalidChecksums,
    /// Batches whose producer was out of sequence.
    InvalidSequences,
}

const COUNTS: usize = Count::InvalidSequences as usize + 1;

/// The values of all counters at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts([u64; COUNTS]);

impl Counts {
    /// One of them.
    #[must_use]
    pub const fn of(&self, count: Count) -> u64 {
        self.0[count as usize]
    }

    /// Adds another partition's.
    pub fn add(&mut self, other: &Self) {
        for (sum, value) in self.0.iter_mut().zip(other.0) {
            *sum += value;
        }
    }
}

/// How a log looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogExtent {
    /// Bytes in all segments, those that only memory has included.
    pub size: u64,
    /// Segments.
    pub segments: u64,
    /// The first offset.
    pub start: u64,
    /// The offset after the last.
    pub end: u64,
    /// How far the last stable offset is behind the high watermark.
    pub stable_lag: u64,
}

/// The figures of one partition. Its shard writes them, and whoever sends its records to a consumer
/// counts the bytes.
#[derive(Debug)]
pub struct PartitionFigures {
    name: TopicPartition,
    counts: [AtomicU64; COUNTS],
    extent: [AtomicU64; 5],
    offline: AtomicBool,
    gone: AtomicBool,
}

impl PartitionFigures {
    /// Nothing was counted yet.
    #[must_use]
    pub fn new(name: TopicPartition) -> Self {
        Self {
            name,
            counts: std::array::from_fn(|_| AtomicU64::new(0)),
            extent: std::array::from_fn(|_| AtomicU64::new(0)),
            offline: AtomicBool::new(false),
            gone: AtomicBool::new(false),
        }
    }

    /// Which partition.
    #[must_use]
    pub const fn name(&self) -> &TopicPartition {
        &self.name
    }

    /// Counts.
    pub(crate) fn add(&self, count: Count, n: u64) {
        self.counts[count as usize].fetch_add(n, Ordering::Relaxed);
    }

    /// What has been counted.
    #[must_use]
    pub fn counts(&self) -> Counts {
        Counts(std::array::from_fn(|n| self.counts[n].load(Ordering::Relaxed)))
    }

    /// How the log looks; the numbers may be of different moments.
    #[must_use]
    pub fn extent(&self) -> LogExtent {
        let [size, segments, start, end, stable_lag] =
            std::array::from_fn(|n| self.extent[n].load(Ordering::Relaxed));
        LogExtent { size, segments, start, end, stable_lag }
    }

    pub(crate) fn set_extent(&self, extent: LogExtent) {
        let LogExtent { size, segments, start, end, stable_lag } = extent;
        for (place, value) in self.extent.iter().zip([size, segments, start, end, stable_lag]) {
            place.store(value, Ordering::Relaxed);
        }
    }

    /// Whether the partition's log directory is lost.
    #[must_use]
    pub fn is_offline(&self) -> bool {
        self.offline.load(Ordering::Relaxed)
    }

    pub(crate) fn set_offline(&self) {
        self.offline.store(true, Ordering::Relaxed);
    }

    /// Whether the partition was deleted, or is another process's now.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }

    pub(crate) fn set_gone(&self) {
        self.gone.store(true, Ordering::Relaxed);
    }
}
