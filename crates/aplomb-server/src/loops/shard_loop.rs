//! One shard's loop. Start at [`ShardLoop::run`].
//!
//! What always holds: what was handed to the core is settled in the same turn, or the next turn
//! begins without a sleep.

use std::sync::Arc;
use std::time::Duration;

use aplomb_broker::Output;
use aplomb_broker::ports::{Event, Now, Severity, ShardId, Throttle};
use aplomb_model::Instant;

use super::clients::{Clients, Closed, Unwatched};
use super::core::Core;
use super::mail::Mail;
use super::poll::{Events, Poll};
use super::stop::StopSignal;
use crate::clock;
use crate::figures::LoopFigures;
use crate::log::Log;
use crate::mail::{CAPACITY, Inbox, Outbox};
use crate::net::{Connections, FrameBudget, NetConfig, ReplyBudget};

/// Socket events taken with one wait.
const EVENTS: usize = 256;

/// How soon a thing is tried again that nothing may wake us for.
const RETRY: Duration = Duration::from_millis(10);

/// What a loop is made of.
pub(crate) struct Parts<C> {
    pub(crate) shard: ShardId,
    pub(crate) core: C,
    pub(crate) inbox: Inbox<Mail>,
    pub(crate) outbox: Outbox<Mail>,
    pub(crate) budget: Arc<FrameBudget>,
    pub(crate) replies: Arc<ReplyBudget>,
    pub(crate) net: NetConfig,
    pub(crate) limits: Arc<Connections>,
    pub(crate) stop: Arc<StopSignal>,
    pub(crate) figures: Arc<LoopFigures>,
    pub(crate) log: Log,
}

/// See [`Parts`] for what it is given.
pub(crate) struct ShardLoop<C> {
    shard: ShardId,
    core: C,
    inbox: Inbox<Mail>,
    outbox: Outbox<Mail>,
    limits: Arc<Connections>,
    stop: Arc<StopSignal>,
    figures: Arc<LoopFigures>,
    log: Log,
    /// Lines about clients that were in the way of others, by kind.
    told: [Throttle; 2],
    poll: Poll,
    clients: Clients,
    outputs: Vec<Output>,
    /// Something was handed to the core since it was settled last.
    unsettled: bool,
    /// When the core wants to be woken, if nothing is handed to it.
    wake_core_at: Option<Instant>,
    /// Whether a mailbox elsewhere is full, as the core was told last.
    is_congested: bool,
    /// By when to finish, once a stop is asked for.
    stopping: Option<Instant>,
    /// The clock, as it was read last: times of requests are finer than turns.
    clock: Instant,
}

impl<C: Core> ShardLoop<C> {
    /// A loop with all that it needs allocated. Fails if the process may not open another
    /// descriptor.
    pub(crate) fn new(parts: Parts<C>) -> std::io::Result<Self> {
        let Parts { shard, mut core, inbox, outbox, budget, replies, net, limits, stop, figures, log } =
            parts;
        Ok(Self {
            poll: Poll::new(Arc::clone(inbox.waker()))?,
            clients: Clients::new(shard, &net, budget, replies, Arc::clone(&figures)),
            outputs: Vec::with_capacity(EVENTS),
            unsettled: false,
            wake_core_at: core.wake_at(),
            is_congested: false,
            stopping: None,
            clock: clock::instant(),
            shard,
            core,
            inbox,
            outbox,
            limits,
            stop,
            figures,
            log,
            told: Default::default(),
        })
    }

    /// Turns until it is told to stop and has finished. Gives the core back.
    pub(crate) fn run(mut self) -> C {
        let mut events = Events::new(EVENTS);
        loop {
            let now = clock::now();
            self.clock = now.instant;
            for (number, flags) in events.take() {
                self.clients.on_event(number, flags);
            }
            self.turn(now);
            if self.has_finished(now) {
                return self.core;
            }
            self.figures.on_turn(now.instant, clock::instant(), self.outbox.is_congested());
            self.wait(&mut events, now.instant);
        }
    }

    /// Does what is to be done, without waiting for anything.
    fn turn(&mut self, now: Now) {
        self.clients.resume(now.instant);
        self.take_mail(now);
        self.take_completions(now);
        self.outbox.retry();
        let is_congested = self.outbox.is_congested();
        let changed = is_congested != std::mem::replace(&mut self.is_congested, is_congested);
        if changed {
            self.core.set_congested(is_congested);
        }
        if changed || self.unsettled {
            self.wake_core_at = self.core.wake_at();
        }
        if self.wake_core_at.is_some_and(|at| at <= now.instant) {
            self.core.on_wake(now, &mut self.outputs);
            self.unsettled = true;
        }
        self.begin_stop_if_asked(now);
        if self.may_read() {
            self.take_requests(now);
        }
        self.settle(now);
        self.clients.finish(now.instant, &mut self.clock);
        self.clients.sweep(now.instant, || self.core.is_short_of_memory());
        self.tell_of_closed(now);
        self.outbox.wake();
    }

    fn take_mail(&mut self, now: Now) {
        for _ in 0..CAPACITY {
            let Some(mail) = self.inbox.mail() else { break };
            match mail {
                Mail::Message { from, message } => {
                    self.core.on_message(from, message, now, &mut self.outputs);
                    self.unsettled = true;
                }
                Mail::Reply { id, reply } => self.clients.deliver(id, reply, self.clock),
                Mail::TakeUp(id) => self.clients.take_up(id, now.instant),
                Mail::Connection(accepted) => self.clients.arrive(*accepted),
            }
        }
        for Unwatched { peer, errno } in self.clients.take_over(&self.poll, now.instant) {
            let text = format!("closed a new connection of {peer}: it cannot be watched: {errno}");
            self.log.event(now.wall, Event { severity: Severity::Warn, room: "server/net", text });
        }
        if self.inbox.was_full() {
            self.outbox.wake_all();
        }
    }

    fn take_completions(&mut self, now: Now) {
        for _ in 0..CAPACITY {
            let Some(completion) = self.inbox.completion() else { break };
            self.core.on_completion(completion, now, &mut self.outputs);
            self.unsettled = true;
        }
    }

    fn take_requests(&mut self, now: Now) {
        let Self { clients, core, outputs, unsettled, clock, .. } = self;
        // What was done before is no part of what these take.
        *clock = clock::instant();
        clients.serve(now.instant, clock, |request, clock| {
            core.on_request(request, now, outputs);
            *unsettled = true;
            *clock = clock::instant();
        });
    }

    /// Lets the core carry out what was handed to it, and sends on its way what it wants done.
    fn settle(&mut self, now: Now) {
        if !std::mem::take(&mut self.unsettled) {
            return;
        }
        self.core.settle(now, &mut self.outputs);
        self.wake_core_at = self.core.wake_at();
        self.clock = clock::instant();
        self.clients.settled(self.clock);
        for output in self.outputs.drain(..) {
            match output {
                Output::Reply { id, reply } if id.connection.shard == self.shard => {
                    self.clients.deliver(id, reply, self.clock);
                }
                Output::Reply { id, reply } => {
                    self.outbox.send(id.connection.shard, Mail::Reply { id, reply });
                }
                Output::Send { to, message } => {
                    self.outbox.send(to, Mail::Message { from: self.shard, message });
                }
                Output::Event(event) => self.log.event(now.wall, event),
                Output::Users(users) => self.clients.set_users(users),
                Output::ConnectionRates(rates) => self.limits.set_rates(rates),
                Output::ConnectionLimits { total, of_listeners, per_ip, overrides } => {
                    let count = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
                    let overrides = overrides.map(|pairs| {
                        pairs.into_iter().map(|(ip, limit)| (ip.to_canonical(), count(limit))).collect()
                    });
                    let of_listeners =
                        of_listeners.into_iter().map(|(listener, most)| (listener, count(most))).collect();
                    self.limits.set_limits(count(total), of_listeners, count(per_ip), overrides);
                }
            }
        }
    }

    /// Tells the core of connections that are gone, and the log why, if the reason is not an
    /// everyday one. What the core does about it is settled in the next turn.
    fn tell_of_closed(&mut self, now: Now) {
        for Closed { id, peer, end } in self.clients.take_closed() {
            if let Some(why) = end.fault() {
                let text = format!("closed a connection of {peer}: {why}");
                let (severity, text) = match end.in_the_way() {
                    Some(kind) => (Severity::Warn, self.told[kind].admit(now.instant, text)),
                    None => (Severity::Info, Some(text)),
                };
                if let Some(text) = text {
                    self.log.event(now.wall, Event { severity, room: "server/net", text });
                }
            }
            self.core.on_connection_closed(id, now, &mut self.outputs);
            self.unsettled = true;
        }
    }

    /// Waits for something to happen.
    fn wait(&mut self, events: &mut Events, now: Instant) {
        let has_work = self.unsettled
            || self.clients.are_touched()
            || self.clients.are_coming_or_going()
            || self.clients.are_ready() && self.may_read();
        let patience = if has_work { Duration::ZERO } else { self.patience(now) };
        self.poll.wait(events, Some(patience), || self.inbox.has_some());
    }

    /// How long to sleep if nothing happens.
    fn patience(&mut self, now: Instant) -> Duration {
        let wake_at = self.wake_core_at.into_iter().fold(self.clients.wake_at(), Instant::min);
        let patience = wake_at.since(now);
        let retry = self.outbox.is_congested() || self.stopping.is_some() || self.clients.are_hungry();
        if retry { patience.min(RETRY) } else { patience }
    }

    /// Whether requests are taken at all. While much waits for a mailbox elsewhere, what they cause
    /// would only be kept here.
    fn may_read(&self) -> bool {
        !self.outbox.is_full() && self.stopping.is_none()
    }

    fn begin_stop_if_asked(&mut self, now: Now) {
        if self.stopping.is_some() {
            return;
        }
        self.stopping = self.stop.deadline();
        if self.stopping.is_some() {
            self.core.begin_stop(now, &mut self.outputs);
            self.unsettled = true;
        }
    }

    /// Whether it is time to end: all shards have finished, or the deadline has passed.
    fn has_finished(&mut self, now: Now) -> bool {
        let Some(deadline) = self.stopping else { return false };
        let finished = self.core.is_stopped()
            && !self.unsettled
            && self.clients.are_quiet()
            && !self.outbox.is_congested()
            && !self.inbox.has_some();
        let all = self.stop.report(self.shard, finished);
        if !all && now.instant >= deadline {
            let text = format!("shard {} stops before it has finished: its time is up", self.shard.0);
            self.log.event(now.wall, Event { severity: Severity::Warn, room: "server/loops", text });
            return true;
        }
        all
    }
}
