//! How fast something moves, seen now and then.

use std::time::Duration;

use aplomb_model::Instant;

/// Over which time a pace is judged, at least.
const WINDOW: Duration = Duration::from_secs(3);

/// A counter, as it was some seconds ago.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    since: Instant,
    moved: u64,
    slow: bool,
}

impl Pace {
    /// From now on, the counter being at `moved`.
    pub(crate) fn from(now: Instant, moved: u64) -> Self {
        Self { since: now, moved, slow: false }
    }

    /// Looks at the counter. Whether it made less than `rate` a second, when that was judged last.
    pub(crate) fn is_below(&mut self, rate: u64, now: Instant, moved: u64) -> bool {
        let elapsed = now.since(self.since);
        if elapsed >= WINDOW {
            let expected = u128::from(rate) * elapsed.as_millis() / 1000;
            *self = Self { since: now, moved, slow: u128::from(moved - self.moved) < expected };
        }
        self.slow
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_is_judged_by_what_moved_in_the_last_seconds() {
        let at = |millis| Instant::START + Duration::from_millis(millis);
        let mut pace = Pace::from(at(0), 1_000_000);
        assert!(!pace.is_below(100, at(2999), 1_000_000), "it is too soon to say");
        assert!(pace.is_below(100, at(3000), 1_000_299));
        assert!(pace.is_below(100, at(5000), 2_000_000), "that is not judged yet");
        assert!(!pace.is_below(100, at(6000), 2_000_000));
        assert!(!Pace::from(at(0), 0).is_below(0, at(9000), 0), "a floor of nothing");
    }
}
