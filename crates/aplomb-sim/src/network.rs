//! The clients and their connections, over which requests and replies keep their order.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use aplomb_broker::config::SecurityProtocol;
use aplomb_broker::ports::{ConnectionId, Reply, Request, RequestId, Session, ShardId};
use aplomb_model::Instant;
use bytes::Bytes;

use super::agenda::Event;
use super::check::promptness::Expect;
use super::clients::{Action, Auditor, Client, Context, of_role};
use super::process::LISTENER;
use super::random::Dice;
use super::scenario::Plan;
use super::world::World;

const MS: Duration = Duration::from_millis(1);
/// How long a frame is under way.
const LATENCY: Range<Duration> = Duration::from_micros(20)..Duration::from_micros(400);
/// The auditor's place among the clients.
const AUDITOR: usize = 0;

/// Whom a running broker lets in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Door {
    /// Connections are spread over so many shards.
    pub(crate) shards: usize,
    /// Until the auditor is done it comes alone.
    pub(crate) auditor_only: bool,
}

/// A script, or the auditor, of which more is asked than of other clients.
enum Scripted {
    Auditor(Box<Auditor>),
    Client(Box<dyn Client>),
}

impl Scripted {
    fn as_mut(&mut self) -> &mut dyn Client {
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
struct Slot {
    client: Scripted,
    /// It is there until all has come to rest.
    comes_to_rest: bool,
    dice: Dice,
    correlation: i32,
    connection: Option<ConnectionId>,
    /// When it tries to connect.
    next_try: Instant,
}

#[derive(Debug)]
struct Connection {
    slot: usize,
    next_request: u64,
    next_reply: u64,
    /// Replies that wait for those before them.
    ready: BTreeMap<u64, Reply>,
    /// When the last frame to the broker arrives there, and the last to the client.
    to_broker: Instant,
    to_client: Instant,
    /// The broker has said its last word.
    closing: bool,
}

/// All clients, the auditor first, and their connections.
pub(crate) struct Network {
    slots: Vec<Slot>,
    connections: BTreeMap<ConnectionId, Connection>,
    /// Every client is the same user, at home.
    session: Arc<Session>,
    next_connection: u64,
    /// In the end those come that come to rest, and no others.
    members_only: bool,
}

impl Network {
    /// The clients of a plan, and the auditor; none is connected.
    pub(crate) fn new(plan: &Plan, seed: u64) -> Self {
        let slot = |client, comes_to_rest, dice| Slot {
            client,
            comes_to_rest,
            dice,
            correlation: 0,
            connection: None,
            next_try: Instant::START,
        };
        let auditor = slot(Scripted::Auditor(Box::default()), false, Dice::of(seed, "auditor", 0));
        let clients = plan.clients.iter().map(|(number, role)| {
            let mut dice = Dice::of(seed, "client", *number as u64);
            let client = Scripted::Client(of_role(*role, &mut dice));
            slot(client, role.comes_to_rest(), dice)
        });
        let slots = std::iter::once(auditor).chain(clients).collect();
        let home = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let session = Arc::new(Session::anonymous(home, LISTENER.into(), SecurityProtocol::Plaintext));
        Self { slots, connections: BTreeMap::new(), session, next_connection: 0, members_only: false }
    }

    /// When the next client wants to connect, or to be woken. `door`: none while no broker listens.
    pub(crate) fn next_wake(&self, door: Option<Door>) -> Option<Instant> {
        let slots = self.slots.iter().enumerate();
        slots
            .filter_map(|(n, slot)| match slot.connection {
                Some(_) => slot.client.wake_at(),
                None => self.may_connect(n, door).then_some(slot.next_try),
            })
            .min()
    }

    /// From now on those come that come to rest, and no others but the auditor.
    pub(crate) fn let_members_in(&mut self) {
        self.members_only = true;
    }

    fn may_connect(&self, slot: usize, door: Option<Door>) -> bool {
        match door {
            None => false,
            Some(_) if slot == AUDITOR => !self.is_auditor_done(),
            Some(_) if self.members_only => self.slots[slot].comes_to_rest,
            Some(door) => !door.auditor_only,
        }
    }

    fn auditor(&self) -> &Auditor {
        match &self.slots[AUDITOR].client {
            Scripted::Auditor(auditor) => auditor,
            Scripted::Client(_) => unreachable!("the first slot is the auditor's"),
        }
    }

    pub(crate) fn is_auditor_done(&self) -> bool {
        self.auditor().done
    }

    /// The broker is up: a new auditor comes at once, the others a little later.
    pub(crate) fn broker_is_up(&mut self, now: Instant) {
        self.slots[AUDITOR].client = Scripted::Auditor(Box::default());
        for (n, slot) in self.slots.iter_mut().enumerate() {
            let latest = if n == AUDITOR { MS } else { MS * 100 };
            slot.next_try = now + slot.dice.time(Duration::ZERO..latest);
        }
    }

    /// Whether the auditor wants to come alone for no reason.
    pub(crate) fn audits_alone_by_chance(&mut self) -> bool {
        self.slots[AUDITOR].dice.percent(30)
    }

    /// If the auditor is done and still connected, it leaves and tells how many partitions it could
    /// not read.
    pub(crate) fn dismiss_auditor(&mut self, world: &mut World) -> Option<usize> {
        let id = self.slots[AUDITOR].connection.filter(|_| self.is_auditor_done())?;
        let unread = self.auditor().unread;
        world.note("audited", &[unread as u64]);
        world.agenda.at_process(world.now(), Event::ClosedByClient { connection: id });
        self.drop_connection(id, world);
        Some(unread)
    }

    /// Clients whose time has come connect, or have their turn.
    pub(crate) fn wake(&mut self, door: Option<Door>, world: &mut World) {
        for n in 0..self.slots.len() {
            let slot = &self.slots[n];
            match (slot.connection, door) {
                (None, Some(Door { shards, .. }))
                    if self.may_connect(n, door) && slot.next_try <= world.now() =>
                {
                    self.connect(n, shards, world);
                }
                (Some(_), _) if slot.client.wake_at().is_some_and(|at| at <= world.now()) => {
                    world.note("client wakes", &[n as u64]);
                    self.turn(n, world, |client, ctx| client.on_wake(ctx));
                }
                (None | Some(_), _) => {}
            }
        }
    }

    fn connect(&mut self, slot: usize, shards: usize, world: &mut World) {
        let shard = ShardId(self.slots[slot].dice.within(1..shards as u64) as u16);
        let id = ConnectionId { shard, number: self.next_connection };
        self.next_connection += 1;
        let connection = Connection {
            slot,
            next_request: 0,
            next_reply: 0,
            ready: BTreeMap::new(),
            to_broker: world.now(),
            to_client: world.now(),
            closing: false,
        };
        self.connections.insert(id, connection);
        self.slots[slot].connection = Some(id);
        world.note("connect", &[slot as u64, shard.0.into(), id.number]);
        self.turn(slot, world, |client, ctx| client.on_connected(ctx));
    }

    /// A client's turn, and what comes of it.
    fn turn(&mut self, slot: usize, world: &mut World, turn: impl FnOnce(&mut dyn Client, &mut Context<'_>)) {
        let plan = world.plan.clone();
        let clocks = (world.now(), world.wall());
        let Slot { client, dice, correlation, .. } = &mut self.slots[slot];
        let noting = world.trace.is_read();
        let mut ctx = Context::new(clocks, dice, &mut world.oracle, &plan, correlation, noting);
        turn(client.as_mut(), &mut ctx);
        let (actions, notes) = (ctx.actions, ctx.notes);
        for note in notes.into_iter().flatten() {
            world.say(|| format!("client {slot}: {note}"));
        }
        self.act(slot, actions, world);
        for topic in std::mem::take(&mut world.oracle.cluster.gone) {
            world.oracle.journal.forget(topic);
        }
        world.note_appended();
    }

    fn act(&mut self, slot: usize, actions: Vec<Action>, world: &mut World) {
        for action in actions {
            let Some(id) = self.slots[slot].connection else { return };
            match action {
                Action::Send { frame, expect } => {
                    let Some(connection) = self.connections.get_mut(&id) else { continue };
                    let sequence = connection.next_request;
                    connection.next_request += 1;
                    let arrives = world.now() + world.agenda.latency(LATENCY);
                    connection.to_broker = connection.to_broker.max(arrives);
                    let event = Event::Frame { connection: id, sequence, frame, expect };
                    world.agenda.at_process(connection.to_broker, event);
                }
                Action::Disconnect => {
                    let last = self.connections.get(&id).map(|connection| connection.to_broker);
                    let when = last.unwrap_or(world.now());
                    world.agenda.at_process(when, Event::ClosedByClient { connection: id });
                    self.drop_connection(id, world);
                }
            }
        }
    }

    /// A frame arrives at the broker: the request that it is, unless the broker has closed the
    /// connection and reads no more.
    pub(crate) fn frame_arrives(
        &mut self,
        id: ConnectionId,
        sequence: u64,
        frame: Bytes,
        expect: Expect,
        world: &mut World,
    ) -> Option<Request> {
        let connection = self.connections.get(&id);
        if connection.is_some_and(|connection| connection.closing) {
            return None;
        }
        let request = RequestId { connection: id, sequence };
        world.note("request", &[id.number, sequence, frame.len() as u64]);
        world.say(|| format!("  {expect:?}"));
        if connection.is_some() {
            world.promptness.arrives(request, expect, world.agenda.now());
        }
        Some(Request { id: request, frame, session: self.session.clone(), spent: Duration::ZERO })
    }

    /// A shard answers.
    pub(crate) fn reply(&mut self, id: RequestId, reply: Reply, world: &mut World) {
        world.note("reply", &[id.connection.number, id.sequence]);
        // Without a connection the client is gone.
        let Some(connection) = self.connections.get_mut(&id.connection) else { return };
        let checked = world.promptness.answered(id, world.agenda.now());
        world.oracle.expect(checked);
        let arrives = world.now() + world.agenda.latency(LATENCY);
        connection.ready.insert(id.sequence, reply);
        while let Some(reply) = connection.ready.remove(&connection.next_reply) {
            connection.next_reply += 1;
            connection.to_client = connection.to_client.max(arrives);
            let event = match reply {
                Reply::Frame { parts: frame, .. } => Event::Answer { connection: id.connection, frame },
                Reply::Nothing { .. } => continue,
                Reply::Close { reason } => {
                    connection.closing = true;
                    world.say(|| format!("connection {} is closed: {reason:?}", id.connection.number));
                    Event::ClosedByBroker { connection: id.connection }
                }
            };
            world.agenda.at_process(connection.to_client, event);
        }
    }

    /// An answer arrives at its client.
    pub(crate) fn answer_arrives(&mut self, id: ConnectionId, frame: &[Bytes], world: &mut World) {
        let Some(connection) = self.connections.get(&id) else { return };
        let slot = connection.slot;
        let bytes = Bytes::from(frame.concat());
        let head: Option<(i32, i32)> = bytes.first_chunk::<8>().map(|head| {
            let [a, b, c, d, e, f, g, h] = *head;
            (i32::from_be_bytes([a, b, c, d]), i32::from_be_bytes([e, f, g, h]))
        });
        let Some((_, correlation)) = head.filter(|(length, _)| *length as usize + 4 == bytes.len()) else {
            let what = format!("a frame of {} bytes says it has {head:?}", bytes.len());
            return world.oracle.violated(what);
        };
        world.note("answer", &[slot as u64, correlation as u64, bytes.len() as u64]);
        self.turn(slot, world, |client, ctx| client.on_answer(correlation, bytes.slice(4..), ctx));
    }

    /// A client's connection is gone.
    pub(crate) fn drop_connection(&mut self, id: ConnectionId, world: &mut World) {
        let Some(connection) = self.connections.remove(&id) else { return };
        world.promptness.closed(id);
        let slot = connection.slot;
        world.note("disconnected", &[slot as u64, id.number]);
        self.slots[slot].connection = None;
        self.slots[slot].next_try = world.now() + self.slots[slot].dice.time(MS..MS * 60);
        self.turn(slot, world, |client, ctx| client.on_disconnected(ctx));
    }

    /// The broker is gone, and all connections with it.
    pub(crate) fn drop_all_connections(&mut self, world: &mut World) {
        for id in self.connections.keys().copied().collect::<Vec<_>>() {
            self.drop_connection(id, world);
        }
        world.promptness.ended();
    }
}
