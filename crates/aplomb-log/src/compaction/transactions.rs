//! Which transactions a pass is in the middle of (`CleanedTransactionMetadata`).
//!
//! A batch of an aborted transaction goes at once. A marker stays as long as a batch of its
//! transaction was met, since readers could not tell otherwise what became of that.

use std::collections::{BTreeMap, BTreeSet};

use aplomb_model::batch::BatchHeader;
use aplomb_model::{Offset, ProducerId};

use crate::index::{AbortedTransaction, collect_aborted};

/// The transactions between two batches of a pass.
#[derive(Debug, Default)]
pub(super) struct CleanedTransactions {
    /// Aborted ones that begin further on.
    ahead: BTreeMap<(Offset, ProducerId), AbortedTransaction>,
    aborted: BTreeMap<ProducerId, Aborted>,
    /// Producers of committed ones of which batches were met.
    committed: BTreeSet<ProducerId>,
}

#[derive(Debug)]
struct Aborted {
    transaction: AbortedTransaction,
    met: bool,
}

/// What becomes of a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Marker {
    /// Nothing of its transaction is left.
    pub(super) may_go: bool,
    /// The entry for the index of the segment that the marker is written to.
    pub(super) entry: Option<AbortedTransaction>,
}

impl CleanedTransactions {
    /// A segment is entered: those of `all` that have batches in `from..upper`.
    pub(super) fn enter(&mut self, all: &[AbortedTransaction], from: Offset, upper: Offset) {
        let first = all.partition_point(|entry| entry.last_offset < from);
        let found = collect_aborted(&all[first..], from, upper).transactions;
        self.ahead.extend(found.into_iter().map(|entry| ((entry.first_offset, entry.producer), entry)));
    }

    /// A batch of records. Whether it is of an aborted transaction.
    pub(super) fn on_records(&mut self, header: &BatchHeader) -> bool {
        self.begin_up_to(header.last_offset());
        let Some(stamp) = header.producer().filter(|_| header.is_transactional()) else { return false };
        match self.aborted.get_mut(&stamp.id) {
            Some(aborted) => {
                aborted.met = true;
                true
            }
            None => {
                self.committed.insert(stamp.id);
                false
            }
        }
    }

    /// A control batch. `committed`: what its marker says; `None` if it is none, or was emptied.
    pub(super) fn on_control(&mut self, header: &BatchHeader, committed: Option<bool>) -> Marker {
        self.begin_up_to(header.last_offset());
        let Some(stamp) = header.producer() else { return Marker { may_go: false, entry: None } };
        match committed {
            Some(true) => Marker { may_go: !self.committed.remove(&stamp.id), entry: None },
            Some(false) => {
                let entry = self.aborted.remove(&stamp.id).filter(|aborted| aborted.met);
                Marker { may_go: entry.is_none(), entry: entry.map(|aborted| aborted.transaction) }
            }
            // An empty one was compacted before; of another kind nothing is known.
            None => Marker { may_go: header.count() == 0, entry: None },
        }
    }

    fn begin_up_to(&mut self, offset: Offset) {
        while let Some(first) = self.ahead.first_entry()
            && first.key().0 <= offset
        {
            let transaction = first.remove();
            self.aborted.entry(transaction.producer).or_insert(Aborted { transaction, met: false });
        }
    }
}
