//! When things are to happen: at fixed distances, shared by several who take turns.
//!
//! What always holds: a due time depends on its number and on nothing else. A taker that is late
//! finds all the times that have passed.

use std::time::Duration;

use aplomb_model::Instant;

/// The times of one of several takers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    begin: Instant,
    end: Instant,
    /// Events a second, all takers together.
    rate: u64,
    takers: u64,
    taker: u64,
    next: u64,
}

impl Schedule {
    /// The times of taker number `taker` of `takers`, who together have `rate` a second from
    /// `begin` until `length` later.
    pub(crate) fn new(begin: Instant, length: Duration, rate: u64, taker: usize, takers: usize) -> Self {
        Self { begin, end: begin + length, rate, takers: takers as u64, taker: taker as u64, next: 0 }
    }

    /// The next due time that has not been taken; `None` after the end.
    pub(crate) fn peek(&self) -> Option<Instant> {
        self.ahead(0)
    }

    /// The due time `steps` after that.
    pub(crate) fn ahead(&self, steps: u64) -> Option<Instant> {
        let number = u128::from(self.next + steps) * u128::from(self.takers) + u128::from(self.taker);
        let nanos = u64::try_from(number * 1_000_000_000 / u128::from(self.rate)).ok()?;
        let due = self.begin + Duration::from_nanos(nanos);
        (due < self.end).then_some(due)
    }

    /// Takes the next time, if it has come.
    pub(crate) fn take(&mut self, now: Instant) -> Option<Instant> {
        let due = self.peek().filter(|due| *due <= now)?;
        self.next += 1;
        Some(due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: Instant = Instant::from_nanos(1_000);

    fn all(schedule: &mut Schedule) -> Vec<u64> {
        let far = Instant::from_nanos(u64::MAX);
        std::iter::from_fn(|| schedule.take(far)).map(|due| due.since(BEGIN).as_nanos() as u64).collect()
    }

    #[test]
    fn takers_share_the_rate_and_meet_nowhere() {
        for (rate, takers) in [(7, 1), (1000, 3), (3, 5), (999, 4)] {
            let mut times: Vec<u64> = (0..takers)
                .flat_map(|taker| {
                    let mut schedule = Schedule::new(BEGIN, Duration::from_secs(2), rate, taker, takers);
                    all(&mut schedule)
                })
                .collect();
            times.sort_unstable();
            let expected: Vec<u64> = (0..2 * rate).map(|n| n * 1_000_000_000 / rate).collect();
            assert_eq!(times, expected);
        }
    }

    #[test]
    fn who_is_late_finds_every_time_that_has_passed() {
        let mut schedule = Schedule::new(BEGIN, Duration::from_secs(10), 10, 0, 1);
        assert_eq!(schedule.take(Instant::from_nanos(999)), None);
        let late = BEGIN + Duration::from_secs(5);
        let mut taken = Vec::new();
        while let Some(due) = schedule.take(late) {
            taken.push(late.since(due).as_millis());
        }
        assert_eq!(taken, (0..=50).rev().map(|n| n * 100).collect::<Vec<u128>>());
    }
}
