//! What a worker counts: latencies in all and by the second, errors by name.
//!
//! What always holds: a latency belongs to the second in which its record was due, so that a stall
//! stands where it happened and not where it ended. Times before the measured part begins are
//! warm-up and are counted as such only.

use std::collections::BTreeMap;
use std::time::Duration;

use aplomb_model::Instant;
use hdrhistogram::Histogram;

use crate::ledger::Acknowledged;

/// Latencies in microseconds, to three digits.
pub(crate) type Precise = Histogram<u64>;
/// Latencies in microseconds, to two digits: there is one a second.
pub(crate) type Coarse = Histogram<u32>;

/// The longest latency that is told from longer ones, in microseconds: an hour.
const LONGEST: u64 = 3_600_000_000;

/// Latencies of one kind.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) all: Precise,
    /// By the second since the measured part began.
    pub(crate) rows: Vec<Coarse>,
    /// How many lay in the warm-up.
    pub(crate) warm_up: u64,
}

/// What has happened since the last look, for progress lines.
#[derive(Clone, Debug)]
pub(crate) struct Live {
    pub(crate) acknowledged: u64,
    pub(crate) given_up: u64,
    pub(crate) received: u64,
    pub(crate) troubles: u64,
    pub(crate) latency: Coarse,
}

/// Everything that a worker counts.
#[derive(Clone, Debug)]
pub(crate) struct Stats {
    measured_from: Instant,
    /// From a record's due time to its acknowledgement, or until it was given up.
    pub(crate) produce: Series,
    /// From a record's due time to its arrival at a consumer.
    pub(crate) end_to_end: Series,
    /// From the time at which a fetch was due, or was sent if it had none, to its answer.
    pub(crate) fetch: Series,
    /// From the time at which a client wanted a turn to the turn, for turns of the schedule alone:
    /// the generator's own fault.
    pub(crate) lateness: Precise,
    /// Records and bytes of values that arrived, by the second of arrival.
    pub(crate) arrived: Vec<(u64, u64)>,
    /// Records acknowledged, by the second of the acknowledgement.
    pub(crate) acknowledged: Vec<u64>,
    /// Records that were given up, by the second in which they were due: (in all, of these those
    /// that have a latency).
    pub(crate) given_up: Vec<(u64, u64)>,
    /// What went wrong, by the second.
    pub(crate) troubles: Vec<u64>,
    /// What went wrong, by name. Most of it was survived.
    pub(crate) errors: BTreeMap<String, u64>,
    /// Records of the measured part that were given up.
    pub(crate) failed: u64,
    /// Of these, those that grew too old.
    pub(crate) expired: u64,
    /// Records of the measured part without an acknowledgement when the run ended.
    pub(crate) unanswered: u64,
    /// Records that arrived and are not of this run.
    pub(crate) foreign: u64,
    /// Batches that were sent again.
    pub(crate) retries: u64,
    /// Records acknowledged, those of the warm-up too.
    pub(crate) ever_acknowledged: u64,
    /// The same one by one, if the run has a ledger.
    pub(crate) ledger: Option<Vec<Acknowledged>>,
    live: Live,
}

impl Live {
    pub(crate) fn new() -> Self {
        Self { acknowledged: 0, given_up: 0, received: 0, troubles: 0, latency: coarse() }
    }

    /// Adds another worker's.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.acknowledged += other.acknowledged;
        self.given_up += other.given_up;
        self.received += other.received;
        self.troubles += other.troubles;
        add_up(&mut self.latency, &other.latency);
    }
}

impl Series {
    fn new() -> Self {
        Self { all: precise(), rows: Vec::new(), warm_up: 0 }
    }

    fn add(&mut self, measured_from: Instant, due: Instant, done: Instant) {
        if due < measured_from {
            self.warm_up += 1;
            return;
        }
        let micros = micros(done.since(due));
        self.all.saturating_record(micros);
        let second = second(measured_from, due);
        record(at(&mut self.rows, second, coarse), micros);
    }

    fn merge(&mut self, other: &Self) {
        add_up(&mut self.all, &other.all);
        for (second, row) in other.rows.iter().enumerate() {
            add_up(at(&mut self.rows, second, coarse), row);
        }
        self.warm_up += other.warm_up;
    }
}

impl Stats {
    /// Nothing yet. Until [`Self::begin`] everything is warm-up.
    pub(crate) fn new() -> Self {
        Self {
            measured_from: Instant::from_nanos(u64::MAX),
            produce: Series::new(),
            end_to_end: Series::new(),
            fetch: Series::new(),
            lateness: precise(),
            arrived: Vec::new(),
            acknowledged: Vec::new(),
            given_up: Vec::new(),
            troubles: Vec::new(),
            errors: BTreeMap::new(),
            failed: 0,
            expired: 0,
            unanswered: 0,
            foreign: 0,
            retries: 0,
            ever_acknowledged: 0,
            ledger: None,
            live: Live::new(),
        }
    }

    /// The same, with a ledger if it is wanted.
    pub(crate) fn with_ledger(wanted: bool) -> Self {
        Self { ledger: wanted.then(Vec::new), ..Self::new() }
    }

    /// Says when the measured part begins.
    pub(crate) fn begin(&mut self, measured_from: Instant) {
        self.measured_from = measured_from;
    }

    /// The second that `now` is in; `None` before the measured part.
    pub(crate) fn second(&self, now: Instant) -> Option<usize> {
        (now >= self.measured_from).then(|| second(self.measured_from, now))
    }

    pub(crate) fn acknowledged(&mut self, due: &[Instant], now: Instant) {
        for due in due {
            self.produce.add(self.measured_from, *due, now);
            record(&mut self.live.latency, micros(now.since(*due)));
        }
        if let Some(ledger) = &mut self.ledger {
            let at_us = signed_micros(self.measured_from, now);
            ledger.extend(due.iter().map(|due| Acknowledged { due: *due, at_us }));
        }
        self.ever_acknowledged += due.len() as u64;
        self.live.acknowledged += due.len() as u64;
        if let Some(second) = self.second(now) {
            *at(&mut self.acknowledged, second, || 0) += due.len() as u64;
        }
    }

    /// Records were refused for good. What is no fault of time has no latency.
    pub(crate) fn refused(&mut self, due: &[Instant]) {
        self.failed += self.measured(due);
        for due in due {
            self.give_up(*due, false);
        }
        self.live.given_up += due.len() as u64;
    }

    /// Records were given up because of their age, which is in the latencies: it would have been
    /// longer still.
    pub(crate) fn expired(&mut self, due: &[Instant], now: Instant) {
        let measured = self.measured(due);
        self.failed += measured;
        self.expired += measured;
        self.live.given_up += due.len() as u64;
        for due in due {
            self.give_up(*due, true);
            self.produce.add(self.measured_from, *due, now);
        }
    }

    /// The run has ended without an answer for this record; its age is in the latencies.
    pub(crate) fn unanswered(&mut self, due: Instant, now: Instant) {
        self.unanswered += self.measured(&[due]);
        self.give_up(due, true);
        self.produce.add(self.measured_from, due, now);
    }

    /// A client wanted a turn at `wanted` and has it now. What lies before the measured part does
    /// not count.
    pub(crate) fn came_late(&mut self, wanted: Instant, now: Instant) {
        if wanted >= self.measured_from {
            self.lateness.saturating_record(micros(now.since(wanted)));
        }
    }

    pub(crate) fn arrived(&mut self, due: Instant, now: Instant) {
        self.end_to_end.add(self.measured_from, due, now);
    }

    pub(crate) fn received(&mut self, records: u64, bytes: u64, now: Instant) {
        self.live.received += records;
        if let Some(second) = self.second(now) {
            let row = at(&mut self.arrived, second, || (0, 0));
            *row = (row.0 + records, row.1 + bytes);
        }
    }

    pub(crate) fn fetched(&mut self, due: Instant, now: Instant) {
        self.fetch.add(self.measured_from, due, now);
    }

    pub(crate) fn trouble(&mut self, name: &str, now: Instant) {
        self.live.troubles += 1;
        match self.errors.get_mut(name) {
            Some(count) => *count += 1,
            None => drop(self.errors.insert(name.to_owned(), 1)),
        }
        if let Some(second) = self.second(now) {
            *at(&mut self.troubles, second, || 0) += 1;
        }
    }

    /// What has happened since the last call.
    pub(crate) fn take_live(&mut self) -> Live {
        std::mem::replace(&mut self.live, Live::new())
    }

    fn give_up(&mut self, due: Instant, with_latency: bool) {
        if let Some(second) = self.second(due) {
            let row = at(&mut self.given_up, second, || (0, 0));
            *row = (row.0 + 1, row.1 + u64::from(with_latency));
        }
    }

    fn measured(&self, due: &[Instant]) -> u64 {
        due.iter().filter(|due| **due >= self.measured_from).count() as u64
    }

    /// Adds another worker's.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.produce.merge(&other.produce);
        self.end_to_end.merge(&other.end_to_end);
        self.fetch.merge(&other.fetch);
        add_up(&mut self.lateness, &other.lateness);
        for (second, (records, bytes)) in other.arrived.iter().enumerate() {
            let row = at(&mut self.arrived, second, || (0, 0));
            *row = (row.0 + records, row.1 + bytes);
        }
        for (second, (all, with_latency)) in other.given_up.iter().enumerate() {
            let row = at(&mut self.given_up, second, || (0, 0));
            *row = (row.0 + all, row.1 + with_latency);
        }
        for (mine, theirs) in
            [(&mut self.acknowledged, &other.acknowledged), (&mut self.troubles, &other.troubles)]
        {
            for (second, count) in theirs.iter().enumerate() {
                *at(mine, second, || 0) += count;
            }
        }
        for (name, count) in &other.errors {
            *self.errors.entry(name.clone()).or_default() += count;
        }
        self.failed += other.failed;
        self.expired += other.expired;
        self.unanswered += other.unanswered;
        self.foreign += other.foreign;
        self.retries += other.retries;
        self.ever_acknowledged += other.ever_acknowledged;
        if let (Some(mine), Some(theirs)) = (&mut self.ledger, &other.ledger) {
            mine.extend(theirs);
        }
    }
}

pub(crate) fn precise() -> Precise {
    let mut histogram = Histogram::new_with_bounds(1, LONGEST, 3).expect("the bounds are in order");
    histogram.auto(false);
    histogram
}

pub(crate) fn coarse() -> Coarse {
    let mut histogram = Histogram::new(2).expect("two digits are few enough");
    histogram.auto(true);
    histogram
}

/// Grows the histogram if need be, which its own saturating call would not.
fn record(histogram: &mut Coarse, micros: u64) {
    histogram.record(micros).expect("a histogram that grows takes any value");
}

fn add_up<C: hdrhistogram::Counter>(into: &mut Histogram<C>, other: &Histogram<C>) {
    into.add(other).expect("histograms of one kind have one range");
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_nanos().div_ceil(1_000)).unwrap_or(LONGEST).clamp(1, LONGEST)
}

/// From one moment to another, which may lie before it.
fn signed_micros(from: Instant, to: Instant) -> i64 {
    let micros = |time: Duration| i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
    if to >= from { micros(to.since(from)) } else { -micros(from.since(to)) }
}

fn second(from: Instant, moment: Instant) -> usize {
    usize::try_from(moment.since(from).as_secs()).unwrap_or(usize::MAX)
}

/// The element at `place`, with whatever was missing up to there.
fn at<T>(list: &mut Vec<T>, place: usize, new: impl Fn() -> T) -> &mut T {
    if place >= list.len() {
        list.resize_with(place + 1, new);
    }
    &mut list[place]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(at: u64) -> Instant {
        Instant::from_nanos(at * 1_000_000)
    }

    #[test]
    fn a_stall_stands_in_the_second_in_which_records_were_due() {
        let mut stats = Stats::new();
        stats.begin(ms(1_000));
        stats.acknowledged(&[ms(500)], ms(4_000));
        stats.acknowledged(&[ms(1_100), ms(2_500)], ms(4_100));
        assert_eq!(stats.produce.warm_up, 1);
        assert_eq!(stats.produce.all.len(), 2);
        assert_eq!(stats.produce.rows.iter().map(Coarse::len).collect::<Vec<_>>(), [1, 1]);
        assert!(stats.produce.rows[0].max() >= 2_990_000);
        assert_eq!(stats.acknowledged, [0, 0, 0, 3], "all of them came in the fourth");
    }

    #[test]
    fn a_ledger_has_every_acknowledgement_by_when_it_came() {
        let mut stats = Stats::with_ledger(true);
        stats.begin(ms(1_000));
        stats.acknowledged(&[ms(500)], ms(900));
        let mut others = Stats::with_ledger(true);
        others.begin(ms(1_000));
        others.acknowledged(&[ms(1_100), ms(1_200)], ms(1_300));
        stats.merge(&others);
        let entry = |due, at_us| Acknowledged { due: ms(due), at_us };
        let all = [entry(500, -100_000), entry(1_100, 300_000), entry(1_200, 300_000)];
        assert_eq!(stats.ledger.as_deref(), Some(&all[..]));
    }

    #[test]
    fn what_is_given_up_for_its_age_is_a_latency_and_what_is_refused_is_none() {
        let mut stats = Stats::new();
        stats.begin(ms(0));
        stats.refused(&[ms(1)]);
        stats.expired(&[ms(1)], ms(30_001));
        stats.unanswered(ms(1), ms(60_001));
        assert_eq!((stats.failed, stats.unanswered, stats.produce.all.len()), (2, 1, 2));
        assert_eq!(stats.given_up, [(3, 2)]);
        assert!(stats.produce.all.max() >= 59_900_000);
    }

    #[test]
    fn two_workers_make_one_report() {
        let mut one = Stats::new();
        one.begin(ms(0));
        let mut two = one.clone();
        one.acknowledged(&[ms(0)], ms(10));
        two.acknowledged(&[ms(1_000), ms(1_001)], ms(1_010));
        two.trouble("disconnected", ms(1_500));
        one.merge(&two);
        assert_eq!(one.produce.all.len(), 3);
        assert_eq!((one.acknowledged.clone(), one.troubles.clone()), (vec![1, 2], vec![0, 1]));
        assert_eq!(one.errors["disconnected"], 1);
    }
}
