//! Transactions (`transaction-coordinator-metrics`, `TransactionMarkerChannelManager`), and how
//! many ids are in which state.

use std::sync::Arc;

use aplomb_broker::figures::{ShardFigures, TxnState, TxnTotals};
use aplomb_model::Instant;

use super::super::page::Page;
use super::loads::RecentLoads;

/// Transactions, as far as the page knows.
#[derive(Debug)]
pub(super) struct Transactions {
    loads: RecentLoads,
}

impl Transactions {
    pub(super) fn new(now: Instant) -> Self {
        Self { loads: RecentLoads::new(now) }
    }

    pub(super) fn put_on(&mut self, page: &mut Page, shards: &[Arc<ShardFigures>], now: Instant) {
        let mut all = TxnTotals::default();
        for totals in shards.iter().map(|shard| shard.transactions().totals()) {
            all.ids.iter_mut().zip(totals.ids).for_each(|(all, of)| *all += of);
            all.bytes += totals.bytes;
            all.deciding += totals.deciding;
            all.unanswered_markers += totals.unanswered_markers;
            all.loads.count += totals.loads.count;
            all.loads.total += totals.loads.total;
        }
        let names = [
            (
                "kafka_server_transaction_coordinator_metrics_partition_load_time_avg",
                "Milliseconds that partitions of __transaction_state took to load lately, on average.",
            ),
            (
                "kafka_server_transaction_coordinator_metrics_partition_load_time_max",
                "Milliseconds that a partition of __transaction_state took to load lately, at most.",
            ),
        ];
        let longest = shards.iter().map(|shard| shard.transactions().take_longest_load());
        self.loads.put_on(page, names, all.loads, longest, now);
        for (name, help) in [
            (
                "kafka_coordinator_transaction_transactionmarkerchannelmanager_unknowndestinationqueuesize",
                "Markers for partitions without a leader: this broker leads them all.",
            ),
            (
                "kafka_coordinator_transaction_transactionmarkerchannelmanager_logappendretryqueuesize",
                "Ends of transactions that wait in a queue of their own to be written again: there is none.",
            ),
        ] {
            page.gauge(name, help, &[], 0.0);
        }
        for (state, count) in TxnState::ALL.into_iter().zip(all.ids) {
            let help = "Transactional ids, by the state of their last transaction.";
            page.gauge("aplomb_transactional_ids", help, &[("state", state.name())], count as f64);
        }
        for (name, help, value) in [
            (
                "aplomb_transactions_bytes",
                "Memory of transactional ids and their transactions (aplomb.transactions.memory.bytes).",
                all.bytes,
            ),
            (
                "aplomb_transactions_deciding",
                "Transactions that are decided, and of which not all partitions have the marker.",
                all.deciding,
            ),
            (
                "aplomb_transaction_markers_unanswered",
                "Markers that partitions were asked to write, and have not answered for.",
                all.unanswered_markers,
            ),
        ] {
            page.gauge(name, help, &[], value as f64);
        }
    }
}
