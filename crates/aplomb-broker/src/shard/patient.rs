//! What takes long, or is asked by what takes long: so much a turn, between which clients that have
//! asked for something short are served.
//!
//! What always holds: each of the two queues is carried out in the order in which it came.

use std::collections::VecDeque;

use crate::calls::{Asker, OpId, PartitionKey, Slot};
use crate::operation::PartitionCall;
use crate::ports::{ConnectionId, Request};

/// Calls that are carried out in a turn. Each reads from memory or less, and takes a microsecond or
/// two.
const CALLS_A_TURN: usize = 256;

/// What waits for its turn.
#[derive(Debug, Default)]
pub(super) struct Patient {
    /// Long requests, on the shard with the controller: one a turn.
    requests: VecDeque<Request>,
    /// Calls of that shard's operations, on the others.
    calls: VecDeque<(Asker, PartitionKey, PartitionCall)>,
}

impl Patient {
    pub(super) fn is_empty(&self) -> bool {
        self.requests.is_empty() && self.calls.is_empty()
    }

    pub(super) fn push(&mut self, request: Request) {
        self.requests.push_back(request);
    }

    pub(super) fn extend(&mut self, op: OpId, calls: Vec<(Slot, PartitionKey, PartitionCall)>) {
        self.calls.extend(calls.into_iter().map(|(slot, key, call)| (Asker::Client(op, slot), key, call)));
    }

    /// A connection is gone, and with it who would read the answers.
    pub(super) fn on_connection_closed(&mut self, connection: ConnectionId) {
        self.requests.retain(|request| request.id.connection != connection);
    }

    /// Nobody is answered any more whose request was not begun.
    pub(super) fn begin_stop(&mut self) {
        self.requests.clear();
    }

    /// Takes out the request of this turn.
    pub(super) fn take_request(&mut self) -> Option<Request> {
        self.requests.pop_front()
    }

    /// Takes out the calls of this turn.
    pub(super) fn take_calls(&mut self) -> Vec<(Asker, PartitionKey, PartitionCall)> {
        let some = self.calls.len().min(CALLS_A_TURN);
        self.calls.drain(..some).collect()
    }
}
