//! What can be seen of a shard from outside: figures that it writes and that anybody reads without
//! asking it.
//!
//! What always holds: counting is an addition to an atomic, without a lock, a look-up or an
//! allocation. The locks here are for lists, of partitions and groups that come and of kinds of
//! clients: a shard only tries them (`notes.rs`), so that it never waits for whoever looks. That
//! one works on what it has taken out ([`ShardFigures::take_newcomers`]), however many there are.
//!
//! Names and meanings are those of Apache Kafka's MBeans (`ReplicaManager`, `BrokerTopicMetrics`,
//! `Log`, `GroupCoordinatorMetrics`, `TransactionStateManager`).

mod access;
mod clients;
mod compaction;
mod group_totals;
mod groups;
mod notes;
mod partition;
mod transactions;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

pub use access::AccessFigures;
pub use aplomb_coordinator::group::{GroupEvent, GroupState};
pub use aplomb_coordinator::txn::TxnState;
use clients::ClientKind;
pub use clients::ClientSoftware;
pub(crate) use clients::Clients;
pub use compaction::{CompactionCounts, CompactionFigures};
pub(crate) use groups::GroupNotes;
use groups::ShownTotals;
pub use groups::{CoordinatorCounts, GroupFigures, GroupTotals, LoadTimes, NewGroups, OffsetFigures};
pub(crate) use notes::Notes;
pub use partition::{Count, Counts, LogExtent, PartitionFigures};
pub use transactions::{TxnFigures, TxnTotals};

use crate::quotas::Ledger;

/// So many newcomers gather before those that are gone again are dropped, if nobody takes them out.
const FEW: usize = 64;

/// The figures of one shard.
#[derive(Debug)]
pub struct ShardFigures {
    newcomers: Mutex<Newcomers>,
    clients: Mutex<Vec<Arc<ClientKind>>>,
    new_groups: Mutex<NewGroups>,
    groups: ShownTotals,
    transactions: TxnFigures,
    access: AccessFigures,
    disks: Vec<DiskFigures>,
    compaction: Arc<CompactionFigures>,
    ledger: Arc<Ledger>,
    topics: AtomicU64,
    partitions: AtomicU64,
    parked_fetches: AtomicU64,
    parked_produces: AtomicU64,
    fetch_sessions: AtomicU64,
    session_partitions: AtomicU64,
    parked_partitions: AtomicU64,
    evicted_sessions: AtomicU64,
    decompressed: AtomicU64,
    checking: AtomicU64,
    too_much_decompressed: AtomicU64,
    too_much_waiting: AtomicU64,
    loading: AtomicUsize,
    noted: AtomicUsize,
    failure: OnceLock<String>,
}

/// Partitions that nobody has seen yet.
#[derive(Debug, Default)]
pub struct Newcomers {
    /// Those that are there.
    pub partitions: Vec<Arc<PartitionFigures>>,
    /// What was counted for those that are gone again.
    pub gone: Counts,
}

/// What a shard knows of a log directory.
#[derive(Debug, Default)]
struct DiskFigures {
    lost: AtomicBool,
    total: AtomicU64,
    usable: AtomicU64,
}

impl ShardFigures {
    /// For a shard with so many log directories, and the book of what clients use that it shares.
    #[must_use]
    pub fn new(disks: usize, ledger: Arc<Ledger>) -> Self {
        Self {
            newcomers: Mutex::default(),
            clients: Mutex::default(),
            new_groups: Mutex::default(),
            groups: ShownTotals::default(),
            transactions: TxnFigures::default(),
            access: AccessFigures::default(),
            disks: (0..disks).map(|_| DiskFigures::default()).collect(),
            compaction: Arc::new(CompactionFigures::new(disks)),
            ledger,
            topics: AtomicU64::new(0),
            partitions: AtomicU64::new(0),
            parked_fetches: AtomicU64::new(0),
            parked_produces: AtomicU64::new(0),
            fetch_sessions: AtomicU64::new(0),
            session_partitions: AtomicU64::new(0),
            parked_partitions: AtomicU64::new(0),
            evicted_sessions: AtomicU64::new(0),
            decompressed: AtomicU64::new(0),
            checking: AtomicU64::new(0),
            too_much_decompressed: AtomicU64::new(0),
            too_much_waiting: AtomicU64::new(0),
            loading: AtomicUsize::new(0),
            noted: AtomicUsize::new(0),
            failure: OnceLock::new(),
        }
    }

    /// Partitions that have come since this was asked last, to be kept by whoever asks until they
    /// are gone.
    #[must_use]
    pub fn take_newcomers(&self) -> Newcomers {
        std::mem::take(&mut self.newcomers.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The clients' software, as they told it, with the number of connections of each.
    #[must_use]
    pub fn software(&self) -> Vec<(ClientSoftware, u64)> {
        let kinds = self.clients.lock().unwrap_or_else(PoisonError::into_inner).clone();
        kinds.iter().map(|kind| kind.counted()).filter(|(_, count)| *count > 0).collect()
    }

    /// The transactions that this shard coordinates.
    #[must_use]
    pub fn transactions(&self) -> &TxnFigures {
        &self.transactions
    }

    /// What clients may do, and how many ACLs say so.
    #[must_use]
    pub const fn access(&self) -> &AccessFigures {
        &self.access
    }

    /// What compaction has done, and what it leaves out.
    #[must_use]
    pub fn compaction(&self) -> &Arc<CompactionFigures> {
        &self.compaction
    }

    /// What clients with quotas have used, of all shards.
    #[must_use]
    pub fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }

    /// Whether the log directory with this index is lost.
    #[must_use]
    pub fn is_lost(&self, disk: usize) -> bool {
        self.disks.get(disk).is_some_and(|disk| disk.lost.load(Ordering::Relaxed))
    }

    /// Size and usable room of the log directory's file system in bytes, once the disk has said.
    #[must_use]
    pub fn space(&self, disk: usize) -> Option<(u64, u64)> {
        let disk = self.disks.get(disk)?;
        let total = disk.total.load(Ordering::Relaxed);
        (total > 0).then(|| (total, disk.usable.load(Ordering::Relaxed)))
    }

    pub(crate) fn lose(&self, disk: usize) {
        self.disks[disk].lost.store(true, Ordering::Relaxed);
    }

    pub(crate) fn set_space(&self, disk: usize, total: u64, usable: u64) {
        self.disks[disk].usable.store(usable, Ordering::Relaxed);
        self.disks[disk].total.store(total, Ordering::Relaxed);
    }

    /// How many partitions are still being loaded.
    #[must_use]
    pub fn loading(&self) -> usize {
        self.loading.load(Ordering::Acquire)
    }

    /// How many logs were loaded without a look into their files, as a clean stop had noted them.
    #[must_use]
    pub fn noted(&self) -> usize {
        self.noted.load(Ordering::Relaxed)
    }

    pub(crate) fn set_loading(&self, partitions: usize, noted: usize) {
        self.noted.store(noted, Ordering::Relaxed);
        self.loading.store(partitions, Ordering::Release);
    }

    /// Why the broker must not go on, if a log turned out to be unusable.
    #[must_use]
    pub fn failure(&self) -> Option<&str> {
        self.failure.get().map(String::as_str)
    }

    /// The first reason counts.
    pub(crate) fn fail(&self, why: String) {
        let _ = self.failure.set(why);
    }

    /// Topics and partitions of the cluster; the shard with the controller knows, for the others
    /// both are 0.
    #[must_use]
    pub fn cluster(&self) -> (u64, u64) {
        (self.topics.load(Ordering::Relaxed), self.partitions.load(Ordering::Relaxed))
    }

    pub(crate) fn set_cluster(&self, topics: u64, partitions: u64) {
        self.topics.store(topics, Ordering::Relaxed);
        self.partitions.store(partitions, Ordering::Relaxed);
    }

    /// Fetch requests that are parked.
    #[must_use]
    pub fn parked_fetches(&self) -> u64 {
        self.parked_fetches.load(Ordering::Relaxed)
    }

    /// Produce requests that are parked.
    #[must_use]
    pub fn parked_produces(&self) -> u64 {
        self.parked_produces.load(Ordering::Relaxed)
    }

    pub(crate) fn set_parked(&self, fetches: usize, produces: usize) {
        self.parked_fetches.store(fetches as u64, Ordering::Relaxed);
        self.parked_produces.store(produces as u64, Ordering::Relaxed);
    }

    /// Fetch sessions, and how many have been evicted since the start.
    #[must_use]
    pub fn fetch_sessions(&self) -> (u64, u64) {
        (self.fetch_sessions.load(Ordering::Relaxed), self.evicted_sessions.load(Ordering::Relaxed))
    }

    /// Partitions that fetch sessions know.
    #[must_use]
    pub fn session_partitions(&self) -> u64 {
        self.session_partitions.load(Ordering::Relaxed)
    }

    /// Partitions that parked requests are about.
    #[must_use]
    pub fn parked_partitions(&self) -> u64 {
        self.parked_partitions.load(Ordering::Relaxed)
    }

    pub(crate) fn set_parked_partitions(&self, partitions: usize) {
        self.parked_partitions.store(partitions as u64, Ordering::Relaxed);
    }

    pub(crate) fn set_fetch_sessions(&self, sessions: usize, partitions: usize, evicted: u64) {
        self.fetch_sessions.store(sessions as u64, Ordering::Relaxed);
        self.session_partitions.store(partitions as u64, Ordering::Relaxed);
        self.evicted_sessions.store(evicted, Ordering::Relaxed);
    }
    /// Bytes that were decompressed to validate produced batches, since the start.
    #[must_use]
    pub fn decompressed(&self) -> u64 {
        self.decompressed.load(Ordering::Relaxed)
    }

    pub(crate) fn count_decompressed(&self, bytes: u64) {
        self.decompressed.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Batches that are validated in turns.
    #[must_use]
    pub fn checking(&self) -> u64 {
        self.checking.load(Ordering::Relaxed)
    }

    pub(crate) fn set_checking(&self, batches: usize) {
        self.checking.store(batches as u64, Ordering::Relaxed);
    }

    /// Batches that were refused because they stand for too much, since the start.
    #[must_use]
    pub fn too_much_decompressed(&self) -> u64 {
        self.too_much_decompressed.load(Ordering::Relaxed)
    }

    pub(crate) fn count_too_much_decompressed(&self) {
        self.too_much_decompressed.fetch_add(1, Ordering::Relaxed);
    }

    /// Batches that were refused because too many wait for their disk, since the start.
    #[must_use]
    pub fn too_much_waiting(&self) -> u64 {
        self.too_much_waiting.load(Ordering::Relaxed)
    }

    pub(crate) fn count_too_much_waiting(&self) {
        self.too_much_waiting.fetch_add(1, Ordering::Relaxed);
    }
}
