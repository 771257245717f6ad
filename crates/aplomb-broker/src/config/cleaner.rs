//! Settings of compaction as a whole; those of a topic's are in [`super::TopicConfig`].

use std::time::Duration;

use aplomb_model::ByteCount;

use super::reading::Reading;

/// Settings of compaction.
#[derive(Clone, Debug, PartialEq)]
pub struct CleanerConfig {
    /// `log.cleaner.threads`: passes at the same time; 0 without `log.cleaner.enable`.
    pub threads: u32,
    /// `log.cleaner.backoff.ms`: how often partitions are looked at.
    pub backoff: Duration,
    /// `log.cleaner.dedupe.buffer.size`: the maps of all passes together.
    pub map_bytes: ByteCount,
    /// `log.cleaner.io.buffer.load.factor`: how full a map may get, of 1.
    pub map_load: f64,
    /// `log.cleaner.io.buffer.size`: what all passes together read and write at once.
    pub buffer_bytes: ByteCount,
    /// `log.cleaner.io.max.bytes.per.second`: what all passes together read and write; `None` is
    /// as fast as can be.
    pub rate: Option<u64>,
}

impl CleanerConfig {
    pub(super) fn read(reading: &Reading) -> Self {
        // Beyond the largest integer, as the default is, there is no limit.
        let rate = reading.double("log.cleaner.io.max.bytes.per.second");
        Self {
            threads: if reading.flag("log.cleaner.enable") {
                reading.count("log.cleaner.threads")
            } else {
                0
            },
            backoff: reading.millis("log.cleaner.backoff.ms"),
            map_bytes: reading.bytes("log.cleaner.dedupe.buffer.size"),
            map_load: reading.double("log.cleaner.io.buffer.load.factor").clamp(0.0, 1.0),
            buffer_bytes: reading.bytes("log.cleaner.io.buffer.size"),
            rate: (rate < u64::MAX as f64).then_some(rate.max(0.0) as u64),
        }
    }
}
