//! The connections of one shard: which of them may have requests, which have replies to write,
//! which wait, and which are at their end.
//!
//! What always holds: a connection is on a list at most once. Each gets a share of every turn and
//! no more, whatever it sends; of those that come, go, or wait for memory at once by the thousand,
//! each turn sees to a few. Large frames, however many are on their way, get so many bytes of a
//! turn and no more: who sends small ones does not wait behind them. A connection that was closed
//! is told of once ([`Clients::take_closed`]).
//!
//! Next: [`sweep`] for those that keep memory from others.

#[cfg(test)]
mod siege;
mod sweep;

use std::collections::{BTreeSet, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use aplomb_broker::metadata::Security;
use aplomb_broker::ports::{ConnectionId, Reply, Request, RequestId, ShardId};
use aplomb_model::Instant;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;

use super::poll::Poll;
use super::table::ConnectionTable;
use crate::figures::{LoopFigures, Turn};
use crate::net::End;
use crate::net::connection::{Connection, ReadOutcome};
use crate::net::{Accepted, Doorkeeper, FrameBudget, NetConfig, ReadContext, ReplyBudget, SCRATCH};

/// Requests that one connection may have handed out before the others have their turn, and all of a
/// line together: where many are in it, each has its part, and those behind them the next turn.
const REQUESTS_A_TURN: usize = 32;
const REQUESTS_OF_ALL_A_TURN: usize = 128;

/// Connections that may begin a frame again in a turn, when there is memory for it.
const CROWD_A_TURN: usize = 64;

/// Connections that may go on with a frame in a turn, when there is memory for it.
const HUNGRY_A_TURN: usize = 256;

/// New connections, and late ones that are closed, in a turn.
const COME_A_TURN: usize = 64;
const GO_A_TURN: usize = 64;

/// Handshakes that go on by a step in a turn: each takes up to a millisecond, and those who are in
/// wait for no more than these.
const HANDSHAKES_A_TURN: usize = 2;

/// Reads that one connection gets before the others have their turn.
const READS_A_TURN: usize = 8;

/// Bytes of large frames that are read in a turn, and what the last read brings beyond: some tenths
/// of a millisecond, with what is done to them then.
const LARGE_A_TURN: u64 = 256 << 10;

/// One shard's connections.
#[derive(Debug)]
pub(super) struct Clients {
    shard: ShardId,
    max_frame: usize,
    /// `connections.max.idle.ms`.
    max_idle: Option<Duration>,
    /// `aplomb.frames.min.rate`.
    min_frame_rate: u64,
    budget: Arc<FrameBudget>,
    replies: Arc<ReplyBudget>,
    figures: Arc<LoopFigures>,
    doorkeeper: Doorkeeper,
    table: ConnectionTable,
    /// Have been accepted, and are served from their turn on.
    arriving: VecDeque<Accepted>,
    /// Are to be closed, for these reasons.
    late: VecDeque<(u64, End)>,
    /// May have requests for us.
    ready: VecDeque<u64>,
    /// Have had their share of a turn, and have more.
    eager: VecDeque<u64>,
    /// May have more of a large frame for us.
    large: VecDeque<u64>,
    /// May have more of a handshake for us.
    greeting: VecDeque<u64>,
    /// Were given replies or room to write, or requests were taken from them: to be written to, and
    /// to be looked at for their end.
    touched: VecDeque<u64>,
    /// Could not be read because memory for frames was used up.
    hungry: VecDeque<u64>,
    /// Have sent the beginning of a frame, and may not begin one: until more of it has come, or
    /// others have finished theirs.
    crowded: BTreeSet<u64>,
    /// Are over their quota, by when they are read from again.
    muted: BTreeSet<(Instant, u64)>,
    closed: Vec<Closed>,
    /// When this turn began, and the requests that were taken up in it.
    turn_began: Instant,
    taken_up: u32,
    scratch: Vec<u8>,
    next_relief: Instant,
    next_turning_out: Instant,
    next_sweep: Instant,
}

/// Where a connection waits to be read from. Who asks now and then is not behind those that ask
/// without waiting for answers.
#[derive(Clone, Copy, Debug)]
enum Line {
    Ready,
    Eager,
    Large,
    Greeting,
}

/// What a connection has of a turn.
#[derive(Clone, Copy, Debug)]
struct Share {
    requests: usize,
    /// Bytes of large frames, and what the last read brings beyond; without it, none.
    large: Option<u64>,
}

/// A connection that is gone.
#[derive(Debug)]
pub(super) struct Closed {
    pub(super) id: ConnectionId,
    pub(super) peer: IpAddr,
    pub(super) end: End,
}

/// A connection that cannot be served, because its socket cannot be watched.
pub(super) struct Unwatched {
    pub(super) peer: IpAddr,
    pub(super) errno: Errno,
}

impl Clients {
    pub(super) fn new(
        shard: ShardId,
        net: &NetConfig,
        budget: Arc<FrameBudget>,
        replies: Arc<ReplyBudget>,
        figures: Arc<LoopFigures>,
    ) -> Self {
        let memory = budget.limit_of_shard();
        Self {
            shard,
            max_frame: net.max_frame,
            max_idle: net.max_idle,
            min_frame_rate: net.min_frame_rate,
            budget,
            replies,
            figures,
            doorkeeper: Doorkeeper::new(net.entrance.clone(), memory),
            table: ConnectionTable::new(shard),
            arriving: VecDeque::new(),
            late: VecDeque::new(),
            ready: VecDeque::new(),
            eager: VecDeque::new(),
            large: VecDeque::new(),
            greeting: VecDeque::new(),
            touched: VecDeque::new(),
            hungry: VecDeque::new(),
            crowded: BTreeSet::new(),
            muted: BTreeSet::new(),
            closed: Vec::new(),
            turn_began: Instant::START,
            taken_up: 0,
            scratch: Vec::with_capacity(SCRATCH),
            next_relief: Instant::START,
            next_turning_out: Instant::START,
            next_sweep: Instant::START,
        }
    }

    /// A connection that was accepted, to be served when it has its turn.
    pub(super) fn arrive(&mut self, accepted: Accepted) {
        self.arriving.push_back(accepted);
    }

    /// Serves those that have arrived, as many as have their turn. Gives those that cannot be.
    pub(super) fn take_over(&mut self, poll: &Poll, now: Instant) -> Vec<Unwatched> {
        let few = self.arriving.len().min(COME_A_TURN);
        let come: Vec<Accepted> = self.arriving.drain(..few).collect();
        come.into_iter().filter_map(|accepted| self.take_over_one(accepted, poll, now).err()).collect()
    }

    fn take_over_one(&mut self, accepted: Accepted, poll: &Poll, now: Instant) -> Result<(), Unwatched> {
        let (max_frame, figures) = (self.max_frame, Arc::clone(&self.figures));
        let debt = self.replies.debt();
        let entering = (max_frame, &self.doorkeeper);
        let connection = self.table.insert(|id| Connection::new(id, accepted, entering, debt, figures, now));
        let (number, peer) = (connection.id().number, connection.peer());
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP;
        if let Err(errno) = poll.watch(connection.socket(), number, flags) {
            self.table.remove(number);
            return Err(Unwatched { peer, errno });
        }
        self.list(number, Line::Ready);
        Ok(())
    }

    /// A socket has changed.
    pub(super) fn on_event(&mut self, number: u64, flags: EventFlags) {
        let Some(connection) = self.table.get(number) else { return };
        let hung_up = flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR);
        connection.on_event(
            hung_up || flags.contains(EventFlags::IN),
            hung_up || flags.contains(EventFlags::OUT),
            hung_up,
        );
        if flags.contains(EventFlags::OUT) {
            self.touch(number);
        }
        self.leave_crowd(number);
        self.list(number, Line::Ready);
    }

    /// Puts connections back in line that have waited long enough: for memory, or for their quota.
    pub(super) fn resume(&mut self, now: Instant) {
        for _ in 0..self.hungry.len().min(HUNGRY_A_TURN) {
            if !self.budget.may_admit() {
                break;
            }
            let Some(number) = self.hungry.pop_front() else { break };
            if let Some(connection) = self.table.get(number) {
                connection.lists.hungry = false;
                self.list(number, Line::Ready);
            }
        }
        for _ in 0..CROWD_A_TURN {
            if self.budget.is_crowded() {
                break;
            }
            let Some(&number) = self.crowded.first() else { break };
            self.leave_crowd(number);
            self.list(number, Line::Ready);
        }
        while let Some(&(at, number)) = self.muted.first()
            && at <= now
        {
            self.muted.pop_first();
            if let Some(connection) = self.table.get(number) {
                connection.unmute(now);
                self.list(number, Line::Ready);
                self.touch(number);
            }
        }
    }

    /// Reads from all that are in line, but from those within large frames only as much as a turn
    /// has for them, and hands their requests to `take`, which may change `clock`: the time at
    /// which the next one is taken up.
    pub(super) fn serve(
        &mut self,
        now: Instant,
        clock: &mut Instant,
        mut take: impl FnMut(Request, &mut Instant),
    ) {
        (self.turn_began, self.taken_up) = (now, 0);
        for line in [Line::Ready, Line::Eager] {
            let in_line = self.line(line).len().clamp(1, REQUESTS_OF_ALL_A_TURN);
            let share =
                Share { requests: REQUESTS_A_TURN.min(REQUESTS_OF_ALL_A_TURN / in_line), large: None };
            for _ in 0..in_line {
                let Some(number) = self.line(line).pop_front() else { break };
                self.serve_one(number, share, now, clock, &mut take);
                if self.table.get(number).is_some_and(|connection| connection.is_within_large_frame()) {
                    self.list(number, Line::Large);
                }
            }
        }
        for _ in 0..self.greeting.len().min(HANDSHAKES_A_TURN) {
            let Some(number) = self.greeting.pop_front() else { break };
            self.serve_one(number, Share { requests: REQUESTS_A_TURN, large: None }, now, clock, &mut take);
        }
        let mut left = LARGE_A_TURN;
        while left > 0 {
            let Some(number) = self.large.pop_front() else { break };
            let share = Share { requests: REQUESTS_A_TURN, large: Some(left) };
            left = left.saturating_sub(self.serve_one(number, share, now, clock, &mut take));
        }
    }

    /// Gives how many bytes were read.
    fn serve_one(
        &mut self,
        number: u64,
        share: Share,
        now: Instant,
        clock: &mut Instant,
        take: &mut impl FnMut(Request, &mut Instant),
    ) -> u64 {
        let Some(connection) = self.table.get(number) else { return 0 };
        connection.lists.ready = false;
        let (before, muted) = (connection.received(), connection.muted_until());
        let mut context = ReadContext { shard: self.shard, budget: &self.budget, scratch: &mut self.scratch };
        let (mut requests, mut reads) = (0, 0);
        while requests < share.requests {
            if let Some(request) = connection.next_request(*clock, &self.doorkeeper) {
                requests += 1;
                let before = *clock;
                take(request, clock);
                connection.add_spent(clock.since(before));
                continue;
            }
            let read = connection.received() - before;
            let has_read_enough =
                connection.is_within_large_frame() && share.large.is_none_or(|large| read >= large);
            let has_greeted_enough = reads > 0 && connection.is_handshaking();
            if reads == READS_A_TURN || has_read_enough || has_greeted_enough {
                break;
            }
            reads += 1;
            match connection.read(&mut context, now) {
                ReadOutcome::Some => {}
                ReadOutcome::Nothing => break,
                ReadOutcome::NoMemory => {
                    connection.lists.hungry = true;
                    self.hungry.push_back(number);
                    break;
                }
                ReadOutcome::Crowded => {
                    connection.lists.crowded = true;
                    self.crowded.insert(number);
                    break;
                }
            }
        }
        let read = connection.received() - before;
        let after = connection.muted_until();
        self.on_muted(number, muted, after);
        self.figures.requests.add(requests as u64);
        self.taken_up += requests as u32;
        self.touch(number);
        read
    }

    /// The core has done by `at` what it could do at once for all that was handed out.
    pub(super) fn settled(&mut self, at: Instant) {
        let turn = Turn { requests: self.taken_up, took: at.since(self.turn_began) };
        for number in &self.touched {
            if let Some(connection) = self.table.get(*number) {
                connection.settled(at, turn);
            }
        }
    }

    /// Takes the reply to a request, made at `at`.
    pub(super) fn deliver(&mut self, id: RequestId, reply: Reply, at: Instant) {
        let number = id.connection.number;
        let Some(connection) = self.table.get(number) else { return };
        let before = connection.muted_until();
        connection.complete(id.sequence, reply, at);
        let after = connection.muted_until();
        self.on_muted(number, before, after);
        self.touch(number);
    }

    /// What a connection's way in has waited for is there, at `now`.
    pub(super) fn take_up(&mut self, id: ConnectionId, now: Instant) {
        let number = id.number;
        let Some(connection) = self.table.get(number) else { return };
        let Some(at) = connection.muted_until().filter(|at| connection.later == Some(*at)) else { return };
        connection.unmute(now);
        self.muted.remove(&(at, number));
        self.list(number, Line::Ready);
        self.touch(number);
    }

    /// A connection is not read from until another time than before.
    fn on_muted(&mut self, number: u64, before: Option<Instant>, after: Option<Instant>) {
        if before != after {
            before.map(|at| self.muted.remove(&(at, number)));
            self.muted.extend(after.map(|at| (at, number)));
        }
    }

    /// The cluster's users are these from here on.
    pub(super) fn set_users(&mut self, users: Arc<Security>) {
        self.doorkeeper.set_users(users);
    }

    /// Writes replies; closes connections that are at their end; puts those back in line that may
    /// have more for us.
    pub(super) fn finish(&mut self, now: Instant, clock: &mut Instant) {
        for _ in 0..self.touched.len() {
            let Some(number) = self.touched.pop_front() else { break };
            let Some(connection) = self.table.get(number) else { continue };
            connection.lists.touched = false;
            let has_more = connection.write(now, clock);
            // Replies that are made had their chance.
            if let Some(end) = connection.finished() {
                self.close(number, end);
                continue;
            }
            if connection.is_ready() {
                self.list(number, Line::Eager);
            }
            if has_more {
                self.touch(number);
            }
        }
    }

    /// The connections that were closed since this was asked last.
    pub(super) fn take_closed(&mut self) -> Vec<Closed> {
        std::mem::take(&mut self.closed)
    }

    /// Whether connections are in line to be read from.
    pub(super) fn are_ready(&self) -> bool {
        [&self.ready, &self.eager, &self.large, &self.greeting].into_iter().any(|line| !line.is_empty())
    }

    /// Whether connections have arrived, or are to be closed, that have not had their turn.
    pub(super) fn are_coming_or_going(&self) -> bool {
        !self.arriving.is_empty() || !self.late.is_empty()
    }

    /// Whether connections are in line to be written to.
    pub(super) fn are_touched(&self) -> bool {
        !self.touched.is_empty()
    }

    /// Whether connections wait for memory.
    pub(super) fn are_hungry(&self) -> bool {
        !self.hungry.is_empty() || !self.crowded.is_empty()
    }

    /// Whether everything that was asked has been answered and written.
    pub(super) fn are_quiet(&self) -> bool {
        self.table.iter().all(Connection::is_quiet)
    }

    /// When there is something to do even if nothing happens.
    pub(super) fn wake_at(&self) -> Instant {
        self.muted.first().map_or(self.next_sweep, |(at, _)| self.next_sweep.min(*at))
    }

    /// The socket closes here; what is left in its send buffer still goes out.
    fn close(&mut self, number: u64, end: End) {
        let Some(mut connection) = self.table.remove(number) else { return };
        connection.close();
        connection.muted_until().map(|at| self.muted.remove(&(at, number)));
        self.crowded.remove(&number);
        self.closed.push(Closed { id: connection.id(), peer: connection.peer(), end });
    }

    fn leave_crowd(&mut self, number: u64) {
        if self.crowded.remove(&number)
            && let Some(connection) = self.table.get(number)
        {
            connection.lists.crowded = false;
        }
    }

    fn line(&mut self, line: Line) -> &mut VecDeque<u64> {
        match line {
            Line::Ready => &mut self.ready,
            Line::Eager => &mut self.eager,
            Line::Large => &mut self.large,
            Line::Greeting => &mut self.greeting,
        }
    }

    /// Puts a connection in line that may be read from, if it is in none; within a large frame, in
    /// the line of those.
    fn list(&mut self, number: u64, line: Line) {
        let Some(connection) = self.table.get(number) else { return };
        let line = match line {
            _ if connection.is_handshaking() => Line::Greeting,
            _ if connection.is_within_large_frame() => Line::Large,
            line => line,
        };
        let waits = connection.lists.hungry || connection.lists.crowded;
        if !waits && !std::mem::replace(&mut connection.lists.ready, true) {
            self.line(line).push_back(number);
        }
    }

    fn touch(&mut self, number: u64) {
        let Some(connection) = self.table.get(number) else { return };
        if !std::mem::replace(&mut connection.lists.touched, true) {
            self.touched.push_back(number);
        }
    }
}
