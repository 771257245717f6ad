//! Compaction (`kafka.log:type=LogCleaner`, `LogCleanerManager`).

use std::sync::Arc;

use aplomb_broker::figures::CompactionFigures;
use aplomb_model::Instant;

use super::{BrokerFigures, Page};

/// What Apache Kafka's cleaner shows, and counters of ours.
pub(super) fn put_on(page: &mut Page, broker: &BrokerFigures, now: Instant) {
    let shards: Vec<&Arc<CompactionFigures>> = broker.shards.iter().map(|shard| shard.compaction()).collect();
    let most = |value: &dyn Fn(&CompactionFigures) -> f64| {
        shards.iter().map(|shard| value(shard)).fold(0.0, f64::max)
    };
    let looked = shards.iter().filter_map(|shard| shard.last_look().0).max();
    for (name, help, value) in [
        (
            "kafka_log_logcleaner_max_buffer_utilization_percent",
            "How full the map of keys of the last pass was.",
            most(&|shard| 100.0 * shard.last_ratios().0),
        ),
        (
            "kafka_log_logcleaner_cleaner_recopy_percent",
            "How much of what the last pass has read it has written again.",
            most(&|shard| 100.0 * shard.last_ratios().1),
        ),
        (
            "kafka_log_logcleaner_max_clean_time_secs",
            "How long the last pass took.",
            most(&|shard| shard.last_pass().as_secs_f64()),
        ),
        ("kafka_log_logcleaner_deadthreadcount", "Passes that have ended for ever.", 0.0),
        (
            "kafka_log_logcleanermanager_max_dirty_percent",
            "How much of the dirtiest log is not compacted.",
            most(&|shard| 100.0 * shard.last_look().1),
        ),
        (
            "kafka_log_logcleanermanager_time_since_last_run_ms",
            "Since compacted topics were looked at last.",
            looked.map_or(0.0, |at| now.since(at).as_millis() as f64),
        ),
    ] {
        page.gauge(name, help, &[], value);
    }
    for (n, directory) in broker.directories.iter().enumerate() {
        let found = shards.iter().map(|shard| shard.uncleanable(n));
        let (partitions, bytes) = found.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
        let labels = [("logDirectory", directory.as_str())];
        page.gauge(
            "kafka_log_logcleanermanager_uncleanable_partitions_count",
            "Partitions that cannot be compacted; the broker's log says why.",
            &labels,
            partitions as f64,
        );
        page.gauge(
            "kafka_log_logcleanermanager_uncleanable_bytes",
            "Bytes of the logs of these partitions.",
            &labels,
            bytes as f64,
        );
    }
    for (index, figures) in shards.iter().enumerate() {
        let shard = index.to_string();
        let labels = [("shard", shard.as_str())];
        let counts = figures.counts();
        for (name, help, value) in [
            ("aplomb_compaction_passes_total", "Passes of compaction.", counts.passes),
            ("aplomb_compaction_read_bytes_total", "Bytes that passes have read.", counts.read),
            ("aplomb_compaction_kept_bytes_total", "Bytes that passes have written.", counts.kept),
            ("aplomb_compaction_records_total", "Records that passes have looked at.", counts.records),
            ("aplomb_compaction_kept_records_total", "Of these, those that stay.", counts.kept_records),
        ] {
            page.counter(name, help, &labels, value);
        }
    }
}
