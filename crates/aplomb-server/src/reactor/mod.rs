//! The loops that carry requests, messages and completions: one thread a shard.
//!
//! A plain epoll loop rather than an async runtime: one turn reads the clocks once, hands everything that has come to the [`Core`], and
//! writes all replies, so that a request in a busy shard costs one receive, one send and a share of one wait. Sockets are
//! registered once, edge-triggered; what may be read and written is remembered in the connection.
//!
//! What always holds: the loop waits in `epoll_wait` and nowhere else. Start at [`Reactor::run`]; mail comes by [`mod@mailbox`] and
//! leaves by [`outbox`].

mod closing;
mod core;
mod mailbox;
mod outbox;
mod stats;
mod stop;
mod table;
mod waker;

use std::collections::{BTreeSet, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use aplomb_broker::ports::{Event, Now, Output, Reply, RequestId, Severity, ShardId};
use aplomb_model::Instant;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};

pub use self::core::Core;
pub use self::mailbox::Mailbox;
pub(crate) use self::mailbox::{Inbox, Mail, mailbox};
pub(crate) use self::outbox::Outbox;
pub use self::stats::{ListenerStats, ReactorStats};
pub(crate) use self::stop::StopSignal;
use self::table::ConnectionTable;
pub use self::waker::Waker;
use crate::log::Log;
use crate::net::connection::{Connection, ReadOutcome};
use crate::net::{Accepted, Connections, FrameBudget, NetConfig, ReadContext, SCRATCH};

pub(crate) use self::mailbox::CAPACITY as MAILBOX_CAPACITY;

/// The number that the bell has among the connections.
const BELL: u64 = u64::MAX;

/// Socket events taken with one wait.
const EVENTS: usize = 256;

/// Requests that one connection may have handed out before the others have their turn.
const REQUESTS_A_TURN: usize = 32;

/// Reads that one connection gets before the others have their turn.
const READS_A_TURN: usize = 8;

/// How soon something is tried again that nobody may wake us for.
const RETRY: Duration = Duration::from_millis(10);

/// What a reactor is made of.
pub(crate) struct Parts<C> {
    pub(crate) shard: ShardId,
    pub(crate) core: C,
    pub(crate) inbox: Inbox,
    pub(crate) outbox: Outbox,
    pub(crate) budget: Arc<FrameBudget>,
    pub(crate) net: NetConfig,
    pub(crate) limits: Arc<Connections>,
    pub(crate) stop: Arc<StopSignal>,
    pub(crate) stats: Arc<ReactorStats>,
    pub(crate) log: Log,
}

/// One shard's loop.
pub(crate) struct Reactor<C> {
    parts: Parts<C>,
    epoll: OwnedFd,
    connections: ConnectionTable,
    /// Connections that may have requests for us.
    ready: VecDeque<u64>,
    /// Connections that have replies to write.
    unwritten: VecDeque<u64>,
    /// Connections that could not be read because memory for frames was used up.
    hungry: Vec<u64>,
    /// Connections that are over their quota, by when they are read from again.
    muted: BTreeSet<(Instant, u64)>,
    outputs: Vec<Output>,
    scratch: Vec<u8>,
    next_sweep: Instant,
    stopping: Option<Instant>,
    /// The clock, as it was read last: times of requests are finer than turns.
    clock: Instant,
}

impl<C: Core> Reactor<C> {
    /// Makes a reactor with all that it needs allocated.
    ///
    /// # Errors
    /// If the process may not open another descriptor.
    pub(crate) fn new(parts: Parts<C>) -> std::io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(
            &epoll,
            &**parts.inbox.waker(),
            EventData::new_u64(BELL),
            EventFlags::IN | EventFlags::ET,
        )?;
        Ok(Self {
            epoll,
            connections: ConnectionTable::new(parts.shard),
            ready: VecDeque::with_capacity(EVENTS),
            unwritten: VecDeque::with_capacity(EVENTS),
            hungry: Vec::new(),
            muted: BTreeSet::new(),
            outputs: Vec::with_capacity(EVENTS),
            scratch: Vec::with_capacity(SCRATCH),
            next_sweep: Instant::START,
            stopping: None,
            clock: crate::clock::instant(),
            parts,
        })
    }

    /// Turns until it is told to stop and has finished. Gives the core back.
    pub(crate) fn run(mut self) -> C {
        let mut events = Vec::with_capacity(EVENTS);
        let mut now = crate::clock::now();
        loop {
            self.take_events(&mut events);
            self.turn(now);
            if self.has_finished(now) {
                return self.parts.core;
            }
            let (before, ended) = (now.instant, crate::clock::instant());
            let took = u64::try_from(ended.since(before).as_nanos()).unwrap_or(u64::MAX);
            self.parts.stats.on_turn(ended, took, self.parts.outbox.is_congested());
            now = self.wait(now, &mut events);
            self.clock = now.instant;
        }
    }

    /// Does what is to be done, without waiting for anything.
    fn turn(&mut self, now: Now) {
        self.feed();
        self.unmute(now.instant);
        self.take_mail(now);
        self.take_completions(now);
        if self.parts.core.wake_at().is_some_and(|at| at <= now.instant) {
            self.parts.core.on_wake(now, &mut self.outputs);
            self.clock = crate::clock::instant();
            self.route(now);
        }
        self.begin_stop_if_asked(now);
        self.parts.outbox.retry();
        for _ in 0..self.ready.len() {
            // A full mailbox elsewhere: what is read now would only be kept here.
            if self.parts.outbox.is_congested() || self.stopping.is_some() {
                break;
            }
            let Some(number) = self.ready.pop_front() else { break };
            self.serve(number, now);
        }
        for _ in 0..self.unwritten.len() {
            let Some(number) = self.unwritten.pop_front() else { break };
            self.write(number, now);
        }
        self.sweep(now);
        self.parts.outbox.wake();
    }

    /// Waits for something to happen and reads the clocks.
    fn wait(&mut self, now: Now, events: &mut Vec<epoll::Event>) -> Now {
        let work = !self.unwritten.is_empty()
            || !self.ready.is_empty() && !self.parts.outbox.is_congested() && self.stopping.is_none();
        let waker = Arc::clone(self.parts.inbox.waker());
        let mut timeout = if work { Duration::ZERO } else { self.patience(now.instant) };
        if !timeout.is_zero() {
            waker.falling_asleep();
            if self.parts.inbox.has_some() {
                timeout = Duration::ZERO;
            }
        }
        let timeout = timeout.try_into().expect("no deadline is so far away");
        match epoll::wait(&self.epoll, spare_capacity(events), Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => panic!("epoll_wait cannot fail on our own descriptors: {errno}"),
        }
        waker.awake();
        crate::clock::now()
    }

    /// How long to sleep if nothing happens.
    fn patience(&mut self, now: Instant) -> Duration {
        let mut until = self.next_sweep;
        if let Some(at) = self.parts.core.wake_at() {
            until = until.min(at);
        }
        if let Some((at, _)) = self.muted.first() {
            until = until.min(*at);
        }
        let patience = until.since(now);
        let retry = self.parts.outbox.is_congested() || self.stopping.is_some() || !self.hungry.is_empty();
        if retry { patience.min(RETRY) } else { patience }
    }

    fn take_events(&mut self, events: &mut Vec<epoll::Event>) {
        for event in events.drain(..) {
            let number = event.data.u64();
            if number == BELL {
                continue;
            }
            let Some(connection) = self.connections.get(number) else { continue };
            let flags = event.flags;
            let hung_up = flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR);
            connection.on_event(
                hung_up || flags.contains(EventFlags::IN),
                hung_up || flags.contains(EventFlags::OUT),
                hung_up,
            );
            if flags.contains(EventFlags::OUT) {
                self.unwritten.push_back(number);
            }
            Self::list(&mut self.connections, &mut self.ready, number);
        }
    }

    /// Puts connections that waited for memory back in line, if there may be some.
    fn feed(&mut self) {
        if !self.hungry.is_empty() && self.parts.budget.may_admit() {
            for number in std::mem::take(&mut self.hungry) {
                Self::list(&mut self.connections, &mut self.ready, number);
            }
        }
    }

    /// Puts connections whose time is over back in line.
    fn unmute(&mut self, now: Instant) {
        while let Some(&(at, number)) = self.muted.first()
            && at <= now
        {
            self.muted.pop_first();
            if let Some(connection) = self.connections.get(number) {
                connection.unmute(now);
                Self::list(&mut self.connections, &mut self.ready, number);
            }
        }
    }

    fn take_mail(&mut self, now: Now) {
        for _ in 0..MAILBOX_CAPACITY {
            let Some(mail) = self.parts.inbox.mail() else { break };
            match mail {
                Mail::Message { from, message } => {
                    self.parts.core.on_message(from, message, now, &mut self.outputs);
                    self.clock = crate::clock::instant();
                    self.route(now);
                }
                Mail::Reply { id, reply } => self.deliver(id, reply),
                Mail::Connection(accepted) => self.take_over(*accepted, now),
            }
        }
        if self.parts.inbox.was_full() {
            self.parts.outbox.wake_all();
        }
    }

    fn take_completions(&mut self, now: Now) {
        for _ in 0..MAILBOX_CAPACITY {
            let Some(completion) = self.parts.inbox.completion() else { break };
            self.parts.core.on_completion(completion, now, &mut self.outputs);
            self.clock = crate::clock::instant();
        }
        self.route(now);
    }

    fn take_over(&mut self, accepted: Accepted, now: Now) {
        let max_frame = self.parts.net.max_frame;
        let stats = Arc::clone(&self.parts.stats);
        let connection =
            self.connections.insert(|id| Connection::new(id, accepted, max_frame, stats, now.instant));
        let number = connection.id().number;
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        if let Err(errno) = epoll::add(&self.epoll, connection.socket(), EventData::new_u64(number), flags) {
            let text =
                format!("closed a new connection of {}: it cannot be watched: {errno}", connection.peer());
            self.connections.remove(number);
            self.parts.log.event(now.wall, Event { severity: Severity::Warn, room: "server/net", text });
            return;
        }
        Self::list(&mut self.connections, &mut self.ready, number);
    }

    /// Reads from a connection and hands its requests out, as long as it is its turn.
    fn serve(&mut self, number: u64, now: Now) {
        let Some(connection) = self.connections.get(number) else { return };
        connection.listed = false;
        let Parts { shard, budget, core, .. } = &mut self.parts;
        let mut context = ReadContext { shard: *shard, budget, scratch: &mut self.scratch };
        let (mut requests, mut reads) = (0, 0);
        let mut hungry = false;
        while requests < REQUESTS_A_TURN {
            if let Some(request) = connection.next_request(self.clock) {
                requests += 1;
                let (id, before) = (request.id, self.outputs.len());
                core.on_request(request, now, &mut self.outputs);
                self.clock = crate::clock::instant();
                let answers = |output: &Output| matches!(output, Output::Reply { id: of, .. } if *of == id);
                connection.left(id.sequence, self.clock, self.outputs[before..].iter().any(answers));
                continue;
            }
            if reads == READS_A_TURN {
                break;
            }
            reads += 1;
            match connection.read(&mut context, now.instant) {
                ReadOutcome::Some => {}
                ReadOutcome::Nothing => break,
                ReadOutcome::NoMemory => {
                    hungry = true;
                    break;
                }
            }
        }
        if hungry {
            self.hungry.push(number);
        }
        self.parts.stats.on_requests(requests as u64);
        self.route(now);
        self.after(number, !hungry, now);
    }

    /// Writes what a connection has for its client.
    fn write(&mut self, number: u64, now: Now) {
        let Some(connection) = self.connections.get(number) else { return };
        if connection.write(now.instant, &mut self.clock) {
            self.unwritten.push_back(number);
        }
        self.after(number, true, now);
    }

    /// Puts a connection back in line if it has more for us, or closes it.
    fn after(&mut self, number: u64, list: bool, now: Now) {
        let Some(connection) = self.connections.get(number) else { return };
        if let Some(end) = connection.finished() {
            // Replies that are made already get their chance.
            connection.write(now.instant, &mut self.clock);
            self.close(number, &end, now);
        } else if list && connection.is_ready() {
            Self::list(&mut self.connections, &mut self.ready, number);
        }
    }

    fn list(connections: &mut ConnectionTable, ready: &mut VecDeque<u64>, number: u64) {
        if let Some(connection) = connections.get(number)
            && !std::mem::replace(&mut connection.listed, true)
        {
            ready.push_back(number);
        }
    }

    /// Sends what the core wants done on its way.
    fn route(&mut self, now: Now) {
        let mut outputs = std::mem::take(&mut self.outputs);
        for output in outputs.drain(..) {
            match output {
                Output::Reply { id, reply } if id.connection.shard == self.parts.shard => {
                    self.deliver(id, reply)
                }
                Output::Reply { id, reply } => {
                    self.parts.outbox.send(id.connection.shard, Mail::Reply { id, reply });
                }
                Output::Send { to, message } => {
                    self.parts.outbox.send(to, Mail::Message { from: self.parts.shard, message });
                }
                Output::Event(event) => self.parts.log.event(now.wall, event),
                Output::ConnectionLimits { total, per_ip, overrides } => {
                    let count = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
                    let overrides = overrides.map(|pairs| {
                        pairs.into_iter().map(|(ip, limit)| (ip.to_canonical(), count(limit))).collect()
                    });
                    self.parts.limits.set_limits(count(total), count(per_ip), overrides);
                }
            }
        }
        self.outputs = outputs;
    }

    fn deliver(&mut self, id: RequestId, reply: Reply) {
        let number = id.connection.number;
        if let Some(connection) = self.connections.get(number) {
            let before = connection.muted_until();
            connection.complete(id.sequence, reply, self.clock);
            let after = connection.muted_until();
            if before != after {
                before.map(|at| self.muted.remove(&(at, number)));
                self.muted.extend(after.map(|at| (at, number)));
            }
            self.unwritten.push_back(number);
        }
    }

    fn begin_stop_if_asked(&mut self, now: Now) {
        if self.stopping.is_some() {
            return;
        }
        self.stopping = self.parts.stop.deadline();
        if self.stopping.is_some() {
            self.parts.core.begin_stop(now, &mut self.outputs);
            self.route(now);
        }
    }

    /// Whether it is time to end: all shards have finished, or the deadline has passed.
    fn has_finished(&mut self, now: Now) -> bool {
        let Some(deadline) = self.stopping else { return false };
        let finished = self.parts.core.is_stopped()
            && self.connections.iter().all(Connection::is_quiet)
            && !self.parts.outbox.is_congested()
            && !self.parts.inbox.has_some();
        let all = self.parts.stop.report(self.parts.shard, finished);
        if !all && now.instant >= deadline {
            let text = format!("shard {} stops before it has finished: its time is up", self.parts.shard.0);
            self.parts.log.event(now.wall, Event { severity: Severity::Warn, room: "server/reactor", text });
            return true;
        }
        all
    }
}
