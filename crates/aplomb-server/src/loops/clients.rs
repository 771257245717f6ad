//! The connections of one shard: which of them may have requests, which have replies to write,
//! which wait, and which are at their end.
//!
//! What always holds: a connection is on a list at most once. Each gets a share of every turn and
//! no more, whatever it sends. A connection that was closed is told of once
//! ([`Clients::take_closed`]).

use std::collections::{BTreeSet, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use aplomb_broker::ports::{ConnectionId, Reply, Request, RequestId, ShardId};
use aplomb_model::Instant;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;

use super::poll::Poll;
use super::table::ConnectionTable;
use crate::figures::LoopFigures;
use crate::net::connection::{Connection, End, ReadOutcome};
use crate::net::{Accepted, FrameBudget, NetConfig, ReadContext, SCRATCH};

/// Requests that one connection may have handed out before the others have their turn.
const REQUESTS_A_TURN: usize = 32;

/// Reads that one connection gets before the others have their turn.
const READS_A_TURN: usize = 8;

/// How often idle connections are looked for.
const SWEEP: Duration = Duration::from_secs(1);

/// How long half a frame, or a reply, may stay as it is while memory is short.
const STUCK: Duration = Duration::from_secs(10);

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
    figures: Arc<LoopFigures>,
    table: ConnectionTable,
    /// May have requests for us.
    ready: VecDeque<u64>,
    /// Were given replies or room to write, or requests were taken from them: to be written to, and
    /// to be looked at for their end.
    touched: VecDeque<u64>,
    /// Could not be read because memory for frames was used up.
    hungry: Vec<u64>,
    /// Are over their quota, by when they are read from again.
    muted: BTreeSet<(Instant, u64)>,
    closed: Vec<Closed>,
    scratch: Vec<u8>,
    next_sweep: Instant,
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
        figures: Arc<LoopFigures>,
    ) -> Self {
        Self {
            shard,
            max_frame: net.max_frame,
            max_idle: net.max_idle,
            min_frame_rate: net.min_frame_rate,
            budget,
            figures,
            table: ConnectionTable::new(shard),
            ready: VecDeque::new(),
            touched: VecDeque::new(),
            hungry: Vec::new(),
            muted: BTreeSet::new(),
            closed: Vec::new(),
            scratch: Vec::with_capacity(SCRATCH),
            next_sweep: Instant::START,
        }
    }

    /// Serves a connection from now on.
    pub(super) fn take_over(
        &mut self,
        accepted: Accepted,
        poll: &Poll,
        now: Instant,
    ) -> Result<(), Unwatched> {
        let (max_frame, figures) = (self.max_frame, Arc::clone(&self.figures));
        let connection = self.table.insert(|id| Connection::new(id, accepted, max_frame, figures, now));
        let (number, peer) = (connection.id().number, connection.peer());
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP;
        if let Err(errno) = poll.watch(connection.socket(), number, flags) {
            self.table.remove(number);
            return Err(Unwatched { peer, errno });
        }
        self.list(number);
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
        self.list(number);
    }

    /// Puts connections back in line that have waited long enough: for memory, or for their quota.
    pub(super) fn resume(&mut self, now: Instant) {
        if !self.hungry.is_empty() && self.budget.may_admit() {
            for number in std::mem::take(&mut self.hungry) {
                if let Some(connection) = self.table.get(number) {
                    connection.lists.hungry = false;
                    self.list(number);
                }
            }
        }
        while let Some(&(at, number)) = self.muted.first()
            && at <= now
        {
            self.muted.pop_first();
            if let Some(connection) = self.table.get(number) {
                connection.unmute(now);
                self.list(number);
            }
        }
    }

    /// Reads from all that are in line, and hands their requests to `take`, which may change
    /// `clock`: the time at which the next one is taken up.
    pub(super) fn serve(
        &mut self,
        now: Instant,
        clock: &mut Instant,
        mut take: impl FnMut(Request, &mut Instant),
    ) {
        for _ in 0..self.ready.len() {
            let Some(number) = self.ready.pop_front() else { break };
            self.serve_one(number, now, clock, &mut take);
        }
    }

    fn serve_one(
        &mut self,
        number: u64,
        now: Instant,
        clock: &mut Instant,
        take: &mut impl FnMut(Request, &mut Instant),
    ) {
        let Some(connection) = self.table.get(number) else { return };
        connection.lists.ready = false;
        let mut context = ReadContext { shard: self.shard, budget: &self.budget, scratch: &mut self.scratch };
        let (mut requests, mut reads) = (0, 0);
        while requests < REQUESTS_A_TURN {
            if let Some(request) = connection.next_request(*clock) {
                requests += 1;
                take(request, clock);
                continue;
            }
            if reads == READS_A_TURN {
                break;
            }
            reads += 1;
            match connection.read(&mut context, now) {
                ReadOutcome::Some => {}
                ReadOutcome::Nothing => break,
                ReadOutcome::NoMemory => {
                    connection.lists.hungry = true;
                    self.hungry.push(number);
                    break;
                }
            }
        }
        self.figures.requests.add(requests as u64);
        self.touch(number);
    }

    /// The core has done by `at` what it could do at once for all that was handed out.
    pub(super) fn settled(&mut self, at: Instant) {
        for number in &self.touched {
            if let Some(connection) = self.table.get(*number) {
                connection.settled(at);
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
        if before != after {
            before.map(|at| self.muted.remove(&(at, number)));
            self.muted.extend(after.map(|at| (at, number)));
        }
        self.touch(number);
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
                self.list(number);
            }
            if has_more {
                self.touch(number);
            }
        }
    }

    /// Closes connections that have been idle for too long; and, while memory is short, those that
    /// have held some for a while without doing anything with it.
    pub(super) fn sweep(&mut self, now: Instant, core_is_short: impl FnOnce() -> bool) {
        if now < self.next_sweep {
            return;
        }
        self.next_sweep = now + SWEEP;
        let unwritten: usize = self.table.iter().map(Connection::unwritten).sum();
        self.figures.unwritten.set(unwritten as u64);
        let replies_are_many = unwritten >= self.budget.limit_of_shard();
        let stuck_since = before(now, STUCK);
        let sending = stuck_since.filter(|_| self.budget.is_short());
        let taking = stuck_since.filter(|_| replies_are_many || core_is_short());
        let idle = self.max_idle.and_then(|idle| before(now, idle));
        let is_late = |connection: &&Connection| {
            idle.is_some_and(|at| connection.is_idle_since(at))
                || sending.is_some_and(|at| connection.sends_nothing_since(at))
                || taking.is_some_and(|at| connection.takes_nothing_since(at))
        };
        let late: Vec<u64> =
            self.table.iter().filter(is_late).map(|connection| connection.id().number).collect();
        for number in late {
            self.close(number, End::Idle);
        }
        self.close_slow_frames(now);
    }

    /// While memory for frames is short, closes connections whose frames do not get on, those that
    /// hold the most first, until there is some again.
    fn close_slow_frames(&mut self, now: Instant) {
        let rate = self.min_frame_rate;
        let slow = self.table.iter_mut().filter_map(|connection| {
            connection.slow_frame(rate, now).map(|held| (held, connection.id().number))
        });
        let mut slow: Vec<(usize, u64)> = slow.collect();
        if !self.budget.is_short() {
            return;
        }
        slow.sort_unstable();
        let mut wanted = self.budget.worth_closing_for();
        while wanted > 0
            && let Some((held, number)) = slow.pop()
        {
            self.budget.count_closed();
            self.close(number, End::SlowFrame(held));
            wanted = wanted.saturating_sub(held);
        }
    }

    /// The connections that were closed since this was asked last.
    pub(super) fn take_closed(&mut self) -> Vec<Closed> {
        std::mem::take(&mut self.closed)
    }

    /// Whether connections are in line to be read from.
    pub(super) fn are_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Whether connections are in line to be written to.
    pub(super) fn are_touched(&self) -> bool {
        !self.touched.is_empty()
    }

    /// Whether connections wait for memory.
    pub(super) fn are_hungry(&self) -> bool {
        !self.hungry.is_empty()
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
        let Some(connection) = self.table.remove(number) else { return };
        connection.muted_until().map(|at| self.muted.remove(&(at, number)));
        self.closed.push(Closed { id: connection.id(), peer: connection.peer(), end });
    }

    fn list(&mut self, number: u64) {
        let Some(connection) = self.table.get(number) else { return };
        if !connection.lists.hungry && !std::mem::replace(&mut connection.lists.ready, true) {
            self.ready.push_back(number);
        }
    }

    fn touch(&mut self, number: u64) {
        let Some(connection) = self.table.get(number) else { return };
        if !std::mem::replace(&mut connection.lists.touched, true) {
            self.touched.push_back(number);
        }
    }
}

/// The moment that lies `ago` before `now`, if the clock had started then.
fn before(now: Instant, ago: Duration) -> Option<Instant> {
    let ago = u64::try_from(ago.as_nanos()).ok()?;
    now.as_nanos().checked_sub(ago).map(Instant::from_nanos)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{IpAddr, Ipv4Addr};
    use std::os::unix::net::UnixStream;

    use aplomb_broker::config::SecurityProtocol;
    use aplomb_broker::ports::Session;

    use super::*;
    use crate::mail::Waker;
    use crate::net::{ConnectionLimits, Connections, Transport, Want};

    const HERE: ShardId = ShardId(0);
    const HOME: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    const LARGE: i32 = 1 << 20;

    struct Room {
        clients: Clients,
        budget: Arc<FrameBudget>,
        connections: Arc<Connections>,
        poll: Poll,
    }

    impl Room {
        fn new(memory: usize, min_frame_rate: u64) -> Self {
            let net = NetConfig {
                max_frame: 1 << 20,
                max_frames: memory,
                min_frame_rate,
                connections: ConnectionLimits::default(),
                max_idle: None,
                send_buffer: None,
                receive_buffer: None,
            };
            let waker = Arc::new(Waker::new().expect("an eventfd"));
            let budget = FrameBudget::new(memory, [Arc::clone(&waker)]);
            let figures = Arc::new(LoopFigures::new(std::iter::empty()));
            Self {
                clients: Clients::new(HERE, &net, Arc::clone(&budget), figures),
                budget,
                connections: Connections::new(ConnectionLimits::default(), 1, Arc::clone(&waker)),
                poll: Poll::new(waker).expect("an epoll"),
            }
        }

        /// A client that has sent the first `bytes` of a large frame.
        fn client(&mut self, bytes: usize, now: Instant) -> UnixStream {
            let (mut there, here) = UnixStream::pair().expect("a pair of sockets");
            here.set_nonblocking(true).expect("a socket");
            let (permit, _) = self.connections.admit(HOME).ok().expect("there is no limit");
            let session = Session::anonymous(HOME, "HERE".into(), SecurityProtocol::Plaintext);
            let transport = Transport::Plain(here.into());
            let accepted = Accepted { transport, session: Arc::new(session), permit };
            let taken = self.clients.take_over(accepted, &self.poll, now);
            assert!(taken.is_ok(), "it can be watched");
            there.write_all(&LARGE.to_be_bytes()).expect("the pair's buffer holds that");
            there.write_all(&vec![0; bytes]).expect("the pair's buffer holds that");
            there
        }

        /// Turns until all that has come is read.
        fn turn_until_quiet(&mut self, now: Instant) {
            for _ in 0..100 {
                assert!(self.turn(now).is_empty(), "nobody is closed so soon");
            }
        }

        /// The numbers of the connections that are gone after a turn.
        fn turn(&mut self, now: Instant) -> Vec<u64> {
            let mut clock = now;
            self.clients.resume(now);
            self.clients.serve(now, &mut clock, |_, _| panic!("no frame is complete"));
            self.clients.finish(now, &mut clock);
            self.clients.sweep(now, || false);
            self.clients.take_closed().into_iter().map(|closed| closed.id.number).collect()
        }
    }

    #[test]
    fn who_sends_half_a_frame_is_closed_when_memory_is_short_but_not_who_waits_for_memory() {
        let mut room = Room::new(40_000, 0);
        let mut overdraft = room.budget.charge(&Arc::default());
        let want = Want::More { bytes: 1 << 20, frame: 1 << 20 };
        assert!(room.budget.admits(HERE, want, &mut overdraft), "another frame has the overdraft");
        let now = Instant::START + Duration::from_secs(1);
        // Number 0 has more for us than there is memory for; the other has sent all that it will.
        let _waits = room.client(60_000, now);
        assert!(room.turn(now).is_empty());
        let _half = room.client(10, now);
        assert!(room.turn(now).is_empty());
        assert!(room.clients.are_hungry());

        assert!(room.turn(now + STUCK).is_empty(), "they may take so long");
        let gone = room.turn(now + 2 * STUCK);
        assert_eq!(gone.len(), 1);
        assert_ne!(gone[0], 0, "we do not read from it");
        drop(overdraft);
        room.turn(now + 2 * STUCK);
        assert!(!room.clients.are_hungry(), "it is read from again");
    }

    #[test]
    fn frames_that_dribble_are_closed_when_memory_is_short_the_largest_first() {
        let mut room = Room::new(200_000, 10_000);
        let at = |seconds| Instant::START + Duration::from_secs(seconds);
        let mut dribbling: Vec<UnixStream> =
            [30_000, 60_000, 90_000].map(|bytes| room.client(bytes, at(1))).into();
        room.turn_until_quiet(at(1));
        assert!(room.budget.is_short());
        // A byte a second, for ever.
        let mut gone = Vec::new();
        for second in 2..10 {
            for client in &mut dribbling {
                let _ = client.write(&[0]);
            }
            gone.extend(room.turn(at(second)));
        }
        assert_eq!(gone, [2 << 24 | 2], "the third: without it there is memory again");
        assert!(!room.budget.is_short());
        assert_eq!(room.budget.closed(), 1);
    }

    #[test]
    fn a_frame_that_gets_on_is_not_closed_however_long_it_takes() {
        let mut room = Room::new(60_000, 10_000);
        let at = |seconds| Instant::START + Duration::from_secs(seconds);
        let mut steady = room.client(40_000, at(1));
        room.turn_until_quiet(at(1));
        assert!(room.budget.is_short());
        for second in 2..20 {
            steady.write_all(&[0; 11_000]).expect("the pair's buffer holds that");
            assert!(room.turn(at(second)).is_empty());
        }
    }
}
