//! What is decided and kept is told to the host, who has it written into the partitions; when all
//! of them have it, the transaction is complete.

use std::sync::Arc;

use super::ask::Decided;
use super::state::{Incarnation, NO_PRODUCER, Txn, TxnPartitions, TxnState};
use super::table::{Transactions, TxnTurn};

impl Transactions {
    /// Tells the host of a decision that is kept; without partitions it is complete at once.
    pub(super) fn go_on_with_decided(&mut self, id: &Arc<str>, turn: &mut TxnTurn<'_>) {
        let Some((txn, remembered)) = self.get(id) else { return }; // it has expired
        let Some(is_committed) = txn.state.outcome().filter(|_| !remembered.is_pending) else {
            return; // nothing is decided, or not kept: it will be gone on with when it is
        };
        let of = Incarnation { id: id.clone(), producer_id: txn.producer_id, epoch: txn.epoch };
        if txn.partitions.is_empty() {
            return self.complete(&of, turn);
        }
        let (partitions, version) = (txn.partitions.clone(), txn.version);
        self.decided.push(Decided { of, is_committed, partitions, version });
    }

    /// All partitions of a decision have its marker.
    pub(super) fn complete(&mut self, of: &Incarnation, turn: &mut TxnTurn<'_>) {
        let Some((txn, remembered)) = self.get(&of.id) else { return }; // told twice, and expired
        let is_so = (txn.producer_id, txn.epoch) == (of.producer_id, of.epoch);
        let Some(is_committed) = txn.state.outcome().filter(|_| is_so && !remembered.is_pending) else {
            return; // told twice
        };
        let state = if is_committed { TxnState::CompleteCommit } else { TxnState::CompleteAbort };
        let last_epoch = remembered.last_epoch;
        let complete =
            Txn { state, partitions: TxnPartitions::new(), updated: turn.now.wall.0, ..txn.clone() };
        let next = if txn.next_id == NO_PRODUCER {
            complete
        } else {
            Txn { producer_id: txn.next_id, next_id: NO_PRODUCER, epoch: 0, ..complete }
        };
        self.write(&of.id, Some(next), last_epoch, turn);
    }
}
