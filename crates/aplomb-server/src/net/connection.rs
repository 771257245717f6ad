//! One connection: what it is in the middle of, and whether it may be read from.
//!
//! What always holds: requests are handed out in the order in which they came, and no more of them
//! than [`MAX_IN_FLIGHT`] and [`MAX_UNWRITTEN`] allow; a client that does not read its replies,
//! sends faster than it is answered, or is over its quota, is not read from. That is all that it
//! can do.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use aplomb_broker::ports::{
    CloseReason, ConnectionId, FrameError, Principal, Reply, Request, RequestId, Session,
};
use aplomb_broker::sasl::{Passage, TurnedAway};
use aplomb_model::Instant;
use bytes::Bytes;

use super::debt::Debt;
use super::end::End;
use super::frames::{FrameReader, Progress};
use super::lists::Lists;
use super::pace::Pace;
use super::replies::{Replies, Written};
use super::taking::{Slowness, Taking};
use super::tls::Greeting;
use super::transport::Transport;
use super::{Accepted, Admission, Doorkeeper, Overstay, Permit, ReadContext};
use crate::figures::{Caller, ClientName, Exchange, HeldBy, LoopFigures, Turn};

/// Requests of one connection that are at work or wait for an earlier one's reply.
pub(crate) const MAX_IN_FLIGHT: usize = 32;

/// Bytes of replies that wait for the socket, beyond which no further request is taken up.
pub(crate) const MAX_UNWRITTEN: usize = 1 << 20;

/// One client's connection.
#[derive(Debug)]
pub(crate) struct Connection {
    id: ConnectionId,
    transport: Transport,
    session: Arc<Session>,
    reader: FrameReader,
    entry: Admission,
    max_frame: usize,
    /// How fast it sends, while it is in the middle of a frame.
    sending: Pace,
    /// Frames that were read and may not be handed out yet.
    frames: VecDeque<Bytes>,
    /// When each of `frames` had arrived.
    arrivals: VecDeque<Instant>,
    replies: Replies,
    taking: Taking,
    /// A read may bring bytes.
    readable: bool,
    /// A write may take bytes.
    writable: bool,
    /// The client has closed its end, or half of it: a short read does not mean that all was read.
    hung_up: bool,
    /// Nothing more will be read.
    end: Option<End>,
    /// The client is over its quota: no request is taken up before then.
    muted_until: Option<Instant>,
    /// Its way in goes on then, or as soon as what it waits for is there.
    pub(crate) later: Option<Instant>,
    /// What keeps the frames that are here from being handed out.
    held_by: Option<HeldBy>,
    /// As the flight recorder names it.
    caller: Caller,
    /// How long the loop was busy with it since a request was handed out last.
    spent: Duration,
    /// Last time that a byte moved.
    active: Instant,
    pub(crate) lists: Lists,
    figures: Arc<LoopFigures>,
    /// Counted among its shard's connections while it lives.
    _permit: Permit,
}

impl Connection {
    /// Takes over an accepted connection.
    pub(crate) fn new(
        id: ConnectionId,
        accepted: Accepted,
        (max_frame, doorkeeper): (usize, &Doorkeeper),
        debt: Debt,
        figures: Arc<LoopFigures>,
        now: Instant,
    ) -> Self {
        let Accepted { transport, session, permit } = accepted;
        figures.on_connection(&session.listener);
        let caller = Caller { connection: id, peer: session.peer, name: ClientName::NONE };
        let entry = doorkeeper.entry(&session, id, now);
        Self {
            id,
            transport,
            session,
            reader: FrameReader::new(entry.most(max_frame)),
            entry,
            max_frame,
            sending: Pace::from(now, 0),
            frames: VecDeque::new(),
            arrivals: VecDeque::new(),
            replies: Replies::new(debt),
            taking: Taking::default(),
            readable: true,
            writable: true,
            hung_up: false,
            end: None,
            muted_until: None,
            later: None,
            held_by: None,
            caller,
            spent: Duration::ZERO,
            active: now,
            lists: Lists::default(),
            figures,
            _permit: permit,
        }
    }

    /// The connection's name.
    pub(crate) fn id(&self) -> ConnectionId {
        self.id
    }

    /// The client's address.
    pub(crate) fn peer(&self) -> IpAddr {
        self.session.peer
    }

    /// The socket, to be watched.
    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.transport.as_fd()
    }

    /// The kernel says that the socket changed.
    pub(crate) fn on_event(&mut self, readable: bool, writable: bool, hung_up: bool) {
        self.readable |= readable;
        self.writable |= writable;
        self.hung_up |= hung_up;
    }

    /// The next request, handed out at `at`, if there is one and it may be.
    pub(crate) fn next_request(&mut self, at: Instant, doorkeeper: &Doorkeeper) -> Option<Request> {
        loop {
            let obstacle = self.obstacle();
            if obstacle.is_some() || self.replies.close_reason().is_some() {
                if !self.frames.is_empty() {
                    self.held_by = self.held_by.or(obstacle);
                }
                return None;
            }
            let frame = self.frames.pop_front()?;
            let arrived = self.arrivals.pop_front().unwrap_or(at);
            let Some(authenticator) = &mut self.entry.authenticator else {
                return Some(self.hand_out(frame, arrived, at));
            };
            match doorkeeper.with_world(|world| authenticator.on_frame(&frame, arrived, world)) {
                Passage::Pass => return Some(self.hand_out(frame, arrived, at)),
                Passage::Answer(reply) => self.answer(reply, at),
                Passage::Authenticated { reply, principal, by_token, again } => {
                    self.session = Arc::new(Session { by_token, ..self.session.of(principal) });
                    if self.frames.is_empty() {
                        self.held_by = None; // by nothing that the next request has waited for
                    }
                    self.reader.set_max(self.max_frame);
                    self.entry.pass();
                    self.figures.on_authenticated(&self.session.listener, again);
                    self.answer(reply, at);
                }
                Passage::Later(after) => {
                    self.frames.push_front(frame);
                    self.arrivals.push_front(arrived);
                    self.later = Some(at + after);
                    self.muted_until = self.muted_until.max(self.later);
                }
                Passage::Refused(refusal) => {
                    self.figures.on_refused(&self.session.listener, refusal.kind);
                    self.muted_until = self.muted_until.max(Some(at + refusal.delay));
                    self.entry.refused = Some(refusal);
                }
            }
        }
    }

    fn hand_out(&mut self, frame: Bytes, arrived: Instant, at: Instant) -> Request {
        let mut exchange = Exchange::new(&frame, arrived, at);
        exchange.held_by = self.held_by;
        if self.frames.is_empty() {
            self.held_by = None;
        }
        self.caller.name.learn(&frame);
        let sequence = self.replies.admit(exchange);
        let id = RequestId { connection: self.id, sequence };
        let spent = std::mem::take(&mut self.spent);
        Request { id, frame, session: Arc::clone(&self.session), spent }
    }

    /// Answers what was no request of the broker's.
    fn answer(&mut self, reply: Reply, at: Instant) {
        let sequence = self.replies.admit(Exchange::new(&[], at, at));
        self.complete(sequence, reply, at);
    }

    /// The loop was busy with it for so long.
    pub(crate) fn add_spent(&mut self, time: Duration) {
        self.spent += time;
    }

    /// The shard has done by `at` what it could do at once for all requests that were handed out.
    pub(crate) fn settled(&mut self, at: Instant, turn: Turn) {
        self.replies.settled(at, turn);
    }

    /// Reads once, if that may give requests which can be handed out.
    pub(crate) fn read(&mut self, context: &mut ReadContext<'_>, now: Instant) -> ReadOutcome {
        if self.end.is_some() || !self.readable || !self.frames.is_empty() || !self.has_capacity() {
            return ReadOutcome::Nothing;
        }
        let progress = self.reader.read(&mut self.transport, context, &mut self.frames);
        self.entry.stay.hold(self.reader.held());
        if let Some(greeting) = self.transport.take_greeting()
            && let Some(end) = self.greet(greeting)
        {
            return self.ended(end);
        }
        self.arrivals.resize(self.frames.len(), now);
        match progress {
            Progress::More => {
                self.active = now;
                ReadOutcome::Some
            }
            Progress::Drained => {
                self.active = now;
                // An end that came before these bytes were read has no event of its own.
                self.readable = self.hung_up;
                ReadOutcome::Some
            }
            Progress::Empty => {
                self.readable = false;
                ReadOutcome::Nothing
            }
            Progress::NoMemory => ReadOutcome::NoMemory,
            Progress::Crowded => ReadOutcome::Crowded,
            Progress::End => self.ended(End::ByClient),
            Progress::Broken(_) => {
                let fault = self.transport.take_fault();
                self.ended(fault.map_or(End::Broken, End::Insecure))
            }
            Progress::Malformed(error) => {
                let is_large = matches!(error, FrameError::TooLarge { .. });
                let key = if is_large { " (socket.request.max.bytes)" } else { "" };
                self.ended(End::Malformed(format!("{error}{key}")))
            }
        }
    }

    /// The handshake is over. Where SASL follows, that says who the client is.
    fn greet(&mut self, greeting: Greeting) -> Option<End> {
        if self.entry.authenticator.is_some() {
            return None;
        }
        self.entry.pass();
        match greeting {
            Greeting::Stranger => {}
            Greeting::Named(name) => self.session = Arc::new(self.session.of(Principal::user(&name))),
            Greeting::Nameless => {
                let why = "ssl.principal.mapping.rules have no name for its certificate";
                return Some(End::Insecure(why.to_owned()));
            }
        }
        self.figures.on_authenticated(&self.session.listener, false);
        None
    }

    /// Whether its handshake is under way, each step of which takes long.
    pub(crate) fn is_handshaking(&self) -> bool {
        self.transport.is_handshaking()
    }

    /// Says the last that is to be said.
    pub(crate) fn close(&mut self) {
        self.transport.close();
    }

    /// Takes the reply to a request, made at `at`.
    pub(crate) fn complete(&mut self, sequence: u64, reply: Reply, at: Instant) {
        let throttle = reply.throttle();
        if !throttle.is_zero() {
            self.muted_until = self.muted_until.max(Some(at + throttle));
        }
        self.replies.complete(sequence, reply, at, self.figures.exchanges(), &self.caller);
        if self.replies.unwritten() > 0 {
            self.taking.owes(at);
        }
    }

    /// Until when no request is taken up, if there is such a time.
    pub(crate) fn muted_until(&self) -> Option<Instant> {
        self.muted_until
    }

    /// The time of [`Self::muted_until`] has come.
    pub(crate) fn unmute(&mut self, now: Instant) {
        self.muted_until = None;
        if let Some(TurnedAway { reply, why, .. }) = self.entry.refused.take() {
            reply.into_iter().for_each(|reply| self.answer(reply, now));
            self.answer(Reply::Close { reason: CloseReason::Unauthenticated(why) }, now);
        }
        // It could not move a byte meanwhile.
        self.active = now;
    }

    /// Writes replies as far as the socket takes them. True if it would take more and the others
    /// have their turn first. `clock` is the time that was read last; it is read anew after the
    /// write.
    pub(crate) fn write(&mut self, now: Instant, clock: &mut Instant) -> bool {
        if !self.writable || !self.has_unsent() {
            return false;
        }
        self.active = now;
        self.replies.begin_sending(*clock);
        let written = self.replies.write(&mut self.transport);
        let before = std::mem::replace(clock, crate::clock::instant());
        self.spent += clock.since(before);
        self.replies.count_sent(*clock, self.figures.exchanges(), &self.caller);
        if self.replies.unwritten() == 0 {
            self.taking.took_all();
        }
        match written {
            Written::All => false,
            Written::Yield => true,
            Written::Blocked => {
                self.writable = false;
                false
            }
            Written::Broken(_) => {
                self.ended(End::Broken);
                false
            }
        }
    }

    /// Whether the connection has more to give that may be taken now.
    pub(crate) fn is_ready(&self) -> bool {
        self.has_capacity()
            && self.replies.close_reason().is_none()
            && (!self.frames.is_empty() || (self.readable && self.end.is_none()))
    }

    /// Whether what it gives next is a piece of a large frame.
    pub(crate) fn is_within_large_frame(&self) -> bool {
        self.frames.is_empty() && self.reader.is_within_large_frame()
    }

    /// Bytes that were ever read from it.
    pub(crate) fn received(&self) -> u64 {
        self.reader.received()
    }

    /// Why the connection is to be closed now, if it is.
    pub(crate) fn finished(&self) -> Option<End> {
        match (self.replies.close_reason(), &self.end) {
            (_, Some(end @ (End::Broken | End::Insecure(_)))) => Some(end.clone()),
            (Some(reason), _) if !self.has_unsent() => Some(End::ByBroker(reason.clone())),
            (Some(_), _) | (None, None) => None,
            // What the client asked before it left is still handed out: it may have been produced
            // without acknowledgement. Replies that are made get one chance to be written.
            (None, Some(end)) => self.frames.is_empty().then(|| end.clone()),
        }
    }

    /// Whether everything that was asked has been answered and written.
    pub(crate) fn is_quiet(&self) -> bool {
        self.replies.in_flight() == 0 && !self.has_unsent()
    }

    fn has_unsent(&self) -> bool {
        self.replies.has_pieces() || self.transport.has_unsent()
    }

    /// Whether the connection has moved no byte since `before` though it could have: it waits for
    /// its client, not for us.
    pub(crate) fn is_idle_since(&self, before: Instant) -> bool {
        let waits_for_us = self.replies.in_flight() > 0 || self.waits_to_be_read();
        self.active < before && (!waits_for_us || self.replies.has_pieces())
    }

    /// Whether it should have shown by now who it is.
    pub(crate) fn is_unauthenticated_at(&self, now: Instant) -> bool {
        self.entry.deadline.is_some_and(|deadline| deadline <= now)
    }

    /// What it takes, and since when, if it has not shown who it is and is waited for.
    pub(crate) fn overstay(&self) -> Option<(Overstay, usize)> {
        if self.lists.ready { None } else { self.entry.stay.overstay(self.id.number) }
    }

    /// Whether half a frame has been here since `before` without a byte more.
    pub(crate) fn sends_nothing_since(&self, before: Instant) -> bool {
        self.active < before && self.reader.is_within_frame() && !self.waits_to_be_read()
    }

    /// Whether the client has closed its end and nothing has moved since `before`, though that end
    /// is not reached: we do not read while so much is under way.
    pub(crate) fn has_left_since(&self, before: Instant) -> bool {
        let is_kept_out = self.lists.hungry || self.lists.crowded;
        let cannot_read = is_kept_out || self.replies.in_flight() >= MAX_IN_FLIGHT;
        self.hung_up && cannot_read && self.active < before
    }

    /// What the frame at hand takes, if it has arrived at less than `rate` bytes a second for some
    /// time. To be asked now and then.
    pub(crate) fn slow_frame(&mut self, rate: u64, now: Instant) -> Option<usize> {
        let received = self.reader.received();
        if !self.reader.is_within_frame() || self.waits_to_be_read() {
            self.sending = Pace::from(now, received);
            return None;
        }
        self.sending.is_below(rate, now, received).then(|| self.reader.held())
    }

    /// Whether replies have been here since `before` of which the client took nothing.
    pub(crate) fn takes_nothing_since(&self, before: Instant) -> bool {
        self.active < before && self.replies.has_pieces()
    }

    /// How slowly replies are taken that have been here since `before` and that memory is charged
    /// for.
    pub(crate) fn slowness_since(&self, before: Instant) -> Option<Slowness> {
        let waits_for_client = self.replies.has_pieces() && !self.writable;
        let owed = self.replies.owed();
        if !waits_for_client || owed == 0 || !self.taking.owes_since(before) {
            return None;
        }
        let taken = self.taking.of_late(self.replies.written());
        Some(Slowness { taken, owed: std::cmp::Reverse(owed), number: self.id.number })
    }

    /// What is taken from now on is taken in another second.
    pub(crate) fn mark_taken(&mut self) {
        self.taking.mark(self.replies.written());
    }

    /// Bytes of replies that are made and not written.
    pub(crate) fn unwritten(&self) -> usize {
        self.replies.unwritten()
    }

    /// Whether there is no byte because we do not read.
    fn waits_to_be_read(&self) -> bool {
        self.muted_until.is_some() || self.lists.ready || self.lists.hungry || self.lists.crowded
    }

    fn has_capacity(&self) -> bool {
        self.obstacle().is_none()
    }

    /// Why no request is taken up.
    fn obstacle(&self) -> Option<HeldBy> {
        let unwritten = self.replies.unwritten();
        if self.muted_until.is_some() {
            Some(HeldBy::Quota)
        } else if self.replies.in_flight() >= MAX_IN_FLIGHT {
            Some(HeldBy::Order)
        } else if unwritten >= MAX_UNWRITTEN || (unwritten > 0 && self.replies.are_too_many()) {
            Some(HeldBy::Peer)
        } else {
            None
        }
    }

    fn ended(&mut self, end: End) -> ReadOutcome {
        self.readable = false;
        self.end = Some(end);
        ReadOutcome::Nothing
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.figures.on_connection_closed(&self.session.listener);
    }
}

/// What reading came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadOutcome {
    /// Something came; there may be more.
    Some,
    /// Nothing (more) for now.
    Nothing,
    /// Memory for frames is used up.
    NoMemory,
    /// No whole frame has come, and none may be begun.
    Crowded,
}
