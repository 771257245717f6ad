//! How the disk behaves: which requests fail, which wait and how long, what a freeze holds back,
//! and what the schedule says comes next.
//!
//! What always holds: it knows no clock and no kernel; every answer that is handed in comes out
//! exactly once, and while the disk is frozen none does. `T` is the answer that is held; the
//! daemon's are FUSE replies.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::{Duration, Instant};

use aplomb_model::SplitMix64;

use super::change::{Change, Schedule, ScheduledChange};
use super::delay::Delay;
use super::operation::{Operation, PerOperation};
use super::service_times::{Recorder, ServiceTimes};

/// A request on its way through the device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticket {
    operation: Operation,
    arrived: Instant,
    due: Instant,
    /// Whether it is to end in EIO.
    pub(super) fails: bool,
}

/// Requests that are in the device at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct AtOnce {
    /// Operations that wait at this moment.
    pub now: u64,
    /// The most there were since this operation's delay was last changed.
    pub most: u64,
}

/// The device's state.
#[derive(Debug)]
pub(super) struct Behaviour<T> {
    delays: PerOperation<Delay>,
    failing: PerOperation<bool>,
    frozen_since: Option<Instant>,
    arrived: PerOperation<u64>,
    at_once: PerOperation<AtOnce>,
    held: BinaryHeap<Reverse<Held<T>>>,
    /// Makes answers of the same moment leave in the order in which they were handed in.
    handed_in: u64,
    plan: VecDeque<(Instant, Change)>,
    times: Recorder,
    dice: SplitMix64,
}

impl<T> Behaviour<T> {
    pub(super) fn new() -> Self {
        Self {
            delays: PerOperation::default(),
            failing: PerOperation::default(),
            frozen_since: None,
            arrived: PerOperation::default(),
            at_once: PerOperation::default(),
            held: BinaryHeap::new(),
            handed_in: 0,
            plan: VecDeque::new(),
            times: Recorder::new(),
            dice: SplitMix64::new(1),
        }
    }

    /// A request has come.
    pub(super) fn arrive(&mut self, operation: Operation, now: Instant) -> Ticket {
        let delay = self.delays[operation].of_request(self.arrived[operation], &mut self.dice);
        self.arrived[operation] += 1;
        let at_once = &mut self.at_once[operation];
        at_once.now += 1;
        at_once.most = at_once.most.max(at_once.now);
        Ticket { operation, arrived: now, due: now + delay, fails: self.failing[operation] }
    }

    /// The answer to a request is there. Gives it back if it can go at once, and otherwise keeps it
    /// until [`Self::due`].
    pub(super) fn answer(&mut self, ticket: Ticket, answer: T, now: Instant) -> Option<T> {
        if self.frozen_since.is_none() && ticket.due <= now {
            self.leave(ticket, now);
            return Some(answer);
        }
        self.handed_in += 1;
        self.held.push(Reverse(Held { ticket, number: self.handed_in, answer }));
        None
    }

    /// Does what the schedule has for this moment; then an answer whose time has come, if there is
    /// one.
    pub(super) fn due(&mut self, now: Instant) -> Option<T> {
        while let Some((_, change)) = self.plan.pop_front_if(|(at, _)| *at <= now) {
            self.change(change, now);
        }
        if self.frozen_since.is_some() || self.held.peek().is_none_or(|next| next.0.ticket.due > now) {
            return None;
        }
        let Reverse(held) = self.held.pop()?;
        self.leave(held.ticket, now);
        Some(held.answer)
    }

    /// When [`Self::due`] is to be asked again, if nothing changes before.
    pub(super) fn wake_at(&self) -> Option<Instant> {
        let answer = self.held.peek().filter(|_| self.frozen_since.is_none()).map(|next| next.0.ticket.due);
        let step = self.plan.front().map(|(at, _)| *at);
        answer.into_iter().chain(step).min()
    }

    pub(super) fn change(&mut self, change: Change, now: Instant) {
        match change {
            Change::Delay { operation, delay } => {
                self.delays[operation] = delay;
                let at_once = &mut self.at_once[operation];
                at_once.most = at_once.now;
            }
            Change::Freeze => {
                self.frozen_since.get_or_insert(now);
            }
            Change::Thaw => self.frozen_since = None,
            Change::Fail { operations } => {
                self.failing = PerOperation::from_fn(|operation| operations.contains(&operation));
            }
            Change::Heal => self.failing = PerOperation::default(),
        }
    }

    /// Takes the place of an earlier schedule; its moments count from now.
    pub(super) fn plan(&mut self, schedule: Schedule, now: Instant) {
        let moment = |step: ScheduledChange| {
            now.checked_add(Duration::from_millis(step.at_ms)).map(|moment| (moment, step.change))
        };
        self.plan = schedule.in_order().into_iter().filter_map(moment).collect();
    }

    /// A disk like any other: no delay, no failure, no freeze, no plans; and what it holds is due.
    pub(super) fn let_go(&mut self, now: Instant) {
        self.delays = PerOperation::default();
        self.failing = PerOperation::default();
        self.frozen_since = None;
        self.plan.clear();
        let held = std::mem::take(&mut self.held).into_vec();
        self.held = held
            .into_iter()
            .map(|Reverse(mut held)| {
                held.ticket.due = held.ticket.due.min(now);
                Reverse(held)
            })
            .collect();
    }

    pub(super) fn delays(&self) -> PerOperation<Delay> {
        self.delays
    }

    pub(super) fn failing(&self) -> Vec<Operation> {
        Operation::ALL.into_iter().filter(|operation| self.failing[*operation]).collect()
    }

    pub(super) fn frozen_for(&self, now: Instant) -> Option<Duration> {
        self.frozen_since.map(|since| now.saturating_duration_since(since))
    }

    pub(super) fn at_once(&self) -> PerOperation<AtOnce> {
        self.at_once
    }

    pub(super) fn times(&self) -> PerOperation<ServiceTimes> {
        self.times.times()
    }

    /// What the schedule still has, its moments counted from now.
    pub(super) fn to_come(&self, now: Instant) -> Schedule {
        self.plan.iter().fold(Schedule::new(), |schedule, (at, change)| {
            schedule.at(at.saturating_duration_since(now), change.clone())
        })
    }

    fn leave(&mut self, ticket: Ticket, now: Instant) {
        self.at_once[ticket.operation].now -= 1;
        self.times.record(ticket.operation, now.saturating_duration_since(ticket.arrived));
    }
}

/// An answer that waits for its time.
#[derive(Debug)]
struct Held<T> {
    ticket: Ticket,
    number: u64,
    answer: T,
}

impl<T> Held<T> {
    fn key(&self) -> (Instant, u64) {
        (self.ticket.due, self.number)
    }
}

impl<T> PartialEq for Held<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<T> Eq for Held<T> {}

impl<T> PartialOrd for Held<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Held<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk with a clock that goes when the test says so.
    struct Bench {
        disk: Behaviour<&'static str>,
        now: Instant,
    }

    impl Bench {
        fn new() -> Self {
            Self { disk: Behaviour::new(), now: Instant::now() }
        }

        fn delay(&mut self, operation: Operation, milliseconds: u64) {
            self.disk.change(Change::Delay { operation, delay: Delay::of(milliseconds) }, self.now);
        }

        /// A request that the device itself serves in no time.
        fn request(&mut self, operation: Operation, answer: &'static str) -> Option<&'static str> {
            let ticket = self.disk.arrive(operation, self.now);
            self.disk.answer(ticket, answer, self.now)
        }

        /// What is answered when so much time has passed.
        fn after(&mut self, ms: u64) -> Vec<&'static str> {
            self.now += Duration::from_millis(ms);
            let now = self.now;
            std::iter::from_fn(|| self.disk.due(now)).collect()
        }

        fn wakes_in(&self) -> Option<u128> {
            self.disk.wake_at().map(|at| at.saturating_duration_since(self.now).as_millis())
        }
    }

    #[test]
    fn a_disk_that_nobody_disturbs_answers_at_once() {
        let mut bench = Bench::new();
        for operation in Operation::ALL {
            assert_eq!(bench.request(operation, "done"), Some("done"));
        }
        assert_eq!(bench.wakes_in(), None);
    }

    #[test]
    fn delayed_requests_wait_side_by_side_and_only_those_of_their_kind() {
        let mut bench = Bench::new();
        bench.delay(Operation::Read, 100);
        for _ in 0..64 {
            assert_eq!(bench.request(Operation::Read, "read"), None);
        }
        assert_eq!(bench.request(Operation::Write, "written"), Some("written"));
        assert_eq!(bench.disk.at_once().read, AtOnce { now: 64, most: 64 });
        assert_eq!(bench.wakes_in(), Some(100));
        assert!(bench.after(99).is_empty());
        assert_eq!(bench.after(1).len(), 64);
        assert_eq!(bench.disk.at_once().read, AtOnce { now: 0, most: 64 });
        assert_eq!(bench.disk.times().read.count(), 64);
    }

    #[test]
    fn what_comes_later_and_is_delayed_less_overtakes() {
        let mut bench = Bench::new();
        bench.delay(Operation::Write, 100);
        bench.request(Operation::Write, "slow");
        bench.delay(Operation::Write, 10);
        bench.request(Operation::Write, "quick");
        bench.request(Operation::Write, "quick too");
        assert_eq!(bench.after(10), ["quick", "quick too"]);
        assert_eq!(bench.after(90), ["slow"]);
    }

    #[test]
    fn a_freeze_holds_everything_and_a_thaw_lets_go_at_once() {
        let mut bench = Bench::new();
        bench.delay(Operation::Read, 100);
        bench.request(Operation::Read, "before");
        bench.disk.change(Change::Freeze, bench.now);
        assert_eq!(bench.request(Operation::Write, "during"), None);
        assert_eq!(bench.wakes_in(), None);
        assert!(bench.after(3_000).is_empty());
        assert_eq!(bench.disk.frozen_for(bench.now), Some(Duration::from_secs(3)));

        bench.request(Operation::Read, "late");
        bench.disk.change(Change::Thaw, bench.now);
        assert_eq!(bench.after(0), ["during", "before"]);
        assert_eq!(bench.after(100), ["late"]);
        assert_eq!(bench.disk.times().write.quantile_us(1.0).map(|us| us / 100_000), Some(30));
    }

    #[test]
    fn a_second_freeze_changes_nothing() {
        let mut bench = Bench::new();
        bench.disk.change(Change::Freeze, bench.now);
        bench.after(500);
        bench.disk.change(Change::Freeze, bench.now);
        assert_eq!(bench.disk.frozen_for(bench.now), Some(Duration::from_millis(500)));
    }

    #[test]
    fn only_what_is_to_fail_fails_until_the_disk_is_healed() {
        let mut bench = Bench::new();
        let fails = |bench: &mut Bench| {
            Operation::ALL.map(|operation| {
                let ticket = bench.disk.arrive(operation, bench.now);
                bench.disk.answer(ticket, "", bench.now);
                ticket.fails
            })
        };
        assert_eq!(fails(&mut bench), [false; 3]);
        bench.disk.change(Change::Fail { operations: vec![Operation::Write, Operation::Flush] }, bench.now);
        assert_eq!(fails(&mut bench), [false, true, true]);
        assert_eq!(bench.disk.failing(), [Operation::Write, Operation::Flush]);
        bench.disk.change(Change::Heal, bench.now);
        assert_eq!(fails(&mut bench), [false; 3]);
    }

    #[test]
    fn a_schedule_comes_true_step_by_step() {
        let mut bench = Bench::new();
        let schedule = Schedule::new()
            .at(Duration::from_secs(1), Change::Freeze)
            .at(Duration::from_secs(4), Change::Thaw);
        bench.disk.plan(schedule, bench.now);
        assert_eq!(bench.wakes_in(), Some(1_000));
        bench.after(1_000);
        assert_eq!(bench.request(Operation::Flush, "flushed"), None);
        assert_eq!(bench.wakes_in(), Some(3_000));
        assert_eq!(bench.disk.to_come(bench.now).in_order().len(), 1);
        assert_eq!(bench.after(3_000), ["flushed"]);
        assert_eq!(bench.wakes_in(), None);
    }

    #[test]
    fn a_new_schedule_takes_the_place_of_the_old() {
        let mut bench = Bench::new();
        bench.disk.plan(Schedule::new().at(Duration::from_secs(1), Change::Freeze), bench.now);
        bench.disk.plan(Schedule::new(), bench.now);
        bench.after(2_000);
        assert_eq!(bench.disk.frozen_for(bench.now), None);
    }

    #[test]
    fn a_disk_that_is_let_go_holds_nothing_back() {
        let mut bench = Bench::new();
        bench.delay(Operation::Read, 60_000);
        bench.request(Operation::Read, "read");
        bench.disk.change(Change::Freeze, bench.now);
        bench.disk.plan(Schedule::new().at(Duration::ZERO, Change::Freeze), bench.now);
        bench.disk.let_go(bench.now);
        assert_eq!(bench.after(0), ["read"]);
        assert_eq!(bench.request(Operation::Read, "again"), Some("again"));
        assert_eq!(bench.wakes_in(), None);
    }

    #[test]
    fn the_most_at_once_is_counted_anew_when_the_delay_changes() {
        let mut bench = Bench::new();
        bench.delay(Operation::Read, 100);
        bench.request(Operation::Read, "one");
        bench.request(Operation::Read, "two");
        bench.after(100);
        bench.delay(Operation::Read, 50);
        assert_eq!(bench.disk.at_once().read, AtOnce { now: 0, most: 0 });
    }
}
