//! When members do what they do at intervals: spread over the interval, so that however many there
//! are, they never come all at once because they joined at once.
//!
//! What always holds: a member keeps its phase, whatever happens to it in between.

use std::time::Duration;

use aplomb_model::Instant;

/// The golden ratio without its one: multiples of it fill a circle evenly, however many there are,
/// and those that follow each other lie far apart.
const GOLDEN: f64 = 0.618_033_988_749_895;
/// How far apart a member's heartbeats and its commits begin.
const HALF: f64 = 0.5;

/// The share of an interval at which a member commits first.
pub(super) fn of_commits(seat: usize) -> f64 {
    (seat as f64 * GOLDEN).fract()
}

/// The share at which it heartbeats.
pub(super) fn of_heartbeats(seat: usize) -> f64 {
    (of_commits(seat) + HALF).fract()
}

/// The first moment behind `now` that is a whole number of intervals and `phase` of one from the
/// start.
pub(super) fn next(phase: f64, interval: Duration, now: Instant) -> Instant {
    let first = Instant::START + interval.mul_f64(phase);
    if now < first {
        return first;
    }
    let whole = now.since(first).as_nanos() / interval.as_nanos().max(1);
    first + interval * u32::try_from(whole + 1).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_secs(3);

    #[test]
    fn members_of_many_groups_are_spread_evenly_and_those_of_one_too() {
        for seats in [0..10_000, 0..10, 5_000..5_010] {
            let mut phases: Vec<f64> = seats.map(of_heartbeats).collect();
            phases.sort_by(f64::total_cmp);
            let even = 1.0 / phases.len() as f64;
            let around = phases.first().expect("some") + 1.0 - phases.last().expect("some");
            let apart = phases.windows(2).map(|pair| pair[1] - pair[0]).chain([around]);
            assert!(apart.into_iter().all(|apart| apart < 2.7 * even && apart > 0.3 * even));
        }
    }

    #[test]
    fn a_beat_comes_within_an_interval_and_the_next_an_interval_later() {
        let mut now = Instant::START + Duration::from_millis(12_345);
        let first = next(0.25, INTERVAL, now);
        assert_eq!(first, Instant::START + Duration::from_millis(12_750));
        for beat in 1..5 {
            now = next(0.25, INTERVAL, if beat == 1 { first } else { now });
            assert_eq!(now, first + INTERVAL * beat);
        }
        assert_eq!(next(0.25, INTERVAL, Instant::START), Instant::START + Duration::from_millis(750));
    }

    #[test]
    fn who_was_held_up_is_back_in_its_phase_with_the_next_beat() {
        let late = Instant::START + Duration::from_millis(4_100);
        assert_eq!(next(0.0, INTERVAL, late), Instant::START + 2 * INTERVAL);
    }
}
