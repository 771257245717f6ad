//! DescribeTransactions and ListTransactions.

use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use super::ask::{Described, Listed, TxnFilter, TxnReply};
use super::questions::Question;
use super::state::Txn;
use super::table::{PIECE, Transactions, TxnTimer, TxnTurn};
use crate::runtime::Ticket;

impl Transactions {
    /// `None`: there is no such id.
    pub(super) fn describe(&self, id: &str) -> Option<Described> {
        let (txn, _) = self.get(id)?;
        Some(Described {
            state: txn.state,
            timeout: txn.timeout,
            began: txn.began,
            producer_id: txn.producer_id,
            epoch: txn.epoch,
            partitions: txn.partitions.clone(),
        })
    }

    pub(super) fn list(&mut self, ticket: Ticket, filter: Arc<TxnFilter>, turn: &mut TxnTurn<'_>) {
        self.go_on_with(ticket, Question { filter, looked: None, listed: Vec::new() }, turn);
    }

    /// The next piece of the list whose turn it is.
    pub(super) fn go_on_with_list(&mut self, turn: &mut TxnTurn<'_>) {
        if let Some((ticket, question)) = self.long.next() {
            self.go_on_with(ticket, question, turn);
        } // otherwise they were cancelled
    }

    fn go_on_with(&mut self, ticket: Ticket, mut question: Question, turn: &mut TxnTurn<'_>) {
        let after = question.looked.take();
        let after = after.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        let most =
            question.filter.pattern.as_ref().map_or(PIECE, |pattern| pattern.names_at_once().min(PIECE));
        let mut looked = 0;
        for (id, entry) in self.table.range::<Arc<str>, _>((after, Bound::Unbounded)).take(most) {
            looked += 1;
            question.looked = Some(id.clone());
            let txn = entry.txn.as_ref().filter(|txn| question.filter.passes(id, txn, turn.now.wall.0));
            question.listed.extend(txn.map(|txn| Listed {
                id: id.clone(),
                producer_id: txn.producer_id,
                state: txn.state,
            }));
        }
        if looked < most {
            turn.answer(ticket, TxnReply::Listed(question.listed));
        } else {
            self.long.put(ticket, question);
        }
        if !self.long.is_empty() {
            turn.set_timer(TxnTimer::Long, Duration::ZERO);
        }
    }
}

impl TxnFilter {
    fn passes(&self, id: &str, txn: &Txn, now: i64) -> bool {
        (self.producers.is_empty() || self.producers.contains(&txn.producer_id))
            && (self.states.is_empty() || self.states.iter().any(|name| name == txn.state.name()))
            && (self.duration < 0 || now.saturating_sub(txn.began) > self.duration)
            && self.pattern.as_ref().is_none_or(|pattern| pattern.matches(id))
    }
}
