//! Who of a connection asks first: requests that have to ask something in the order in which they
//! came.
//!
//! What always holds: what stands here is parked; those of a connection stand as they came.

use std::collections::BTreeSet;

use crate::ports::ConnectionId;

/// Operations that have still to ask, by their numbers, which count up.
#[derive(Debug, Default)]
pub(super) struct AskingOrder {
    standing: BTreeSet<(ConnectionId, u64)>,
}

impl AskingOrder {
    /// It came last of its connection.
    pub(super) fn enter(&mut self, connection: ConnectionId, number: u64) {
        let last = self.of(connection).next_back();
        assert!(last.is_none_or(|last| last < number), "operation {number} came before {last:?}");
        self.standing.insert((connection, number));
    }

    /// Who of a connection may ask.
    pub(super) fn first(&self, connection: ConnectionId) -> Option<u64> {
        self.of(connection).next()
    }

    /// It has asked, or has ended. Gives the one that is first of the connection from here on, and
    /// was not before.
    pub(super) fn leave(&mut self, connection: ConnectionId, number: u64) -> Option<u64> {
        let was_first = self.first(connection) == Some(number);
        self.standing.remove(&(connection, number));
        if was_first { self.first(connection) } else { None }
    }

    fn of(&self, connection: ConnectionId) -> impl DoubleEndedIterator<Item = u64> {
        self.standing.range((connection, 0)..=(connection, u64::MAX)).map(|(_, number)| *number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::ShardId;

    #[test]
    fn those_of_a_connection_come_one_after_the_other_and_others_do_not_wait() {
        let [one, other] = [1, 2].map(|number| ConnectionId { shard: ShardId(0), number });
        let mut order = AskingOrder::default();
        for (connection, number) in [(one, 3), (other, 4), (one, 5), (one, 8)] {
            order.enter(connection, number);
        }
        assert_eq!((order.first(one), order.first(other)), (Some(3), Some(4)));
        assert_eq!(order.leave(one, 5), None, "it was not first");
        assert_eq!(order.leave(one, 3), Some(8));
        assert_eq!(order.leave(one, 3), None, "it is gone");
        assert_eq!(order.leave(one, 8), None, "it was the last");
        assert_eq!((order.first(one), order.first(other)), (None, Some(4)));
    }

    #[test]
    #[should_panic(expected = "operation 3 came before Some(3)")]
    fn nobody_stands_twice() {
        let connection = ConnectionId { shard: ShardId(0), number: 1 };
        let mut order = AskingOrder::default();
        order.enter(connection, 3);
        order.enter(connection, 3);
    }
}
