//! What takes long, or is asked by what takes long: so much a turn, between which clients that have
//! asked for something short are served. And requests that wait for another thread, until it is
//! time to begin them anew.
//!
//! What always holds: each of the two queues is carried out in the order in which it came, and the
//! requests here of a connection are counted. What came behind a request that is to be begun anew
//! is begun when that has been. While mailboxes are full no call is made: its answer would only
//! take the room of what others wait for.

use std::collections::{HashMap, VecDeque};

use aplomb_model::Instant;

use crate::calls::{Asker, OpId, PartitionKey, Slot};
use crate::operation::PartitionCall;
use crate::ports::{ConnectionId, Request};

/// What the calls of a turn may cost, in looks at a partition: a microsecond or two each.
const COST_A_TURN: usize = 256;

/// What waits for its turn.
#[derive(Debug, Default)]
pub(super) struct Patient {
    /// Long requests, on the shard with the controller: one a turn.
    requests: VecDeque<Request>,
    /// How many of them are of which connection.
    count_of: HashMap<ConnectionId, usize>,
    /// Calls of that shard's operations, on the others.
    calls: VecDeque<LongCalls>,
    /// Mailboxes are full.
    is_held: bool,
    /// Requests that are to be begun anew, and when: one of a connection at the most.
    again: Vec<(Instant, Request)>,
    /// What came behind them, by their connections.
    behind: HashMap<ConnectionId, VecDeque<Request>>,
}

/// Calls of an operation, as they came: a million of them are not moved at once. There is always
/// another one.
#[derive(Debug)]
struct LongCalls {
    op: OpId,
    rest: std::vec::IntoIter<(Slot, PartitionKey, PartitionCall)>,
}

impl Patient {
    pub(super) fn is_empty(&self) -> bool {
        self.requests.is_empty() && self.calls.is_empty() && self.again.is_empty()
    }

    /// When something is to be taken out.
    pub(super) fn wake_at(&self) -> Option<Instant> {
        if !self.requests.is_empty() || !self.calls.is_empty() && !self.is_held {
            return Some(Instant::START);
        }
        self.again.iter().map(|(at, _)| *at).min()
    }

    pub(super) fn push_again(&mut self, request: Request, at: Instant) {
        let connection = request.id.connection;
        let before = self.behind.entry(connection).or_default();
        if before.is_empty() && self.count_of.contains_key(&connection) {
            let all = std::mem::take(&mut self.requests).into_iter();
            let (later, others) = all.partition(|request| request.id.connection == connection);
            (*before, self.requests) = (later, others);
        }
        *self.count_of.entry(connection).or_default() += 1;
        self.again.push((at, request));
    }

    pub(super) fn push(&mut self, request: Request) {
        let connection = request.id.connection;
        *self.count_of.entry(connection).or_default() += 1;
        self.behind.get_mut(&connection).unwrap_or(&mut self.requests).push_back(request);
    }

    /// A request was begun anew. What came behind it is next, unless it has to come again.
    pub(super) fn on_begun(&mut self, connection: ConnectionId) {
        let is_to_come = || self.again.iter().any(|(_, request)| request.id.connection == connection);
        if self.behind.contains_key(&connection) && !is_to_come() {
            self.requests.extend(self.behind.remove(&connection).into_iter().flatten());
        }
    }

    /// Whether requests of a connection wait here. What comes behind them must not overtake them.
    pub(super) fn has_of(&self, connection: ConnectionId) -> bool {
        self.count_of.contains_key(&connection)
    }

    pub(super) fn extend(&mut self, op: OpId, calls: Vec<(Slot, PartitionKey, PartitionCall)>) {
        if !calls.is_empty() {
            self.calls.push_back(LongCalls { op, rest: calls.into_iter() });
        }
    }

    /// Whether mailboxes are full.
    pub(super) fn hold(&mut self, is_held: bool) {
        self.is_held = is_held;
    }

    /// A connection is gone, and with it who would read the answers.
    pub(super) fn on_connection_closed(&mut self, connection: ConnectionId) {
        self.again.retain(|(_, request)| request.id.connection != connection);
        self.behind.remove(&connection);
        if self.count_of.remove(&connection).is_some() {
            self.requests.retain(|request| request.id.connection != connection);
        }
    }

    /// Takes out the request of this turn: one whose time has come, or the next long one.
    pub(super) fn take_request(&mut self, now: Instant) -> Option<Request> {
        let due = self.again.iter().position(|(at, _)| *at <= now);
        let due = due.map(|due| self.again.remove(due).1);
        let request = due.or_else(|| self.requests.pop_front())?;
        let connection = request.id.connection;
        let count = self.count_of.get_mut(&connection).expect("what is here is counted");
        *count -= 1;
        if *count == 0 {
            self.count_of.remove(&connection);
        }
        Some(request)
    }

    /// Takes out the calls of this turn.
    pub(super) fn take_calls(&mut self) -> Vec<(Asker, PartitionKey, PartitionCall)> {
        let (mut left, mut taken) = (COST_A_TURN, Vec::new());
        if self.is_held {
            return taken;
        }
        while let Some(LongCalls { op, rest }) = self.calls.front_mut() {
            let (_, _, next) = rest.as_slice().first().expect("there is always another one");
            if next.cost() > left {
                break;
            }
            left -= next.cost();
            let (slot, key, call) = rest.next().expect("it was looked at");
            taken.push((Asker::Client(*op, slot), key, call));
            if rest.as_slice().is_empty() {
                self.calls.pop_front();
            }
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};
    use std::sync::Arc;

    use aplomb_coordinator::runtime::MarkerWish;
    use aplomb_log::producers::MarkerEpochRule;
    use aplomb_model::batch::EndTxnMarker;
    use aplomb_model::{ProducerEpoch, ProducerId};
    use bytes::Bytes;

    use super::*;
    use crate::calls::MarkerCall;
    use crate::config::SecurityProtocol;
    use crate::ports::{RequestId, Session, ShardId};

    fn request(connection: u64, number: u64) -> Request {
        let connection = ConnectionId { shard: ShardId(1), number: connection };
        let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let session = Session::anonymous(peer, "PLAINTEXT".into(), SecurityProtocol::Plaintext);
        Request {
            spent: std::time::Duration::ZERO,
            id: RequestId { connection, sequence: number },
            frame: Bytes::new(),
            session: Arc::new(session),
        }
    }

    #[test]
    fn requests_are_begun_in_their_order_but_for_those_whose_connection_has_gone() {
        let mut patient = Patient::default();
        assert!(patient.is_empty());
        for (connection, number) in [(1, 0), (2, 0), (1, 1), (3, 0)] {
            patient.push(request(connection, number));
        }
        let next = |patient: &mut Patient| {
            patient
                .take_request(Instant::START)
                .map(|request| (request.id.connection.number, request.id.sequence))
        };
        assert_eq!(next(&mut patient), Some((1, 0)));
        assert!(patient.has_of(request(1, 0).id.connection));
        patient.on_connection_closed(request(1, 0).id.connection);
        let rest = [next(&mut patient), next(&mut patient), next(&mut patient)];
        assert_eq!(rest, [Some((2, 0)), Some((3, 0)), None]);
        assert!((1..4).all(|connection| !patient.has_of(request(connection, 0).id.connection)));
        assert!(patient.is_empty());
    }

    #[test]
    fn a_request_that_waits_for_another_thread_is_begun_anew_when_it_is_time() {
        let mut patient = Patient::default();
        let at = |millis| Instant::START + std::time::Duration::from_millis(millis);
        for (connection, millis) in [(1, 20), (2, 10), (3, 5)] {
            patient.push_again(request(connection, 0), at(millis));
        }
        patient.on_connection_closed(request(3, 0).id.connection);
        assert_eq!(patient.wake_at(), Some(at(10)));
        assert!(patient.take_request(at(9)).is_none() && !patient.is_empty());
        let begun = [patient.take_request(at(20)), patient.take_request(at(20))];
        let connections = begun.map(|request| request.map(|request| request.id.connection.number));
        assert_eq!(connections, [Some(1), Some(2)]);
        assert!(patient.is_empty() && patient.wake_at().is_none());
    }

    #[test]
    fn what_came_behind_a_request_that_is_begun_anew_is_begun_behind_it() {
        let mut patient = Patient::default();
        let at = |millis| Instant::START + std::time::Duration::from_millis(millis);
        let take = |patient: &mut Patient, now| {
            let request = patient.take_request(now)?;
            Some((request.id.connection.number, request.id.sequence))
        };
        let first = request(1, 0).id.connection;
        patient.push(request(1, 1));
        patient.push(request(2, 0));
        patient.push_again(request(1, 0), at(10));
        patient.push(request(1, 2));
        assert!(patient.has_of(first));
        assert_eq!(take(&mut patient, at(0)), Some((2, 0)), "others do not wait with it");
        assert_eq!((take(&mut patient, at(9)), patient.wake_at()), (None, Some(at(10))));
        assert_eq!(take(&mut patient, at(10)), Some((1, 0)));
        patient.push_again(request(1, 0), at(20));
        patient.on_begun(first);
        assert_eq!(take(&mut patient, at(19)), None, "it is not known yet");
        assert_eq!(take(&mut patient, at(20)), Some((1, 0)));
        patient.on_begun(first);
        assert_eq!([take(&mut patient, at(20)), take(&mut patient, at(20))], [Some((1, 1)), Some((1, 2))]);
        assert!(!patient.has_of(first) && patient.is_empty());
        patient.push_again(request(1, 3), at(30));
        patient.push(request(1, 4));
        patient.on_connection_closed(first);
        assert!(!patient.has_of(first) && patient.is_empty() && patient.take_request(at(30)).is_none());
    }

    #[test]
    fn calls_are_carried_out_in_their_order_and_not_all_at_once() {
        let mut patient = Patient::default();
        let call = |slot: Slot| (slot, PartitionKey::METADATA, PartitionCall::cancel());
        let op = |number| OpId { shard: ShardId(0), number };
        patient.extend(op(1), (0..200).map(call).collect());
        patient.extend(op(2), (0..200).map(call).collect());
        let slots = |some: Vec<(Asker, PartitionKey, PartitionCall)>| -> Vec<Asker> {
            some.into_iter().map(|(asker, _, _)| asker).collect()
        };
        let mut all = slots(patient.take_calls());
        assert_eq!(all.len(), COST_A_TURN);
        all.extend(slots(patient.take_calls()));
        let in_order = (0..200).map(|slot| Asker::Client(op(1), slot));
        assert!(all.into_iter().eq(in_order.chain((0..200).map(|slot| Asker::Client(op(2), slot)))));
        assert!(patient.is_empty());
    }

    #[test]
    fn no_call_is_made_while_mailboxes_are_full() {
        let mut patient = Patient::default();
        let op = OpId { shard: ShardId(0), number: 1 };
        patient.extend(op, vec![(0, PartitionKey::METADATA, PartitionCall::cancel())]);
        patient.hold(true);
        assert!(patient.take_calls().is_empty() && patient.wake_at().is_none() && !patient.is_empty());
        patient.hold(false);
        assert_eq!(patient.wake_at(), Some(Instant::START));
        assert_eq!(patient.take_calls().len(), 1);
    }

    #[test]
    fn of_calls_that_append_fewer_are_carried_out_in_a_turn() {
        let mut patient = Patient::default();
        let end = EndTxnMarker { committed: true, coordinator_epoch: 0 };
        let producer = ProducerId::from_wire(1).expect("an id");
        let marker = MarkerWish { producer, epoch: ProducerEpoch(0), end };
        let marker = MarkerCall { marker, rule: MarkerEpochRule::Above };
        let calls = (0..100).map(|slot| (slot, PartitionKey::METADATA, PartitionCall::marker(marker)));
        patient.extend(OpId { shard: ShardId(0), number: 1 }, calls.collect());
        let taken: Vec<usize> =
            std::iter::from_fn(|| Some(patient.take_calls().len())).take_while(|taken| *taken > 0).collect();
        assert_eq!(taken, [32, 32, 32, 4]);
    }
}
