//! Lists that take more than a turn, in pieces, each in its turn.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use super::ask::{Listed, TxnFilter};
use crate::runtime::Ticket;

/// Lists that are being made, by who waits for them.
#[derive(Debug, Default)]
pub(super) struct Questions {
    waiting: BTreeMap<Ticket, Question>,
    /// Whose turn was last.
    last: Option<Ticket>,
}

#[derive(Debug)]
pub(super) struct Question {
    pub(super) filter: Arc<TxnFilter>,
    /// All ids up to this one have been looked at.
    pub(super) looked: Option<Arc<str>>,
    pub(super) listed: Vec<Listed>,
}

impl Questions {
    /// It goes on when it is its turn.
    pub(super) fn put(&mut self, ticket: Ticket, question: Question) {
        let before = self.waiting.insert(ticket, question);
        assert!(before.is_none(), "a ticket asks once");
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn cancel(&mut self, ticket: Ticket) {
        self.waiting.remove(&ticket); // most questions are none of these
    }

    /// Takes out the one whose turn it is.
    pub(super) fn next(&mut self) -> Option<(Ticket, Question)> {
        let after = self.last.map_or(Bound::Unbounded, Bound::Excluded);
        let next = self.waiting.range((after, Bound::Unbounded)).next();
        let ticket = *next.or_else(|| self.waiting.first_key_value())?.0;
        self.last = Some(ticket);
        self.waiting.remove(&ticket).map(|question| (ticket, question))
    }
}
