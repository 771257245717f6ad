//! Questions that are answered in pieces, one after the other.
//!
//! What always holds: each has its turn before another one has a second one.

use std::collections::BTreeMap;
use std::ops::Bound;

use crate::runtime::Ticket;

/// Questions that are under way, by who waits for the answer.
#[derive(Debug)]
pub(in crate::group) struct LongQuestions<Q> {
    waiting: BTreeMap<Ticket, Q>,
    /// Whose turn was last.
    last: Option<Ticket>,
}

impl<Q> Default for LongQuestions<Q> {
    fn default() -> Self {
        Self { waiting: BTreeMap::new(), last: None }
    }
}

impl<Q> LongQuestions<Q> {
    pub(in crate::group) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Takes out the one whose turn it is.
    pub(in crate::group) fn next(&mut self) -> Option<(Ticket, Q)> {
        let after = self.last.map_or(Bound::Unbounded, Bound::Excluded);
        let next = self.waiting.range((after, Bound::Unbounded)).next();
        let ticket = *next.or_else(|| self.waiting.first_key_value())?.0;
        self.last = Some(ticket);
        Some((ticket, self.waiting.remove(&ticket).expect("it is there")))
    }

    /// There is more of it to come.
    pub(in crate::group) fn put(&mut self, ticket: Ticket, question: Q) {
        let before = self.waiting.insert(ticket, question);
        assert!(before.is_none(), "a question is gone on with once at a time");
    }

    /// Nothing waits for the answer any more.
    pub(in crate::group) fn cancel(&mut self, ticket: Ticket) {
        self.waiting.remove(&ticket); // most questions are not long
    }

    /// Takes all out, and gives who waits for them.
    pub(in crate::group) fn clear(&mut self) -> impl Iterator<Item = Ticket> + use<Q> {
        std::mem::take(&mut self.waiting).into_keys()
    }
}
