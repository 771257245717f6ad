//! The transactional ids of a partition of `__transaction_state`, and how each changes: by one
//! record at a time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use aplomb_model::ErrorCode;

use super::ask::Decided;
use super::questions::Questions;
use super::record::TxnRecord;
use super::state::{Incarnation, Remembered, Txn, TxnState};
use super::waiting::{WaitForId, WaitToAdd};
use crate::runtime::{Machine, Turn};

/// So many transactional ids are looked at in a turn, where all are.
pub(super) const PIECE: usize = 1_000;

/// A turn of the transaction coordinator.
pub(super) type TxnTurn<'a> = Turn<'a, Transactions>;

/// What an id takes beside its name and its partitions, in bytes: its entry, and its deadline.
const ID_BYTES: usize = 384;

/// How soon what the log has refused is tried again.
pub(super) const RETRY: Duration = Duration::from_millis(100);

/// A deadline of the transaction coordinator.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TxnTimer {
    /// A transaction has lasted long enough.
    Timeout(Arc<str>),
    /// What the log has refused is to be tried again.
    Again(Arc<str>),
    /// Ids that are not used are looked for, or looked for further.
    Expiry,
    /// The next piece of a question that takes long.
    Long,
}

/// What is remembered of a write until it is kept or refused.
#[derive(Debug)]
pub struct TxnAfter {
    pub(super) id: Arc<str>,
    /// What was remembered beside the records.
    pub(super) before: Remembered,
}

/// The transactional ids of a partition of `__transaction_state`.
#[derive(Debug, Default)]
pub struct Transactions {
    pub(super) table: BTreeMap<Arc<str>, Entry>,
    pub(super) decided: Vec<Decided>,
    pub(super) fresh: WaitForId,
    pub(super) to_add: WaitToAdd,
    pub(super) long: Questions,
    /// What the ids take, in bytes.
    bytes: usize,
    /// How many ids are in each state.
    counts: TxnCounts,
    /// Up to this id deadlines are set after a load, or unused ids looked for.
    pub(super) looked: Option<Arc<str>>,
}

/// Transactional ids by state, in the order of [`TxnState::ALL`].
pub type TxnCounts = [usize; TxnState::ALL.len()];

#[derive(Debug, Default)]
pub(super) struct Entry {
    /// As the log has it, or will have when the last write is kept. `None`: there is no such id,
    /// but its last write is under way.
    pub(super) txn: Option<Txn>,
    pub(super) remembered: Remembered,
}

impl Transactions {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many transactional ids there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.table.len()
    }

    /// How many of them are in each state.
    #[must_use]
    pub fn counts(&self) -> TxnCounts {
        self.counts
    }

    /// What they take in memory, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Has an id be as it is said to be; `None`: not there. Gives how it was.
    pub(super) fn set(&mut self, id: &Arc<str>, txn: Option<Txn>) -> Option<Txn> {
        let size = |txn: &Option<Txn>| txn.as_ref().map_or(0, |txn| ID_BYTES + id.len() + txn.bytes());
        let after = size(&txn);
        if let Some(txn) = &txn {
            self.counts[txn.state as usize] += 1;
        }
        let entry = self.table.entry(id.clone()).or_default();
        let before = std::mem::replace(&mut entry.txn, txn);
        self.bytes = self.bytes + after - size(&before);
        if let Some(before) = &before {
            self.counts[before.state as usize] -= 1;
        }
        before
    }

    pub(super) fn get(&self, id: &str) -> Option<(&Txn, &Remembered)> {
        let entry = self.table.get(id)?;
        Some((entry.txn.as_ref()?, &entry.remembered))
    }

    /// What a producer's transaction is like, if it is that of the id and nothing of it is under
    /// way. Every request that names a producer is looked at in this order (`TransactionManager`
    /// and `TransactionCoordinator` of 4.4.0).
    pub(super) fn settled(&self, of: &Incarnation) -> Result<&Txn, ErrorCode> {
        let (txn, remembered) = self.get(&of.id).ok_or(ErrorCode::InvalidProducerIdMapping)?;
        if remembered.is_pending {
            return Err(ErrorCode::ConcurrentTransactions);
        }
        Ok(txn)
    }

    /// Whether nothing of an id is under way, and no decision waits for its markers.
    pub(super) fn is_settled(&self, id: &str) -> bool {
        let is_so = |entry: &Entry| {
            let is_marked = entry.txn.as_ref().is_none_or(|txn| txn.state.outcome().is_none());
            is_marked && !entry.remembered.is_pending
        };
        self.table.get(id).is_none_or(is_so)
    }

    /// Writes what is to be known of an id from now on; `None`: nothing. `last_epoch`: of its
    /// producer before this one.
    pub(super) fn write(
        &mut self,
        id: &Arc<str>,
        next: Option<Txn>,
        last_epoch: Option<i16>,
        turn: &mut TxnTurn<'_>,
    ) {
        let entry = self.table.entry(id.clone()).or_default();
        assert!(!entry.remembered.is_pending, "one change of an id is under way at a time");
        let before = entry.txn.as_ref();
        let next = next.map(|next| next.behind(before));
        let now = Remembered { is_pending: true, last_epoch };
        let before = std::mem::replace(&mut entry.remembered, now);
        let record = TxnRecord::new(id, next.as_ref(), turn.world.version());
        let undo = self.replay(record.clone(), None);
        turn.write(record, undo);
        turn.then(TxnAfter { id: id.clone(), before });
    }

    pub(super) fn forget_if_gone(&mut self, id: &str) {
        let is_gone = |entry: &Entry| entry.txn.is_none() && !entry.remembered.is_pending;
        if self.table.get(id).is_some_and(is_gone) {
            self.table.remove(id);
        }
    }

    /// Has the deadline that the state of an id asks for.
    pub(super) fn set_deadline(&self, id: &Arc<str>, turn: &mut TxnTurn<'_>) {
        let timer = TxnTimer::Timeout(id.clone());
        match self.get(id) {
            Some((txn, _)) if txn.state == TxnState::Ongoing => {
                turn.set_timer(timer, txn.time_left(turn.now.wall));
            }
            _ => turn.cancel_timer(&timer),
        }
    }
}
