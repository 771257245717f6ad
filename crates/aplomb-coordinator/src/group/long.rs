//! Questions that take long: about all groups, or about more offsets than a turn looks at. They are
//! answered a piece a turn, one after the other, so that other clients are served in between.
//!
//! What always holds: a deadline is set while there is one; none goes on after the log has refused
//! something that it may have seen or done.

use std::time::Duration;

use aplomb_model::ErrorCode;

use super::GroupTimer;
use super::state::{GroupTurn, Groups, Long};
use crate::runtime::Ticket;

/// So many groups or offsets are looked at in a piece.
pub(super) const PIECE: usize = 1_000;

impl Groups {
    /// Begins with a question: most end with their first piece.
    pub(super) fn begin_long(&mut self, ticket: Ticket, long: impl Long + 'static, turn: &mut GroupTurn<'_>) {
        self.go_on_with(ticket, Box::new(long), turn);
    }

    /// The next piece of the question whose turn it is.
    pub(super) fn go_on_with_long(&mut self, turn: &mut GroupTurn<'_>) {
        if let Some((ticket, long)) = self.long.next() {
            self.go_on_with(ticket, long, turn);
        } // otherwise they were cancelled
    }

    fn go_on_with(&mut self, ticket: Ticket, mut long: Box<dyn Long>, turn: &mut GroupTurn<'_>) {
        match long.go_on(self, turn) {
            Some(reply) => turn.answer(ticket, reply),
            None => self.long.put(ticket, long),
        }
        if !self.long.is_empty() {
            turn.set_timer(GroupTimer::Long, Duration::ZERO);
        }
    }

    /// The log has refused something, so what they saw or did may never have been. Clients ask
    /// again.
    pub(super) fn refuse_long(&mut self, turn: &mut GroupTurn<'_>) {
        for ticket in self.long.clear() {
            turn.refuse(ticket, ErrorCode::CoordinatorNotAvailable);
        }
    }
}
