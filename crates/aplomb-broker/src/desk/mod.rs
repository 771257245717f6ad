//! The desk: where requests come in and replies go out. It takes them apart by the table of APIs,
//! keeps those that wait, and knows nothing of what any of them is about.
//!
//! What always holds: a request is answered once, by its operation or at once; an operation that is
//! parked has a deadline; when it ends, what waits for it elsewhere is cancelled. While operations
//! are about more partitions than they may be together, the next does not wait for what may take
//! long.

mod asking_order;
mod dispatch;
mod waits;

use self::asking_order::AskingOrder;
pub(crate) use self::dispatch::Surroundings;
use self::waits::Waits;

use std::collections::{BTreeSet, VecDeque};

use aplomb_model::{Instant, Timers};
use aplomb_protocol::ApiKey;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::calls::{Answer, Asker, OpId, PartitionKey, Slot};
use crate::errands::Errands;
use crate::fetch_sessions::FetchSessions;
use crate::figures::{Clients, ShardFigures};
use crate::head::HeadMessage;
use crate::operation::{Calls, Kind, Operation, PartitionCall, Progress, Replied, ReplyContext, WaitsAt};
use crate::ports::{CloseReason, ConnectionId, Event, Now, Reply, Request, RequestId, Severity, ShardId};
use crate::quotas::{Bill, Quotas, Till};
use crate::security::Audit;
use crate::storage::Storage;
use crate::volumes::Volumes;

/// What the desk wants done.
#[derive(Debug)]
pub(crate) enum DeskEffect {
    /// Ask a partition, on whatever shard it is.
    Call { op: OpId, slot: Slot, key: PartitionKey, call: PartitionCall },
    /// Send a reply.
    Reply(RequestId, Reply),
    /// Have the request answered where the controller is.
    Forward(Request),
    /// Have the request begun anew then.
    Again(Request, Instant),
    /// A connection is gone that had requests answered there.
    ForwardClosed(ConnectionId),
    /// Say this to the controller, wherever it is.
    Head(HeadMessage),
    /// An operation that waited for the controller has ended.
    CancelAtHead(Asker),
    /// A line for the log.
    Event(Event),
}

/// A request that waits.
struct Parked {
    request: RequestId,
    partitions: usize,
    operation: Box<dyn Operation>,
    bill: Option<Bill>,
    since: Instant,
    waits: Waits,
}

/// The requests of a shard's connections, and of others' for the controller.
pub(crate) struct Desk {
    me: ShardId,
    parked: FxHashMap<u64, Parked>,
    by_connection: BTreeSet<(ConnectionId, u64)>,
    /// Connections with requests that are, or were, for the controller's shard, and of which APIs.
    forwarded: FxHashMap<ConnectionId, BTreeSet<ApiKey>>,
    deadlines: Timers<u64, FxBuildHasher>,
    /// Those that want turns, one a turn of the loop. The first has them all until it is through,
    /// so that no more than one keeps what it has found so far.
    turns: VecDeque<u64>,
    asking_order: AskingOrder,
    next: u64,
    fetches: usize,
    produces: usize,
    /// Partitions that what is parked is about, and how many there may be.
    partitions: usize,
    most_partitions: usize,
    /// The broker stops.
    hurries: bool,
    sessions: FetchSessions,
    clients: Clients,
    quotas: Quotas,
    volumes: Volumes,
    audit: Audit,
    effects: Errands<DeskEffect>,
}

impl Desk {
    pub(crate) fn new(me: ShardId, sessions: FetchSessions, most_partitions: usize, quotas: Quotas) -> Self {
        Self {
            me,
            parked: FxHashMap::default(),
            by_connection: BTreeSet::new(),
            forwarded: FxHashMap::default(),
            deadlines: Timers::default(),
            turns: VecDeque::new(),
            asking_order: AskingOrder::default(),
            next: 0,
            fetches: 0,
            produces: 0,
            partitions: 0,
            most_partitions,
            hurries: false,
            sessions,
            clients: Clients::default(),
            quotas,
            volumes: Volumes::default(),
            audit: Audit::default(),
            effects: Errands::new(),
        }
    }

    /// Takes the next thing that others are to do.
    pub(crate) fn next_effect(&mut self) -> Option<DeskEffect> {
        self.effects.next()
    }

    /// Whether the desk wants nothing of others.
    pub(crate) fn is_quiet(&self) -> bool {
        self.effects.is_empty()
    }

    /// The next deadline of an operation, or at once if one wants a turn.
    pub(crate) fn wake_at(&self) -> Option<Instant> {
        if self.turns.is_empty() { self.deadlines.wake_at() } else { Some(Instant::START) }
    }

    /// Whether nothing waits.
    pub(crate) fn is_idle(&self) -> bool {
        self.parked.is_empty()
    }

    /// Shows what waits.
    pub(crate) fn show(&mut self, figures: &ShardFigures) {
        figures.set_parked(self.fetches, self.produces);
        figures.set_parked_partitions(self.partitions);
        figures.set_fetch_sessions(self.sessions.len(), self.sessions.partitions(), self.sessions.evicted());
        self.clients.hand_over(figures);
        figures.access().set_decisions(self.audit.counts());
    }

    /// A part of an operation has its answer.
    pub(crate) fn on_answer(&mut self, number: u64, slot: Slot, answer: Answer, storage: &Storage, now: Now) {
        // Answered meanwhile, for want of time, or its client has gone.
        let Some(parked) = self.parked.get_mut(&number) else { return };
        if let Answer::Waits(what) = answer {
            return parked.waits.begin(slot, what, now.instant);
        }
        if !matches!(answer, Answer::ReadLater(_)) {
            parked.waits.end(slot, now.instant);
        }
        parked.operation.on_answer(slot, answer);
        self.go_on(number, storage, now);
    }

    /// A partition that a part watches has more to say.
    pub(crate) fn on_woken(&mut self, number: u64, slot: Slot, storage: &Storage, now: Now) {
        let Some(parked) = self.parked.get_mut(&number) else { return }; // as above
        let mut calls = Calls::new();
        parked.waits.end(slot, now.instant);
        parked.operation.on_woken(slot, &mut calls);
        self.make(number, calls);
        self.go_on(number, storage, now);
    }

    /// Operations whose deadline has come answer with what they have. Each is asked once in a turn,
    /// whatever it says then. One that wants turns has one.
    pub(crate) fn on_wake(&mut self, storage: &Storage, now: Now) {
        if let Some(number) = self.turns.front().copied() {
            self.audit.at(now.instant);
            let parked = self.parked.get_mut(&number).expect("what wants a turn is parked");
            parked.operation.on_turn(&self.audit);
            self.tell_audit();
            self.go_on(number, storage, now);
        }
        let due: Vec<u64> = std::iter::from_fn(|| self.deadlines.pop_due(now.instant)).collect();
        for number in &due {
            let parked = self.parked.get_mut(number).expect("what has a deadline is parked");
            parked.operation.on_deadline();
        }
        for number in due {
            // It may have stood in line behind one of the others, and have gone on with that.
            if self.parked.contains_key(&number) {
                self.go_on(number, storage, now);
            }
        }
    }

    /// A connection is gone, and with it who would read its replies. Batches that are in the log
    /// stay there. Those that waited for memory are dropped, unless their client never waited for
    /// an answer: to it they are sent.
    pub(crate) fn on_connection_closed(&mut self, connection: ConnectionId, storage: &Storage, now: Now) {
        for number in self.numbers_of(connection) {
            let parked = self.parked.get(&number).expect("what has a connection is parked");
            if !parked.operation.outlives_connection() {
                self.remove(number);
            }
        }
        if connection.shard == self.me {
            self.clients.leave(connection.number);
        }
        self.volumes.forget(connection);
        if self.forwarded.remove(&connection).is_some() {
            self.effects.push(DeskEffect::ForwardClosed(connection));
        }
        // Who was before it may have ended just now.
        if let Some(first) = self.asking_order.first(connection) {
            self.go_on(first, storage, now);
        }
    }

    /// The broker stops: nothing waits for what may take long.
    pub(crate) fn hurry(&mut self, storage: &Storage, now: Now) {
        self.hurries = true;
        let mut numbers: Vec<u64> = self.parked.keys().copied().collect();
        numbers.sort_unstable(); // in an order that a simulation can repeat
        for number in numbers {
            // It may have ended with one that it stood behind in line.
            let Some(parked) = self.parked.get_mut(&number) else { continue };
            parked.operation.hurry();
            self.go_on(number, storage, now);
        }
    }

    fn numbers_of(&self, connection: ConnectionId) -> Vec<u64> {
        let of = self.by_connection.range((connection, 0)..=(connection, u64::MAX));
        of.map(|(_, number)| *number).collect()
    }

    fn park(
        &mut self,
        request: RequestId,
        mut operation: Box<dyn Operation>,
        bill: Option<Bill>,
        [since, deadline]: [Instant; 2],
    ) -> u64 {
        let number = self.next;
        self.next += 1;
        let partitions = operation.partitions();
        self.partitions += partitions;
        if self.hurries || self.partitions > self.most_partitions {
            operation.hurry();
        }
        if let Some(count) = self.counter(operation.kind()) {
            *count += 1;
        }
        self.by_connection.insert((request.connection, number));
        if operation.has_order() {
            self.asking_order.enter(request.connection, number);
        }
        self.deadlines.set(number, deadline);
        let waits = Waits::default();
        self.parked.insert(number, Parked { request, partitions, operation, bill, since, waits });
        number
    }

    /// Takes an operation out, and what waits for it elsewhere.
    fn remove(&mut self, number: u64) -> Option<Parked> {
        let parked = self.parked.remove(&number)?;
        self.partitions -= parked.partitions;
        if let Some(count) = self.counter(parked.operation.kind()) {
            *count -= 1;
        }
        self.by_connection.remove(&(parked.request.connection, number));
        self.asking_order.leave(parked.request.connection, number);
        self.deadlines.cancel(&number);
        self.turns.retain(|other| *other != number);
        let op = OpId { shard: self.me, number };
        let effects = &mut self.effects;
        parked.operation.waits_at(&mut |slot, place| {
            effects.push(match place {
                WaitsAt::Partition(key) => DeskEffect::Call { op, slot, key, call: PartitionCall::cancel() },
                WaitsAt::Head => DeskEffect::CancelAtHead(Asker::Client(op, slot)),
            });
        });
        Some(parked)
    }

    fn counter(&mut self, kind: Kind) -> Option<&mut usize> {
        match kind {
            Kind::Fetch => Some(&mut self.fetches),
            Kind::Produce => Some(&mut self.produces),
            Kind::Other => None,
        }
    }

    fn make(&mut self, number: u64, calls: Calls) {
        let op = OpId { shard: self.me, number };
        for (slot, key, call) in calls {
            self.effects.push(DeskEffect::Call { op, slot, key, call });
        }
    }

    /// Does what an operation wants next, and then those that stood behind it in line.
    fn go_on(&mut self, number: u64, storage: &Storage, now: Now) {
        let mut next = Some(number);
        while let Some(number) = next {
            next = self.step(number, storage, now);
        }
    }

    /// Does what an operation wants next; replies if it is complete. Gives the one that may have
    /// something to ask now that this one has not.
    fn step(&mut self, number: u64, storage: &Storage, now: Now) -> Option<u64> {
        let parked = self.parked.get_mut(&number).expect("an operation that goes on is parked");
        let connection = parked.request.connection;
        let mut calls = Calls::new();
        let mut progress = parked.operation.progress(now.instant, &mut calls);
        if progress == Progress::InOrder && self.asking_order.first(connection) == Some(number) {
            progress = parked.operation.ask_in_order(now.instant, &mut calls);
        }
        let leaves = progress == Progress::Reply || !parked.operation.has_order();
        let behind = if leaves { self.asking_order.leave(connection, number) } else { None };
        if progress != Progress::Reply {
            parked.waits.set_idle(parked.operation.is_idle(), now.instant);
        }
        self.make(number, calls);
        match progress {
            Progress::Wait | Progress::InOrder => {
                assert!(self.deadlines.has(&number), "an operation that waits has a deadline");
            }
            Progress::WaitUntil(later) => self.deadlines.set(number, later),
            Progress::Turn => {
                if !self.turns.contains(&number) {
                    self.turns.push_back(number);
                }
            }
            Progress::Reply => {
                let Parked { request, operation, mut bill, since, waits, .. } =
                    self.remove(number).expect("it was there just now");
                let waited = waits.finish(operation.waits_for(), since, now.instant);
                let till = Till { quotas: &mut self.quotas, bill: bill.as_mut(), now: now.instant };
                self.audit.at(now.instant);
                let (sessions, audit) = (&mut self.sessions, &self.audit);
                let mut context = ReplyContext { sessions, storage, audit, till, now: now.instant };
                let mut replied = operation.reply(&mut context);
                if let Ok(reply) = &mut replied {
                    reply.set_waited(waited);
                }
                self.tell_audit();
                self.reply(request, replied, bill, now.instant);
            }
        }
        behind
    }

    /// What was decided on what a client may do, as far as it is for the log.
    fn tell_audit(&mut self) {
        let line = |text| DeskEffect::Event(Event { severity: Severity::Info, room: "authorizer", text });
        self.effects.extend(self.audit.take().into_iter().map(line));
    }

    /// Sends a reply. One that cannot be written is a fault of ours: it costs the connection and a
    /// line in the log.
    fn reply(&mut self, id: RequestId, replied: Replied, mut bill: Option<Bill>, now: Instant) {
        let mut reply = replied.unwrap_or_else(|error| {
            self.effects.push(DeskEffect::Event(Event {
                severity: Severity::Error,
                room: "broker/reply",
                text: format!("response cannot be written: {error}"),
            }));
            Reply::Close { reason: CloseReason::Malformed(error.to_string()) }
        });
        Till { quotas: &mut self.quotas, bill: bill.as_mut(), now }.settle(&mut reply);
        self.effects.push(DeskEffect::Reply(id, reply));
    }
}
