//! How much longer an operation takes than it has to.

use std::fmt;
use std::time::Duration;

use aplomb_model::SplitMix64;
use serde::{Deserialize, Serialize};

/// What is added to the time that requests of one kind take. They wait side by side, not in a line:
/// 64 reads at once that are delayed by 100 ms take 100 ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delay {
    /// What is added to each operation.
    pub milliseconds: u64,
    /// A delay is up to this much shorter or longer, in milliseconds, equally likely anywhere
    /// between; never below nothing.
    #[serde(default)]
    pub jitter_milliseconds: u64,
    /// 1 delays every request; 10 every tenth, and the others are not delayed. 0 is taken as 1.
    #[serde(default = "every_one")]
    pub every_nth: u64,
}

fn every_one() -> u64 {
    1
}

impl Delay {
    /// As fast as it goes.
    pub const NONE: Self = Self::of(0);

    /// Every request takes so many milliseconds longer.
    pub const fn of(milliseconds: u64) -> Self {
        Self { milliseconds, jitter_milliseconds: 0, every_nth: 1 }
    }

    /// Whether nothing is delayed.
    pub fn is_none(&self) -> bool {
        self.milliseconds == 0 && self.jitter_milliseconds == 0
    }

    /// The delay of the request that comes after `before` others of its kind.
    pub(super) fn of_request(&self, before: u64, dice: &mut SplitMix64) -> Duration {
        if self.is_none() || !(before + 1).is_multiple_of(self.every_nth.max(1)) {
            return Duration::ZERO;
        }
        let (middle, jitter) =
            (Duration::from_millis(self.milliseconds), Duration::from_millis(self.jitter_milliseconds));
        if jitter.is_zero() {
            return middle;
        }
        (middle + dice.duration(Duration::ZERO..jitter * 2)).saturating_sub(jitter)
    }
}

impl Default for Delay {
    fn default() -> Self {
        Self::NONE
    }
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_none() {
            return f.write_str("none");
        }
        write!(f, "{} ms", self.milliseconds)?;
        if self.jitter_milliseconds > 0 {
            write!(f, " ± {} ms", self.jitter_milliseconds)?;
        }
        if self.every_nth > 1 { write!(f, ", one in {}", self.every_nth) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delays(delay: Delay, requests: u64) -> Vec<u128> {
        let mut dice = SplitMix64::new(7);
        (0..requests).map(|before| delay.of_request(before, &mut dice).as_millis()).collect()
    }

    #[test]
    fn every_request_is_delayed_or_every_nth() {
        assert_eq!(delays(Delay::of(20), 3), [20, 20, 20]);
        assert_eq!(delays(Delay { every_nth: 3, ..Delay::of(20) }, 7), [0, 0, 20, 0, 0, 20, 0]);
        assert_eq!(delays(Delay { every_nth: 0, ..Delay::of(20) }, 2), [20, 20]);
        assert_eq!(delays(Delay::NONE, 2), [0, 0]);
    }

    #[test]
    fn jitter_goes_both_ways_and_never_below_nothing() {
        let around = delays(Delay { jitter_milliseconds: 5, ..Delay::of(20) }, 1_000);
        assert!(around.iter().all(|ms| (15..=25).contains(ms)));
        assert!(around.iter().any(|ms| *ms < 17) && around.iter().any(|ms| *ms > 23));
        let low = delays(Delay { jitter_milliseconds: 50, ..Delay::of(0) }, 1_000);
        assert!(low.contains(&0) && low.iter().all(|ms| *ms <= 50));
    }

    #[test]
    fn a_delay_is_said_in_words() {
        assert_eq!(Delay::NONE.to_string(), "none");
        assert_eq!(Delay::of(20).to_string(), "20 ms");
        let all = Delay { milliseconds: 20, jitter_milliseconds: 5, every_nth: 10 };
        assert_eq!(all.to_string(), "20 ms ± 5 ms, one in 10");
    }

    #[test]
    fn what_a_delay_leaves_out_is_usual() {
        let read: Delay = serde_json::from_str(r#"{"milliseconds": 3}"#).expect("the rest has defaults");
        assert_eq!(read, Delay::of(3));
    }
}
