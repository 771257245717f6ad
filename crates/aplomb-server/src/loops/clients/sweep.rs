//! Who is closed because nothing moves, or because it keeps memory from others.

use std::time::Duration;

use aplomb_model::Instant;

use super::{Clients, GO_A_TURN};
use crate::net::connection::Connection;
use crate::net::{End, Slowness};

/// How often idle connections are looked for.
const SWEEP: Duration = Duration::from_secs(1);

/// How long half a frame, or a reply, may stay as it is while memory is short; and what a client
/// has asked that has left, while it asks for more than is taken up at a time.
const STUCK: Duration = Duration::from_secs(10);

/// How long replies may stay while memory for them is used up.
const GRACE: Duration = Duration::from_secs(1);

/// Who has taken more bytes than this in the last second or two is not slow.
const SLOW: u64 = 1 << 20;

/// How often it is looked for who does not take them.
pub(super) const RELIEF: Duration = Duration::from_millis(100);

impl Clients {
    /// Closes connections that have been idle for too long; and, while memory is short, those that
    /// have held some for a while without doing anything with it.
    pub(in crate::loops) fn sweep(&mut self, now: Instant, core_is_short: impl FnOnce() -> bool) {
        self.relieve(now);
        self.turn_out(now);
        if now >= self.next_sweep && self.late.is_empty() {
            self.look_for_late(now, core_is_short);
        }
        for _ in 0..GO_A_TURN {
            let Some((number, end)) = self.late.pop_front() else { break };
            self.close(number, end);
        }
    }

    fn look_for_late(&mut self, now: Instant, core_is_short: impl FnOnce() -> bool) {
        self.next_sweep = now + SWEEP;
        let unwritten: usize = self.table.iter().map(Connection::unwritten).sum();
        self.figures.unwritten.set(unwritten as u64);
        self.figures.strangers.set(self.doorkeeper.strangers().used() as u64);
        let replies_are_many = unwritten >= self.budget.limit_of_shard();
        let stuck_since = before(now, STUCK);
        let sending = stuck_since.filter(|_| self.budget.is_short());
        let taking = stuck_since.filter(|_| replies_are_many || core_is_short());
        let idle = self.max_idle.and_then(|idle| before(now, idle));
        let is_late = |connection: &&Connection| {
            idle.is_some_and(|at| connection.is_idle_since(at))
                || stuck_since.is_some_and(|at| connection.has_left_since(at))
                || sending.is_some_and(|at| connection.sends_nothing_since(at))
                || taking.is_some_and(|at| connection.takes_nothing_since(at))
        };
        let late = self.table.iter().filter(is_late);
        self.late.extend(late.map(|connection| (connection.id().number, End::Idle)));
        let patience = self.doorkeeper.entrance().patience();
        let strangers = self.table.iter().filter(|connection| connection.is_unauthenticated_at(now));
        let end = || End::Unauthenticated(patience);
        self.late.extend(strangers.map(|connection| (connection.id().number, end())));
        self.close_slow_frames(now);
        self.table.iter_mut().for_each(Connection::mark_taken);
    }

    /// While memory for replies is used up, closes the slowest takers: after a second those that
    /// hardly take anything; at once the slowest of all, if twice as much is owed as may be.
    fn relieve(&mut self, now: Instant) {
        if !self.replies.is_full() || now < self.next_relief {
            return;
        }
        self.next_relief = now + RELIEF;
        let (grace, slow) =
            if self.replies.is_overfull() { (Duration::ZERO, u64::MAX) } else { (GRACE, SLOW) };
        let Some(since) = before(now, grace) else { return };
        let takers = self.table.iter().filter_map(|connection| connection.slowness_since(since));
        let mut takers: Vec<Slowness> = takers.collect();
        takers.sort_unstable();
        for Slowness { taken, owed, number } in takers {
            if !self.replies.is_full() || taken > slow {
                return;
            }
            self.replies.count_closed();
            self.close(number, End::SlowTaker(owed.0));
        }
    }

    /// While those that have not shown who they are take more than they may, closes some that we
    /// wait for: those that hold the most, and of equals the oldest. Who has just come has a moment
    /// to go on, unless they are far too many.
    fn turn_out(&mut self, now: Instant) {
        let strangers = self.doorkeeper.strangers();
        let mut excess = strangers.excess();
        if excess == 0 || now < self.next_turning_out || !self.late.is_empty() {
            return;
        }
        let grace = if strangers.are_too_many() { Duration::ZERO } else { GRACE };
        self.next_turning_out = now + RELIEF;
        let Some(since) = before(now, grace) else { return };
        let mut waited_for: Vec<_> = self.table.iter().filter_map(Connection::overstay).collect();
        waited_for.sort_unstable();
        for (overstay, held) in waited_for {
            if excess == 0 {
                return;
            }
            if overstay.since <= since {
                excess = excess.saturating_sub(held);
                self.figures.turned_out.add(1);
                self.late.push_back((overstay.number, End::Crowding));
            }
        }
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
            self.late.push_back((number, End::SlowFrame(held)));
            wanted = wanted.saturating_sub(held);
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
    use aplomb_broker::quotas::Windows;
    use std::io::Write;
    use std::net::{IpAddr, Ipv4Addr};
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;

    use aplomb_broker::config::SecurityProtocol;
    use aplomb_broker::ports::{Session, ShardId};
    use rustix::event::epoll::EventFlags;

    use super::super::COME_A_TURN;
    use super::*;
    use crate::figures::LoopFigures;
    use crate::loops::poll::Poll;
    use crate::mail::Waker;
    use crate::net::{
        Accepted, ConnectionLimits, Connections, Entrance, FrameBudget, NetConfig, ReplyBudget, Transport,
        Want,
    };

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
            Self::behind(Entrance::open(), memory, min_frame_rate)
        }

        fn behind(entrance: Entrance, memory: usize, min_frame_rate: u64) -> Self {
            let net = NetConfig {
                rate_windows: Windows { count: 11, millis: 1000 },
                entrance,
                max_frame: 1 << 20,
                max_frames: memory,
                min_frame_rate,
                max_replies: 1 << 20,
                connections: ConnectionLimits::default(),
                max_idle: None,
                send_buffer: None,
                receive_buffer: None,
            };
            let waker = Arc::new(Waker::new().expect("an eventfd"));
            let budget = FrameBudget::new(memory, [Arc::clone(&waker)]);
            let replies = ReplyBudget::new(net.max_replies);
            let figures = Arc::new(LoopFigures::new(std::iter::empty()));
            Self {
                clients: Clients::new(HERE, &net, Arc::clone(&budget), replies, figures),
                budget,
                connections: Connections::new(ConnectionLimits::default(), 0..1, Arc::clone(&waker)),
                poll: Poll::new(waker).expect("an epoll"),
            }
        }

        /// A client that has said nothing, and has not had its turn.
        fn arrives(&mut self) -> UnixStream {
            let (there, here) = UnixStream::pair().expect("a pair of sockets");
            here.set_nonblocking(true).expect("a socket");
            let (permit, _) = self.connections.admit(&"PUBLIC".into(), HOME).ok().expect("there is no limit");
            let session = Session::anonymous(HOME, "HERE".into(), SecurityProtocol::Plaintext);
            let transport = Transport::Plain(here.into());
            let accepted = Accepted { transport, session: Arc::new(session), permit };
            self.clients.arrive(accepted);
            there
        }

        /// A client that has sent the first `bytes` of a large frame.
        fn client(&mut self, bytes: usize, now: Instant) -> UnixStream {
            let mut there = self.arrives();
            assert!(self.clients.take_over(&self.poll, now).is_empty(), "it can be watched");
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
            for (client, number) in dribbling.iter_mut().zip([0, 1 << 24 | 1, 2 << 24 | 2]) {
                let _ = client.write(&[0]);
                room.clients.on_event(number, EventFlags::IN);
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
            room.clients.on_event(0, EventFlags::IN);
            assert!(room.turn(at(second)).is_empty());
        }
    }

    #[test]
    fn strangers_that_are_waited_for_make_room_and_who_has_just_come_stays() {
        let mut room = Room::behind(Entrance::guarded("HERE"), 4 << 20, 0);
        let at = |tenths: u64| Instant::START + Duration::from_millis(1000 + 100 * tenths);
        let strangers = Arc::clone(room.clients.doorkeeper.strangers());
        let announces = |room: &mut Room, sent: usize, now: Instant| {
            let mut there = room.arrives();
            assert!(room.clients.take_over(&room.poll, now).is_empty(), "it can be watched");
            there.write_all(&(1_i32 << 18).to_be_bytes()).expect("the pair's buffer holds that");
            there.write_all(&vec![0; sent]).expect("the pair's buffer holds that");
            there
        };
        let mut theirs = Vec::new();
        let mut gone = Vec::new();
        for n in 0..300 {
            theirs.push(announces(&mut room, 100, at(n)));
            gone.extend(room.turn(at(n)));
            assert!(strangers.used() <= 2 * strangers.limit() + (64 << 10), "{}", strangers.used());
        }
        assert!(gone.len() > 200, "{} are gone", gone.len());
        // One that holds much more goes before all others, one that has just come stays.
        let newest = |room: &Room| room.clients.table.iter().map(|connection| connection.id().number).max();
        theirs.push(announces(&mut room, 200_000, at(300)));
        let large = newest(&room).expect("it is there");
        theirs.push(announces(&mut room, 0, at(309)));
        let good = newest(&room).expect("it is there");
        gone.clear();
        for n in 310..330 {
            gone.extend(room.turn(at(n)));
        }
        assert!(gone.contains(&large) && !gone.contains(&good), "{gone:?}");
        assert!(strangers.used() <= strangers.limit(), "{}", strangers.used());
    }

    #[test]
    fn of_many_that_come_or_go_at_once_each_turn_sees_to_a_few() {
        let mut room = Room::new(1 << 30, 0);
        room.clients.max_idle = Some(STUCK);
        let now = Instant::START + Duration::from_secs(1);
        let mut theirs = Vec::new();
        for _ in 0..3 * COME_A_TURN {
            theirs.push(room.arrives());
        }
        for turn in 1..=3 {
            assert!(room.clients.are_coming_or_going());
            assert!(room.clients.take_over(&room.poll, now).is_empty(), "all can be watched");
            assert_eq!(room.clients.table.iter().count(), turn * COME_A_TURN);
            assert!(room.turn(now).is_empty());
        }
        assert!(!room.clients.are_coming_or_going());
        for turn in 1..=3 {
            assert_eq!(room.turn(now + 2 * STUCK).len(), GO_A_TURN);
            assert_eq!(room.clients.are_coming_or_going(), turn < 3);
        }
    }
}
