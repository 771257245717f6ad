//! What bounds hold back, by shard (docs/operating/limits.md).

use std::sync::Arc;

use aplomb_broker::figures::ShardFigures;

use super::Page;

pub(crate) fn put_on(page: &mut Page, shards: &[Arc<ShardFigures>]) {
    for (index, figures) in shards.iter().enumerate() {
        let shard = index.to_string();
        let labels = [("shard", shard.as_str())];
        page.counter(
            "aplomb_produce_decompressed_bytes_total",
            "Bytes that were decompressed to validate batches.",
            &labels,
            figures.decompressed(),
        );
        page.gauge(
            "aplomb_produce_validating",
            "Batches that are validated in turns, because they stand for much more than they are.",
            &labels,
            figures.checking() as f64,
        );
        page.counter(
            "aplomb_produce_decompressed_refusals_total",
            "Batches that were refused because they stand for too much.",
            &labels,
            figures.too_much_decompressed(),
        );
        page.counter(
            "aplomb_produce_waiting_refusals_total",
            "Batches that were refused because too many wait for their disk.",
            &labels,
            figures.too_much_waiting(),
        );
    }
}
