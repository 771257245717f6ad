//! One thread: an event loop over the sockets of its clients.
//!
//! What always holds: a client has a turn when a socket of its own is ready or when the time that
//! it named has come, and at no other time.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

use aplomb_model::Instant;
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

use crate::client::{Client, Role, Watch};
use crate::schedule::Schedule;
use crate::stats::{Live, Stats};
use crate::{Spec, Workload};

/// Turns for the schedule alone are this far apart: closer ones would cost more than the records in
/// them.
const TICK: Duration = Duration::from_micros(100);
/// The same while nothing could be sent anyway.
const IDLE_TICK: Duration = Duration::from_millis(2);
/// The longest sleep: whether the run begins or ends is looked for this often.
const LONGEST_SLEEP: Duration = Duration::from_millis(5);
/// How often progress is reported.
const REPORT: Duration = Duration::from_millis(250);

/// What the timer is watched under; no client has so many links.
const TIMER: u64 = u64::MAX;

/// What the threads of a run share.
#[derive(Debug)]
pub(crate) struct Shared {
    /// Where the run's clock begins.
    pub(crate) origin: std::time::Instant,
    /// When the first record is due; not set before all clients are ready.
    pub(crate) begin: OnceLock<Instant>,
    /// The run is to end early.
    pub(crate) stop: AtomicBool,
    /// Clients that could begin.
    pub(crate) ready: AtomicUsize,
    /// Producers that have records left.
    pub(crate) producing: AtomicUsize,
    /// Records that producers which have ended had acknowledged.
    pub(crate) acknowledged: AtomicU64,
    /// Records of this run that consumers have seen.
    pub(crate) received: AtomicU64,
}

impl Shared {
    /// The time on the run's clock.
    pub(crate) fn now(&self) -> Instant {
        Instant::START + self.origin.elapsed()
    }
}

/// A client and its number among all that do the same.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) client: Client,
    pub(crate) number: usize,
}

/// One thread's work.
pub(crate) struct Worker<'a> {
    spec: &'a Spec,
    shared: &'a Shared,
    members: Vec<Member>,
    state: Vec<State>,
    stats: Stats,
    poll: OwnedFd,
    timer: OwnedFd,
    due: BTreeSet<(Instant, usize)>,
    live: Sender<Live>,
}

/// How far a client has come.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    wake: Option<Instant>,
    ready: bool,
    done: bool,
    seen: u64,
}

/// Puts sockets of one client on the poll.
struct Poll<'a> {
    poll: &'a OwnedFd,
    member: usize,
}

impl Watch for Poll<'_> {
    fn watch(&mut self, socket: BorrowedFd<'_>, link: usize) -> io::Result<()> {
        let data = EventData::new_u64((self.member as u64) << 32 | link as u64);
        // Edges: each turn writes and reads until the socket has no more.
        epoll::add(
            self.poll,
            socket,
            data,
            EventFlags::IN | EventFlags::OUT | EventFlags::ET | EventFlags::RDHUP,
        )?;
        Ok(())
    }
}

impl<'a> Worker<'a> {
    pub(crate) fn new(
        spec: &'a Spec,
        shared: &'a Shared,
        members: Vec<Member>,
        live: Sender<Live>,
    ) -> io::Result<Self> {
        let poll = epoll::create(CreateFlags::CLOEXEC)?;
        let timer =
            timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        epoll::add(&poll, &timer, EventData::new_u64(TIMER), EventFlags::IN | EventFlags::ET)?;
        let state = vec![State::default(); members.len()];
        Ok(Self {
            spec,
            shared,
            members,
            state,
            stats: Stats::with_ledger(spec.ledger),
            poll,
            timer,
            due: BTreeSet::new(),
            live,
        })
    }

    /// Runs until all its clients have come to their ends.
    pub(crate) fn run(mut self) -> io::Result<Stats> {
        let mut events = Vec::with_capacity(256);
        let mut began = None;
        let mut next_report = Instant::START + REPORT;
        for member in 0..self.members.len() {
            self.turn(member, self.shared.now());
        }
        loop {
            let now = self.shared.now();
            if began.is_none()
                && let Some(begin) = self.shared.begin.get()
            {
                began = Some(*begin);
                self.begin(*begin, now);
            }
            // One turn each: a client that wants another at once gets it after the sockets had
            // theirs.
            let due: Vec<usize> =
                self.due.iter().take_while(|(wake, _)| *wake <= now).map(|(_, member)| *member).collect();
            for member in due {
                if let Some(wake) = self.state[member].wake {
                    self.stats.came_late(wake, now);
                }
                self.turn(member, now);
            }
            self.look_for_the_end(began, now);
            if self.state.iter().all(|state| state.done) || (began.is_none() && self.stopped()) {
                break;
            }
            if now >= next_report {
                next_report = now + REPORT;
                // Without a listener the run is being given up, which `stop` says.
                let _ = self.live.send(self.stats.take_live());
            }
            let sleep =
                self.due.first().map_or(LONGEST_SLEEP, |(wake, _)| wake.since(now)).min(LONGEST_SLEEP);
            self.wait(sleep, &mut events)?;
        }
        let _ = self.live.send(self.stats.take_live());
        Ok(self.stats)
    }

    fn wait(&mut self, sleep: Duration, events: &mut Vec<epoll::Event>) -> io::Result<()> {
        let time = |time: Duration| Timespec {
            tv_sec: time.as_secs().cast_signed(),
            tv_nsec: time.subsec_nanos().into(),
        };
        // The poll's own timeout counts in milliseconds, and records fall due in between.
        let timer = Itimerspec { it_interval: time(Duration::ZERO), it_value: time(sleep) };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &timer)?;
        let longest = if sleep.is_zero() { sleep } else { LONGEST_SLEEP };
        events.clear();
        match epoll::wait(&self.poll, spare_capacity(events), Some(&time(longest))) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        let mut touched: Vec<usize> = Vec::with_capacity(events.len());
        // When an answer was there, not when its turn came: what this thread takes for others in
        // between is in it, and shows as load.
        let now = self.shared.now();
        for event in events.iter() {
            let data = event.data.u64();
            if data == TIMER {
                continue;
            }
            let (member, link) = ((data >> 32) as usize, (data & 0xffff_ffff) as usize);
            self.members[member].client.on_socket(link, now, &mut self.stats);
            if !touched.contains(&member) {
                touched.push(member);
            }
        }
        for member in touched {
            self.turn(member, self.shared.now());
        }
        Ok(())
    }

    fn turn(&mut self, member: usize, now: Instant) {
        if self.state[member].done {
            self.sleep_until(member, None);
            return;
        }
        let client = &mut self.members[member].client;
        client.turn(now, &mut Poll { poll: &self.poll, member }, &mut self.stats);
        if let Role::Consumer(consumer) = &client.role {
            let state = &mut self.state[member];
            self.shared.received.fetch_add(consumer.received - state.seen, Ordering::Relaxed);
            state.seen = consumer.received;
        }
        let state = &mut self.state[member];
        if !state.ready && client.is_ready() {
            state.ready = true;
            self.shared.ready.fetch_add(1, Ordering::Release);
        }
        let earliest = now + if client.has_room() { TICK } else { IDLE_TICK };
        let wake = client.wake_at(now).map(|wake| if wake <= now { now } else { wake.max(earliest) });
        self.sleep_until(member, wake);
    }

    fn sleep_until(&mut self, member: usize, wake: Option<Instant>) {
        if let Some(old) = std::mem::replace(&mut self.state[member].wake, wake) {
            self.due.remove(&(old, member));
        }
        if let Some(wake) = wake {
            self.due.insert((wake, member));
        }
    }

    fn begin(&mut self, begin: Instant, now: Instant) {
        let measured_from = begin + self.spec.warm_up;
        let length = self.spec.warm_up + self.spec.duration;
        self.stats.begin(measured_from);
        for place in 0..self.members.len() {
            let Member { client, number } = &mut self.members[place];
            match &mut client.role {
                Role::Producer(producer) => {
                    let spec = &self.spec.producers;
                    producer.begin(Schedule::new(begin, length, spec.rate, *number, spec.clients));
                }
                Role::Consumer(consumer) => {
                    let spec = &self.spec.consumers;
                    let schedule = |rate| Schedule::new(begin, length, rate, *number, spec.clients);
                    consumer.begin(begin, spec.fetch_rate.map(schedule));
                }
            }
            self.turn(place, now);
        }
    }

    fn stopped(&self) -> bool {
        self.shared.stop.load(Ordering::Relaxed)
    }

    fn look_for_the_end(&mut self, began: Option<Instant>, now: Instant) {
        let Some(begin) = began else { return };
        let end = begin + self.spec.warm_up + self.spec.duration;
        let stopped = self.stopped();
        for member in 0..self.members.len() {
            if self.state[member].done {
                continue;
            }
            let client = &mut self.members[member].client;
            let done = match &mut client.role {
                Role::Producer(producer) => {
                    if stopped {
                        producer.stop();
                    }
                    producer.is_done() || now >= end + self.spec.drain
                }
                Role::Consumer(consumer) if self.spec.workload == Workload::Consume => {
                    stopped || consumer.has_read_all() || now >= end
                }
                Role::Consumer(_) => {
                    let all_sent = self.shared.producing.load(Ordering::Acquire) == 0;
                    let expected = self.shared.acknowledged.load(Ordering::Relaxed);
                    let all_here = self.shared.received.load(Ordering::Relaxed) >= expected;
                    all_sent && (all_here || stopped) || now >= end + self.spec.drain + self.spec.drain
                }
            };
            if !done {
                continue;
            }
            client.give_up(now, &mut self.stats);
            self.state[member].done = true;
            self.sleep_until(member, None);
            if matches!(self.members[member].client.role, Role::Producer(_)) {
                // A thread's count is complete when its last producer has ended; the ones before
                // add nothing new.
                self.hand_in_acknowledged();
                self.shared.producing.fetch_sub(1, Ordering::Release);
            }
        }
    }

    fn hand_in_acknowledged(&mut self) {
        let producing = self
            .members
            .iter()
            .zip(&self.state)
            .any(|(member, state)| !state.done && matches!(member.client.role, Role::Producer(_)));
        if !producing {
            self.shared.acknowledged.fetch_add(self.stats.ever_acknowledged, Ordering::Relaxed);
        }
    }
}
