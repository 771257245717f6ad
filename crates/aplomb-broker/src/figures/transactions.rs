//! Transactions as they can be seen (`transaction-coordinator-metrics`,
//! `TransactionMarkerChannelManager`).

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use aplomb_coordinator::txn::{TxnCounts, TxnState};

use super::groups::LoadTimes;

/// What a shard's transaction coordinators have, together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TxnTotals {
    /// Transactional ids by state, in the order of `TxnState::ALL`.
    pub ids: TxnCounts,
    /// What they take in memory, in bytes.
    pub bytes: usize,
    /// Transactions that are decided, and of which not all partitions have the marker.
    pub deciding: usize,
    /// Markers that partitions were asked to write, and have not answered for.
    pub unanswered_markers: usize,
    /// Loads of partitions of `__transaction_state` since the start.
    pub loads: LoadTimes,
}

/// The same, for others to see.
#[derive(Debug, Default)]
pub struct TxnFigures {
    ids: [AtomicU64; TxnState::ALL.len()],
    bytes: AtomicU64,
    deciding: AtomicU64,
    unanswered_markers: AtomicU64,
    loads: AtomicU64,
    load_nanos: AtomicU64,
    longest_load: AtomicU64,
}

fn nanos(of: Duration) -> u64 {
    u64::try_from(of.as_nanos()).unwrap_or(u64::MAX)
}

impl TxnFigures {
    /// As they are now.
    #[must_use]
    pub fn totals(&self) -> TxnTotals {
        let count = |of: &AtomicU64| usize::try_from(of.load(Ordering::Relaxed)).unwrap_or(usize::MAX);
        TxnTotals {
            ids: std::array::from_fn(|state| count(&self.ids[state])),
            bytes: count(&self.bytes),
            deciding: count(&self.deciding),
            unanswered_markers: count(&self.unanswered_markers),
            loads: LoadTimes {
                count: self.loads.load(Ordering::Relaxed),
                total: Duration::from_nanos(self.load_nanos.load(Ordering::Relaxed)),
            },
        }
    }

    /// The longest that a partition took to load since this was asked last.
    #[must_use]
    pub fn take_longest_load(&self) -> Duration {
        Duration::from_nanos(self.longest_load.swap(0, Ordering::Relaxed))
    }

    pub(crate) fn set(&self, totals: &TxnTotals, longest_load: Duration) {
        for (shown, count) in self.ids.iter().zip(totals.ids) {
            shown.store(count as u64, Ordering::Relaxed);
        }
        self.bytes.store(totals.bytes as u64, Ordering::Relaxed);
        self.deciding.store(totals.deciding as u64, Ordering::Relaxed);
        self.unanswered_markers.store(totals.unanswered_markers as u64, Ordering::Relaxed);
        self.loads.store(totals.loads.count, Ordering::Relaxed);
        self.load_nanos.store(nanos(totals.loads.total), Ordering::Relaxed);
        self.longest_load.fetch_max(nanos(longest_load), Ordering::Relaxed);
    }
}
