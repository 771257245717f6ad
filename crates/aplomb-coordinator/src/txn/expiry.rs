//! Transactional ids that have not been used for a long time are forgotten, a piece of all ids a
//! turn.

use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use super::table::{PIECE, Transactions, TxnTimer, TxnTurn};

impl Transactions {
    pub(super) fn expire(&mut self, turn: &mut TxnTurn<'_>) {
        let settings = turn.world.settings();
        let (expiration, interval) = (settings.expiration.as_millis(), settings.expiry_interval);
        let now = turn.now.wall.0;
        let ids = self.next_piece();
        for id in &ids {
            let is_old = self.get(id).is_some_and(|(txn, remembered)| {
                let unused = now.saturating_sub(txn.updated);
                let is_unused = u128::try_from(unused).is_ok_and(|unused| unused >= expiration);
                txn.state.is_over() && !remembered.is_pending && is_unused
            });
            if is_old {
                self.write(id, None, None, turn);
                turn.end_unit();
            }
        }
        self.end_piece(&ids);
        let next = if self.looked.is_none() { interval } else { Duration::ZERO };
        turn.set_timer(TxnTimer::Expiry, next);
    }

    /// The ids that come after those that have been looked at.
    pub(super) fn next_piece(&self) -> Vec<Arc<str>> {
        let after = self.looked.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        self.table
            .range::<Arc<str>, _>((after, Bound::Unbounded))
            .take(PIECE)
            .map(|(id, _)| id.clone())
            .collect()
    }

    /// They have been looked at.
    pub(super) fn end_piece(&mut self, ids: &[Arc<str>]) {
        self.looked = ids.last().filter(|_| ids.len() == PIECE).cloned();
    }
}
