//! A topic's settings as a partition uses them.

use std::sync::Arc;
use std::time::Duration;

use aplomb_log::index::IndexLimits;
use aplomb_log::{CompactionConfig, LogConfig};
use aplomb_model::batch::ProduceRules;

use crate::calls::PartitionKey;
use crate::config::TopicConfig;
use crate::controller::is_internal_topic;

/// The settings of a topic's partitions.
#[derive(Debug)]
pub(crate) struct TopicSettings {
    topic: TopicConfig,
    /// Those of a partition without a part of its own of `segment.jitter.ms`.
    common: PartitionSettings,
}

/// The settings of one partition.
#[derive(Clone, Debug)]
pub(crate) struct PartitionSettings {
    pub(crate) rules: ProduceRules,
    pub(crate) file_delete_delay: Duration,
    /// `flush.ms`: how soon after an append it has to be durable, where the topic says so.
    pub(crate) flush_within: Option<Duration>,
    pub(crate) log: Arc<LogConfig>,
}

impl TopicSettings {
    pub(crate) fn of(topic: TopicConfig, name: &str, producer_expiration: Duration) -> Self {
        let size = |bytes: aplomb_model::ByteCount| u32::try_from(bytes.0).unwrap_or(i32::MAX as u32);
        let log = LogConfig {
            is_internal: is_internal_topic(name),
            segment_bytes: size(topic.segment_bytes),
            segment_age_ms: segment_age(&topic, 0),
            indexes: IndexLimits {
                interval_bytes: size(topic.index_interval),
                max_bytes: size(topic.index_bytes),
            },
            deletes: topic.cleanup.delete,
            compacts: topic.cleanup.compact,
            compaction: CompactionConfig {
                min_dirty_ratio: topic.compaction.min_dirty_ratio,
                delete_retention_ms: millis(topic.compaction.delete_retention),
                min_lag_ms: millis(topic.compaction.min_lag),
                max_lag_ms: topic.compaction.max_lag.map(millis),
            },
            retention_ms: topic.retention_age.map(millis),
            retention_bytes: topic.retention_bytes.map(|bytes| bytes.0),
            flush_messages: topic.flush_messages,
            producer_expiration_ms: millis(producer_expiration),
        };
        let common = PartitionSettings {
            rules: topic.produce_rules(),
            file_delete_delay: topic.file_delete_delay,
            flush_within: topic.flush_age,
            log: Arc::new(log),
        };
        Self { topic, common }
    }

    /// Those of one partition.
    pub(crate) fn of_partition(&self, key: PartitionKey) -> PartitionSettings {
        let mut settings = self.common.clone();
        let jitter = jitter(&self.topic, key);
        if jitter > 0 {
            Arc::make_mut(&mut settings.log).segment_age_ms = segment_age(&self.topic, jitter);
        }
        settings
    }
}

impl PartitionSettings {
    /// The metadata log's: nobody produces to it, and its acknowledgements wait for the disk.
    pub(crate) fn of_metadata_log(log: LogConfig) -> Self {
        Self {
            rules: ProduceRules::default(),
            file_delete_delay: Duration::from_secs(60),
            flush_within: None,
            log: Arc::new(log),
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// How old a segment may get, in milliseconds (`LogConfig.maxSegmentMs`): what is to be compacted
/// by a time has to be in a closed segment by then.
fn segment_age(topic: &TopicConfig, jitter: u64) -> u64 {
    let age = millis(topic.segment_age) - jitter;
    match topic.compaction.max_lag {
        Some(lag) if topic.cleanup.compact => age.min(millis(lag)),
        Some(_) | None => age,
    }
}

/// The partition's own part of `segment.jitter.ms`, always the same, so that segments made together
/// do not roll together.
fn jitter(topic: &TopicConfig, key: PartitionKey) -> u64 {
    let most = topic.segment_jitter.min(topic.segment_age).as_millis();
    let most = u64::try_from(most).unwrap_or(u64::MAX);
    if most == 0 {
        return 0;
    }
    let seed = u128::from_be_bytes(key.topic.0) as u64 ^ u64::from(key.partition.0.unsigned_abs());
    seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) % most
}
