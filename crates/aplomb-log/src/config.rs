//! What a topic's settings mean to a log, with every sentinel understood.

use aplomb_model::Timestamp;

use crate::index::IndexLimits;

/// The settings of one log. Times are milliseconds of the wall clock, as records carry them.
#[derive(Clone, Debug, PartialEq)]
pub struct LogConfig {
    /// Whether the topic is the broker's own: a part of the tail's memory is kept for it.
    pub is_internal: bool,
    /// `segment.bytes`: a segment rolls before it grows beyond this.
    pub segment_bytes: u32,
    /// `segment.ms`, less this log's share of `segment.jitter.ms`: a segment rolls when it is
    /// older.
    pub segment_age_ms: u64,
    /// `segment.index.bytes` and `index.interval.bytes`.
    pub indexes: IndexLimits,
    /// Whether `cleanup.policy` contains `delete`.
    pub deletes: bool,
    /// Whether it contains `compact`: offsets may then be missing between batches.
    pub compacts: bool,
    /// How it does so.
    pub compaction: CompactionConfig,
    /// `retention.ms`; `None`: for ever.
    pub retention_ms: Option<u64>,
    /// `retention.bytes`; `None`: without limit.
    pub retention_bytes: Option<u64>,
    /// `flush.messages`, where it is set: at most so many records are acknowledged before they are
    /// durable. 1: none.
    pub flush_messages: Option<u64>,
    /// `producer.id.expiration.ms`.
    pub producer_expiration_ms: u64,
}

/// The settings of a log's compaction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompactionConfig {
    /// `min.cleanable.dirty.ratio`: a pass is worth it when more of the log is dirty, of 1.
    pub min_dirty_ratio: f64,
    /// `delete.retention.ms`: how long tombstones stay.
    pub delete_retention_ms: u64,
    /// `min.compaction.lag.ms`: a record is not compacted before that.
    pub min_lag_ms: u64,
    /// `max.compaction.lag.ms`; `None`: a record may wait for ever.
    pub max_lag_ms: Option<u64>,
}

impl CompactionConfig {
    /// The settings of a topic that sets nothing, as in Apache Kafka.
    pub const KAFKA_DEFAULTS: Self =
        Self { min_dirty_ratio: 0.5, delete_retention_ms: 24 * 3_600_000, min_lag_ms: 0, max_lag_ms: None };
}

impl LogConfig {
    /// The settings of a topic that sets nothing, as in Apache Kafka.
    #[must_use]
    pub fn kafka_defaults() -> Self {
        Self {
            is_internal: false,
            segment_bytes: 1 << 30,
            segment_age_ms: 7 * 24 * 3_600_000,
            indexes: IndexLimits { interval_bytes: 4096, max_bytes: 10 << 20 },
            deletes: true,
            compacts: false,
            compaction: CompactionConfig::KAFKA_DEFAULTS,
            retention_ms: Some(7 * 24 * 3_600_000),
            retention_bytes: None,
            flush_messages: None,
            producer_expiration_ms: 24 * 3_600_000,
        }
    }

    /// Whether something that was last written at `then` is over `retention.ms` at `now`.
    #[must_use]
    pub fn is_expired(&self, then: Timestamp, now: Timestamp) -> bool {
        self.retention_ms.is_some_and(|limit| now.millis_since(then) > limit)
    }
}
