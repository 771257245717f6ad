//! Between clients and shards: connections, whose requests and replies keep their order.

use std::collections::BTreeMap;
use std::time::Duration;

use aplomb_broker::ports::{ConnectionId, Reply, Request, RequestId, ShardId};
use aplomb_model::Instant;
use bytes::Bytes;

use super::check::promptness::Expect;
use super::clients::{Action, Auditor, Client, of_role};
use super::random::Dice;
use super::scenario::Plan;
use super::world::{Event, World};

const MS: Duration = Duration::from_millis(1);
/// The auditor's place among the clients.
pub(crate) const AUDITOR: usize = 0;

/// A script, or the auditor, of whom the world wants to know more.
pub(crate) enum Scripted {
    Auditor(Box<Auditor>),
    Client(Box<dyn Client>),
}

impl Scripted {
    pub(crate) fn as_mut(&mut self) -> &mut dyn Client {
        match self {
            Self::Auditor(auditor) => &mut **auditor,
            Self::Client(client) => client.as_mut(),
        }
    }

    fn wake_at(&self) -> Option<Instant> {
        match self {
            Self::Auditor(auditor) => auditor.wake_at(),
            Self::Client(client) => client.wake_at(),
        }
    }
}

/// A client, and how it is connected.
pub(crate) struct Slot {
    pub(crate) client: Scripted,
    pub(crate) dice: Dice,
    pub(crate) correlation: i32,
    pub(crate) connection: Option<ConnectionId>,
    /// When it tries to connect.
    pub(crate) next_try: Instant,
}

impl Slot {
    /// The auditor, and the clients of the plan.
    pub(crate) fn all(plan: &Plan, seed: u64) -> Vec<Self> {
        let slot =
            |client, dice| Self { client, dice, correlation: 0, connection: None, next_try: Instant::START };
        let auditor = slot(Scripted::Auditor(Box::default()), Dice::of(seed, "auditor", 0));
        let clients = plan.clients.iter().map(|(number, role)| {
            let mut dice = Dice::of(seed, "client", *number as u64);
            let client = Scripted::Client(of_role(*role, &mut dice));
            slot(client, dice)
        });
        std::iter::once(auditor).chain(clients).collect()
    }
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    slot: usize,
    next_request: u64,
    next_reply: u64,
    /// Replies that wait for those before them.
    ready: BTreeMap<u64, Reply>,
    to_broker: Instant,
    to_client: Instant,
    /// The broker has said its last word.
    closing: bool,
}

impl World {
    /// Clients that want to connect, or to be woken.
    pub(crate) fn next_client(&self) -> Option<Instant> {
        let slots = self.slots.iter().enumerate();
        slots
            .filter_map(|(n, slot)| match slot.connection {
                Some(_) => slot.client.wake_at(),
                None => self.may_connect(n).then_some(slot.next_try),
            })
            .min()
    }

    fn may_connect(&self, slot: usize) -> bool {
        self.process.is_some()
            && !self.outages.stopping
            && (slot == AUDITOR || !self.outages.audit_first)
            && (slot != AUDITOR || !self.is_auditor_done())
    }

    pub(crate) fn is_auditor_done(&self) -> bool {
        matches!(&self.slots[AUDITOR].client, Scripted::Auditor(auditor) if auditor.done)
    }

    pub(crate) fn wake_clients(&mut self) {
        for n in 0..self.slots.len() {
            let slot = &self.slots[n];
            match slot.connection {
                None if self.may_connect(n) && slot.next_try <= self.now => self.connect(n),
                Some(_) if slot.client.wake_at().is_some_and(|at| at <= self.now) => {
                    self.trace.event(self.now, "client wakes", &[n as u64]);
                    self.client_turn(n, |client, ctx| client.on_wake(ctx));
                }
                None | Some(_) => {}
            }
        }
        self.after_audit();
    }

    fn connect(&mut self, slot: usize) {
        let Some(process) = &self.process else { return };
        let shard = ShardId(self.slots[slot].dice.within(0..process.shards.len() as u64) as u16);
        let id = ConnectionId { shard, number: self.next_connection };
        self.next_connection += 1;
        let connection = Connection {
            slot,
            next_request: 0,
            next_reply: 0,
            ready: BTreeMap::new(),
            to_broker: self.now,
            to_client: self.now,
            closing: false,
        };
        self.connections.insert(id, connection);
        self.slots[slot].connection = Some(id);
        self.trace.event(self.now, "connect", &[slot as u64, shard.0.into(), id.number]);
        self.client_turn(slot, |client, ctx| client.on_connected(ctx));
    }

    /// Carries out what a client wants.
    pub(crate) fn act(&mut self, slot: usize, actions: Vec<Action>) {
        for action in actions {
            let Some(id) = self.slots[slot].connection else { return };
            match action {
                Action::Send { frame, expect } => {
                    let Some(connection) = self.connections.get_mut(&id) else { continue };
                    let sequence = connection.next_request;
                    connection.next_request += 1;
                    let delay = self.network.time(Duration::from_micros(20)..Duration::from_micros(400));
                    connection.to_broker = connection.to_broker.max(self.now + delay);
                    let when = connection.to_broker;
                    self.at_process(when, Event::Frame { connection: id, sequence, frame, expect });
                }
                Action::Disconnect => {
                    let when = self.connections.get(&id).map_or(self.now, |connection| connection.to_broker);
                    self.at_process(when, Event::ClosedByClient { connection: id });
                    self.drop_connection(id);
                }
            }
        }
    }

    pub(crate) fn deliver_frame(&mut self, id: ConnectionId, sequence: u64, frame: Bytes, expect: Expect) {
        // A broker that stops reads no more, and neither does one that has closed the connection.
        if self.outages.stopping || self.connections.get(&id).is_some_and(|connection| connection.closing) {
            return;
        }
        let request = RequestId { connection: id, sequence };
        self.trace.event(self.now, "request", &[id.number, sequence, frame.len() as u64]);
        self.trace.say(self.now, || format!("  {expect:?}"));
        if self.connections.contains_key(&id) {
            self.promptness.arrives(request, expect, self.now);
        }
        let request = Request { id: request, frame, session: Self::session() };
        self.turn(id.shard, |shard, now, out| shard.on_request(request, now, out));
    }

    /// A shard answers.
    pub(crate) fn reply(&mut self, id: RequestId, reply: Reply) {
        self.trace.event(self.now, "reply", &[id.connection.number, id.sequence]);
        if !self.connections.contains_key(&id.connection) {
            return; // the client is gone
        }
        let checked = self.promptness.answered(id, self.now);
        self.oracle.expect(checked);
        let delay = self.network.time(Duration::from_micros(20)..Duration::from_micros(400));
        let Some(connection) = self.connections.get_mut(&id.connection) else { return };
        connection.ready.insert(id.sequence, reply);
        let mut events = Vec::new();
        while let Some(reply) = connection.ready.remove(&connection.next_reply) {
            connection.next_reply += 1;
            connection.to_client = connection.to_client.max(self.now + delay);
            let event = match reply {
                Reply::Frame { parts: frame, .. } => Event::Answer { connection: id.connection, frame },
                Reply::Nothing { .. } => continue,
                Reply::Close { reason } => {
                    connection.closing = true;
                    let now = self.now;
                    self.trace
                        .say(now, || format!("connection {} is closed: {reason:?}", id.connection.number));
                    Event::ClosedByBroker { connection: id.connection }
                }
            };
            events.push((connection.to_client, event));
        }
        for (when, event) in events {
            self.at_process(when, event);
        }
    }

    pub(crate) fn deliver_answer(&mut self, id: ConnectionId, frame: &[Bytes]) {
        let Some(connection) = self.connections.get(&id) else { return };
        let slot = connection.slot;
        let bytes = Bytes::from(frame.concat());
        let head: Option<(i32, i32)> = bytes.first_chunk::<8>().map(|head| {
            let [a, b, c, d, e, f, g, h] = *head;
            (i32::from_be_bytes([a, b, c, d]), i32::from_be_bytes([e, f, g, h]))
        });
        let Some((_, correlation)) = head.filter(|(length, _)| *length as usize + 4 == bytes.len()) else {
            return self.oracle.violated(format!("a frame of {} bytes says it has {head:?}", bytes.len()));
        };
        self.trace.event(self.now, "answer", &[slot as u64, correlation as u64, bytes.len() as u64]);
        self.client_turn(slot, |client, ctx| client.on_answer(correlation, bytes.slice(4..), ctx));
    }

    /// A client's connection is gone.
    pub(crate) fn drop_connection(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.remove(&id) else { return };
        self.promptness.closed(id);
        let slot = connection.slot;
        self.trace.event(self.now, "disconnected", &[slot as u64, id.number]);
        self.slots[slot].connection = None;
        self.slots[slot].next_try = self.now + self.slots[slot].dice.time(MS..MS * 60);
        self.client_turn(slot, |client, ctx| client.on_disconnected(ctx));
    }

    pub(crate) fn drop_all_connections(&mut self) {
        for id in self.connections.keys().copied().collect::<Vec<_>>() {
            self.drop_connection(id);
        }
        self.promptness.ended();
    }
}
