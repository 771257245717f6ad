//! Good clients beside hostile ones, by seed: real sockets and the loop's own rooms on a virtual
//! clock. Frames that fill, frames that never end, replies that are not taken; strangers who never
//! say who they are.
//!
//! What must hold: memory for frames and for replies stays within its bounds; a good client is
//! never closed, and answered within [`PATIENCE`]; when all have gone, nothing is held.
//! `SIEGE_SEEDS=N` runs so many seeds, `SIEGE_FROM=N` begins elsewhere.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::ops::Range;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use aplomb_broker::config::SecurityProtocol;
use aplomb_broker::ports::{ErrorTally, Reply, RequestId, Session, ShardId, Waited};
use aplomb_broker::quotas::Windows;
use aplomb_model::{Instant, SplitMix64};
use bytes::Bytes;

use super::sweep::RELIEF;
use super::{Clients, LARGE_A_TURN, REQUESTS_OF_ALL_A_TURN};
use crate::figures::LoopFigures;
use crate::loops::poll::{Events, Poll};
use crate::mail::Waker;
use crate::net::connection::Connection;
use crate::net::{
    Accepted, ConnectionLimits, Connections, FrameBudget, NetConfig, OVERHEAD, PIECE_BYTES, ReplyBudget,
    SCRATCH, Transport,
};

const HERE: ShardId = ShardId(0);
/// The listener that strangers come by.
const GATE: &str = "GATE";
const HOME: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// Seeds of an ordinary run.
const SEEDS: u64 = 16;
const MS: Duration = Duration::from_millis(1);
/// How long a seed lasts, and how far a turn brings it.
const LENGTH: Duration = Duration::from_secs(12);
const TURN: Duration = Duration::from_millis(20);
/// How long a good client waits at the most for the answer to a request that one read brings:
/// memory may be full of whole requests that are at work, for as long as [`WORK`].
const PATIENCE: Duration = Duration::from_millis(300);
/// How long an answer takes to be made.
const WORK: Range<Duration> = Duration::ZERO..Duration::from_millis(60);
/// The largest frame, and up to which size frames are small.
const LARGEST: usize = 400_000;
const SMALL: usize = 60_000;
/// A frame begins with a request's first fields and the size of the answer that it wants.
const HEAD: usize = 8;
/// The most that one read brings, with what frames cost besides their bytes: those of a head
/// alone.
const ONE_READ: usize = SCRATCH / (4 + HEAD) * (HEAD + OVERHEAD);
/// More than bookkeeping adds to what one read of a stranger brings, whose frames are large.
const STRANGERS_READ: usize = 4 * SCRATCH;

/// What a client does.
#[derive(Clone, Debug)]
struct Habit {
    is_good: bool,
    /// It comes by a listener where it has to say who it is, and does not.
    is_stranger: bool,
    frame: usize,
    reply: usize,
    /// So many bytes of a frame it sends at once, the rest by so many a second.
    at_once: usize,
    send_rate: u64,
    /// How much it takes of its answers in a second.
    take_rate: u64,
    /// How long it waits between an answer and the next request; `None`: for no answer at all.
    pause: Option<Duration>,
}

/// A client with its end of a connection.
struct Guest {
    habit: Habit,
    there: UnixStream,
    /// Bytes of the frame at hand that were sent.
    sent: usize,
    /// Bytes of the answer that are to come, if one is.
    missing: usize,
    asked: Option<Instant>,
    next: Instant,
    /// What it may send and take, in bytes.
    may_send: f64,
    may_take: f64,
}

/// What guests send from and take into, one after the other.
struct Scratch {
    frame: Vec<u8>,
    taken: Vec<u8>,
}

struct Siege {
    dice: SplitMix64,
    clients: Clients,
    budget: Arc<FrameBudget>,
    replies: Arc<ReplyBudget>,
    connections: Arc<Connections>,
    poll: Poll,
    events: Events,
    now: Instant,
    guests: Vec<Guest>,
    /// Requests that are at work: when they are answered, and with how many bytes.
    at_work: VecDeque<(Instant, RequestId, usize)>,
    /// Answers of the last moments, and what they take.
    made: VecDeque<(Instant, usize)>,
    /// Whose requests were taken up in the last turn.
    taken: Vec<u64>,
    zeros: Bytes,
    scratch: Scratch,
}

impl Habit {
    fn good(dice: &mut SplitMix64) -> Self {
        let frame =
            if dice.within(0..4) == 0 { number(dice, HEAD..SCRATCH - 4) } else { number(dice, HEAD..2_000) };
        let pause = Some(dice.duration(MS..MS * 200));
        let reply = number(dice, 10..20_000);
        let (is_stranger, at_once, take_rate) = (false, frame + 4, u64::MAX);
        Self { is_good: true, is_stranger, frame, reply, at_once, send_rate: 0, take_rate, pause }
    }

    fn hostile(dice: &mut SplitMix64) -> Self {
        let large = number(dice, 100_000..LARGEST);
        let floods = Self {
            is_good: false,
            is_stranger: false,
            frame: large,
            reply: 10,
            at_once: large + 4,
            send_rate: 0,
            take_rate: u64::MAX,
            pause: None,
        };
        let most = number(dice, 4..large);
        match dice.within(0..6) {
            // Announces much, sends some or nearly all of it, and goes on by a byte now and then.
            0 => Self { at_once: most, send_rate: dice.within(0..60_000), ..floods },
            1 => Self { at_once: large, send_rate: 1, ..floods },
            // The same, of what is small.
            2 => {
                let frame = number(dice, 1_000..SMALL);
                Self { frame, at_once: number(dice, 4..frame), send_rate: dice.within(0..2), ..floods }
            }
            // Asks without end, and takes nothing of it, or hardly anything.
            3 => {
                let (frame, reply) = (number(dice, HEAD..200), number(dice, 100..200_000));
                let take_rate = *pick(dice, &[0, 0, 100, 100_000]);
                Self { frame, at_once: frame + 4, reply, take_rate, ..floods }
            }
            4 => Self { is_stranger: true, at_once: most, send_rate: dice.within(0..60_000), ..floods },
            _ => floods,
        }
    }
}

fn number(dice: &mut SplitMix64, range: Range<usize>) -> usize {
    dice.within(range.start as u64..range.end as u64) as usize
}

fn pick<'a, T>(dice: &mut SplitMix64, list: &'a [T]) -> &'a T {
    &list[number(dice, 0..list.len())]
}

impl Guest {
    fn comes(habit: Habit, siege: &mut Siege) -> Self {
        let (there, here) = UnixStream::pair().expect("a pair of sockets");
        here.set_nonblocking(true).expect("a socket");
        there.set_nonblocking(true).expect("a socket");
        let (permit, _) = siege.connections.admit(&"PUBLIC".into(), HOME).ok().expect("there is no limit");
        let listener = if habit.is_stranger { GATE } else { "HERE" };
        let session = Session::anonymous(HOME, listener.into(), SecurityProtocol::Plaintext);
        let accepted =
            Accepted { transport: Transport::Plain(here.into()), session: Arc::new(session), permit };
        siege.clients.arrive(accepted);
        assert!(siege.clients.take_over(&siege.poll, siege.now).is_empty(), "it can be watched");
        let next = siege.now + siege.dice.duration(Duration::ZERO..MS * 500);
        let (may_send, may_take) = (habit.at_once as f64, 0.0);
        Self { habit, there, sent: 0, missing: 0, asked: None, next, may_send, may_take }
    }

    /// Does what it does in a moment. False if its connection is closed.
    fn act(&mut self, now: Instant, scratch: &mut Scratch) -> bool {
        self.may_take = (self.may_take + self.habit.take_rate as f64 * TURN.as_secs_f64()).min(1e7);
        self.may_send += self.habit.send_rate as f64 * TURN.as_secs_f64();
        self.takes(now, &mut scratch.taken) && self.sends(now, &mut scratch.frame)
    }

    fn takes(&mut self, now: Instant, buffer: &mut [u8]) -> bool {
        while self.may_take >= 1.0 {
            let most = (self.may_take as usize).min(buffer.len());
            match self.there.read(&mut buffer[..most]) {
                Ok(0) => return false,
                Ok(taken) => {
                    self.may_take -= taken as f64;
                    self.missing = self.missing.saturating_sub(taken);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => return false,
            }
        }
        if self.missing == 0 && self.sent == 0 && self.asked.take().is_some() {
            self.next = now + self.habit.pause.unwrap_or_default();
        }
        true
    }

    fn sends(&mut self, now: Instant, frame: &mut [u8]) -> bool {
        let whole = 4 + self.habit.frame;
        while now >= self.next && (self.sent > 0 || self.asked.is_none() || self.habit.pause.is_none()) {
            if self.may_send < 1.0 {
                break;
            }
            frame[..4].copy_from_slice(&(self.habit.frame as u32).to_be_bytes());
            frame[4..8].copy_from_slice(&[0, 3, 0, 12]);
            frame[8..12].copy_from_slice(&(self.habit.reply as u32).to_be_bytes());
            let end = whole.min(self.sent + self.may_send as usize);
            match self.there.write(&frame[self.sent..end]) {
                Ok(sent) => {
                    self.asked.get_or_insert(now);
                    self.sent += sent;
                    self.may_send -= sent as f64;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => return false,
            }
            if self.sent == whole {
                (self.sent, self.may_send) = (0, self.habit.at_once as f64);
                self.missing += self.habit.reply;
                if self.habit.pause.is_some() {
                    break;
                }
            }
        }
        true
    }
}

impl Siege {
    fn new(seed: u64) -> Self {
        let mut dice = SplitMix64::new(seed);
        let limit = number(&mut dice, 3_000_000..8_000_000);
        let max_replies = number(&mut dice, 200_000..2_000_000);
        let net = NetConfig {
            rate_windows: Windows { count: 11, millis: 1000 },
            entrance: crate::net::Entrance::guarded(GATE),
            max_frame: LARGEST,
            max_frames: limit,
            min_frame_rate: 64 * 1024,
            max_replies,
            connections: ConnectionLimits::default(),
            max_idle: None,
            send_buffer: None,
            receive_buffer: None,
        };
        let waker = Arc::new(Waker::new().expect("an eventfd"));
        let budget = FrameBudget::new(limit, [Arc::clone(&waker)]);
        let replies = ReplyBudget::new(max_replies);
        let figures = Arc::new(LoopFigures::new(std::iter::empty()));
        let connections = Connections::new(ConnectionLimits::default(), 0..1, Arc::clone(&waker));
        let clients = Clients::new(HERE, &net, Arc::clone(&budget), Arc::clone(&replies), figures);
        Self {
            dice,
            clients,
            budget,
            replies,
            connections,
            poll: Poll::new(waker).expect("an epoll"),
            events: Events::new(256),
            now: Instant::START + Duration::from_secs(20),
            guests: Vec::new(),
            at_work: VecDeque::new(),
            made: VecDeque::new(),
            taken: Vec::new(),
            zeros: Bytes::from(vec![0; 200_000]),
            scratch: Scratch { frame: vec![0; 4 + LARGEST], taken: vec![0; 65_536] },
        }
    }

    fn run(&mut self) -> Result<(), String> {
        let (good, hostile) = (1 + self.dice.within(0..3), self.dice.within(1..100));
        for n in 0..good + hostile {
            let habit = if n < good { Habit::good(&mut self.dice) } else { Habit::hostile(&mut self.dice) };
            let guest = Guest::comes(habit, self);
            self.guests.push(guest);
        }
        let end = self.now + LENGTH;
        while self.now < end {
            self.guests_act()?;
            self.turn();
            self.check()?;
            self.now = self.now + TURN;
        }
        self.guests.clear();
        let end = self.now + Duration::from_secs(30);
        while self.now < end {
            self.turn();
            self.now = self.now + TURN;
        }
        let strangers = self.clients.doorkeeper.strangers();
        match (self.budget.used(), self.replies.used(), strangers.used()) {
            (0, 0, 0) => Ok(()),
            held => Err(format!("when all is over, {held:?} bytes are held")),
        }
    }

    fn guests_act(&mut self) -> Result<(), String> {
        for n in 0..self.guests.len() {
            let guest = &mut self.guests[n];
            if !guest.act(self.now, &mut self.scratch) {
                if guest.habit.is_good {
                    return Err(format!("a good client is closed: {:?}", guest.habit));
                }
                let habit = guest.habit.clone();
                self.guests[n] = Guest::comes(habit, self);
                continue;
            }
            let waits = guest.asked.map_or(Duration::ZERO, |asked| self.now.since(asked));
            if guest.habit.is_good && waits > PATIENCE {
                return Err(format!("a good client has waited for {waits:?}: {:?}", guest.habit));
            }
        }
        Ok(())
    }

    /// What a loop does in a turn.
    fn turn(&mut self) {
        self.poll.wait(&mut self.events, Some(Duration::ZERO), || false);
        for (number, flags) in self.events.take() {
            self.clients.on_event(number, flags);
        }
        let (now, mut clock) = (self.now, self.now);
        self.clients.resume(now);
        let Self { clients, at_work, taken, dice, .. } = self;
        taken.clear();
        clients.serve(now, &mut clock, |request, _| {
            let size = u32::from_be_bytes(request.frame[4..8].try_into().expect("four bytes")) as usize;
            at_work.push_back((now + dice.duration(WORK), request.id, size));
            taken.push(request.id.connection.number);
        });
        let (ready, rest) = at_work.drain(..).partition(|(at, ..)| *at <= now);
        *at_work = rest;
        for (_, id, size) in Vec::from(ready as VecDeque<_>) {
            let parts = vec![self.zeros.slice(..size)];
            let reply = Reply::Frame {
                parts,
                lent: 0,
                errors: ErrorTally::default(),
                throttle: Duration::ZERO,
                throttle_at: None,
                waited: Waited::default(),
            };
            self.clients.deliver(id, reply, now);
            self.made.push_back((now, size + PIECE_BYTES));
        }
        let mut clock = now;
        self.clients.finish(now, &mut clock);
        self.clients.sweep(now, || false);
        self.clients.take_closed();
    }

    fn check(&mut self) -> Result<(), String> {
        let (used, most) = (self.budget.used(), self.budget.limit() + LARGEST + ONE_READ);
        if used > most {
            return Err(format!("frames take {used} bytes, {most} at the most"));
        }
        // Each may have come since it was looked for who is to go, with what one read brings.
        let strangers = self.clients.doorkeeper.strangers();
        let guests = self.guests.iter().filter(|guest| guest.habit.is_stranger).count();
        let most = 2 * strangers.limit() + guests * STRANGERS_READ;
        if strangers.used() > most {
            return Err(format!("strangers take {} bytes, {most} at the most", strangers.used()));
        }
        // Who is in the way of others is looked for now and then.
        let now = self.now;
        while self.made.front().is_some_and(|(at, _)| now.since(*at) > RELIEF + TURN) {
            self.made.pop_front();
        }
        let lately: usize = self.made.iter().map(|(_, size)| size).sum();
        let (owed, most) = (self.replies.used(), 2 * self.replies.limit() + lately);
        if owed > most {
            return Err(format!("replies take {owed} bytes, {most} at the most"));
        }
        Ok(())
    }
}

fn setting(name: &str, otherwise: u64) -> u64 {
    let given = std::env::var(name).ok();
    given
        .map_or(otherwise, |text| text.parse().unwrap_or_else(|_| panic!("{name} is a number, not '{text}'")))
}

#[test]
fn good_clients_do_not_notice_hostile_ones() {
    let (from, count) = (setting("SIEGE_FROM", 0), setting("SIEGE_SEEDS", SEEDS));
    for seed in from..from + count {
        if let Err(wrong) = Siege::new(seed).run() {
            panic!("{wrong}\nto see it again: SIEGE_FROM={seed} SIEGE_SEEDS=1");
        }
    }
}

/// Lets a good client ask beside many that send such frames without waiting for answers: each of
/// its requests is taken up in the turn that it comes in. Gives the bytes that were read in each
/// turn, and the requests that were taken up.
fn beside(floods: usize, frame: usize) -> Vec<(u64, usize)> {
    let mut siege = Siege::new(0);
    let (reply, take_rate) = (10, u64::MAX);
    let (is_stranger, at_once) = (false, frame + 4);
    let flood =
        Habit { is_good: false, is_stranger, frame, reply, at_once, send_rate: 0, take_rate, pause: None };
    let good = Habit { is_good: true, frame: 100, reply: 77, at_once: 104, pause: Some(MS), ..flood };
    for habit in std::iter::repeat_n(flood, floods).chain([good]) {
        let guest = Guest::comes(habit, &mut siege);
        siege.guests.push(guest);
    }
    let received = |siege: &Siege| siege.clients.table.iter().map(Connection::received).sum::<u64>();
    let (mut asked, mut turns) = (0, Vec::new());
    for _ in 0..200 {
        siege.guests_act().expect("the good client is served");
        let asks = siege.guests[floods].asked == Some(siege.now);
        let before = received(&siege);
        siege.turn();
        turns.push((received(&siege) - before, siege.taken.len()));
        if asks {
            let last = siege.clients.table.iter().map(|connection| connection.id().number).max();
            assert!(
                last.is_some_and(|last| siege.taken.contains(&last)),
                "a request of the good client's waits for another turn"
            );
            asked += 1;
        }
        siege.now = siege.now + TURN;
    }
    assert!(asked > 20, "{asked} requests of the good client's");
    turns
}

#[test]
fn a_small_frame_is_taken_up_at_once_however_many_large_ones_are_on_their_way() {
    let turns = beside(50, LARGEST);
    assert!(turns.iter().all(|(read, _)| *read <= LARGE_A_TURN + 2 * LARGEST as u64), "{turns:?}");
    assert!(turns.iter().filter(|(read, _)| *read > LARGE_A_TURN / 2).count() > 100, "{turns:?}");
}

#[test]
fn who_asks_now_and_then_is_not_behind_those_that_do_not_wait_for_answers() {
    let turns = beside(400, 100);
    let most = 2 * REQUESTS_OF_ALL_A_TURN;
    assert!(turns[1..].iter().all(|(_, taken)| *taken <= most), "{turns:?}");
    assert!(turns.iter().filter(|(_, taken)| *taken >= most / 2).count() > 100, "{turns:?}");
}
