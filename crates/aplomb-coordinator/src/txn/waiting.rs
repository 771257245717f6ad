//! What waits for something else: for a producer id, or until what is under way of an id is done.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ask::{Add, End, Init};
use crate::runtime::Ticket;

/// What a producer id is needed for.
#[derive(Clone, Debug)]
pub(super) enum Needy {
    /// A producer begins.
    Init(Init),
    /// A transaction ends in the last epoch.
    End(End),
}

/// Who waits for a producer id, in the order of their tickets.
#[derive(Debug, Default)]
pub(super) struct WaitForId {
    waiting: BTreeMap<Ticket, Needy>,
}

impl WaitForId {
    pub(super) fn push(&mut self, ticket: Ticket, needy: Needy) {
        let before = self.waiting.insert(ticket, needy);
        assert!(before.is_none(), "a ticket asks once");
    }

    pub(super) fn pop(&mut self) -> Option<(Ticket, Needy)> {
        self.waiting.pop_first()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn cancel(&mut self, ticket: Ticket) {
        self.waiting.remove(&ticket); // most wait for something else
    }
}

/// Partitions that are to be added when what is under way of their id is done.
///
/// What always holds: both tables have the same ones; those of an id are in the order in which they
/// were asked.
#[derive(Debug, Default)]
pub(super) struct WaitToAdd {
    by_id: BTreeMap<(Arc<str>, Ticket), Add>,
    by_ticket: BTreeMap<Ticket, Arc<str>>,
}

impl WaitToAdd {
    pub(super) fn push(&mut self, ticket: Ticket, add: Add) {
        self.by_ticket.insert(ticket, add.of.id.clone());
        let before = self.by_id.insert((add.of.id.clone(), ticket), add);
        assert!(before.is_none(), "a ticket asks once");
    }

    /// Takes out what was asked first of those of an id.
    pub(super) fn pop(&mut self, id: &Arc<str>) -> Option<(Ticket, Add)> {
        let of_id = (id.clone(), Ticket(0))..=(id.clone(), Ticket(u64::MAX));
        let place = self.by_id.range(of_id).next()?.0.clone();
        let add = self.by_id.remove(&place).expect("it was found there");
        self.by_ticket.remove(&place.1);
        Some((place.1, add))
    }

    pub(super) fn cancel(&mut self, ticket: Ticket) {
        let Some(id) = self.by_ticket.remove(&ticket) else { return }; // as above
        self.by_id.remove(&(id, ticket));
    }
}
