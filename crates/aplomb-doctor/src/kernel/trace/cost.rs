//! When tracing gives way.
//!
//! What always holds: what programs cost is measured by the kernel, in samples; above half of the
//! doctor's budget less is told; above all of it in two samples, or above twice of it in one, they
//! are taken off. Nothing here measures.

use std::time::Duration;

/// Waits of at least this are told.
pub(super) const LOWEST: Duration = Duration::from_millis(5);
/// And where there are too many, of this.
const HIGHEST: Duration = Duration::from_millis(80);
/// Share of one processor above which less is told.
const MUCH: f64 = 0.01;
/// Below this, more again.
const LITTLE: f64 = 0.004;
/// Records a second: each costs the watching thread some microseconds.
const MANY: f64 = 2_000.0;
const FEW: f64 = 400.0;

/// Decides from what was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Governor {
    threshold: Duration,
    highest: Duration,
    /// The last sample was above the budget.
    was_above: bool,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// All is well.
    GoOn,
    /// Waits from this on are told.
    Tell(Duration),
    /// It is too dear.
    GiveUp,
}

impl Governor {
    pub(super) const fn new() -> Self {
        Self { threshold: LOWEST, highest: LOWEST, was_above: false }
    }

    /// Programs took this share of one processor, by the last sample, and so many records came in
    /// a second; `most` is what they may take at all.
    pub(super) fn decide(&mut self, share: f64, records: f64, most: f64) -> Decision {
        let is_much = share > MUCH || records > MANY;
        let is_above = share > most;
        let was_above = std::mem::replace(&mut self.was_above, is_above);
        if share > 2.0 * most || (is_above && was_above) || (is_much && self.threshold >= HIGHEST) {
            return Decision::GiveUp;
        }
        let threshold = if is_much {
            self.threshold * 2
        } else if share < LITTLE && records < FEW && self.threshold > LOWEST {
            self.threshold / 2
        } else {
            return Decision::GoOn;
        };
        self.threshold = threshold.clamp(LOWEST, HIGHEST);
        self.highest = self.highest.max(self.threshold);
        Decision::Tell(self.threshold)
    }

    /// The highest threshold that there was.
    pub(super) const fn highest(&self) -> Duration {
        self.highest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: f64 = 0.02;

    #[test]
    fn it_tells_less_where_it_costs_much_and_more_again_later() {
        let mut governor = Governor::new();
        assert_eq!(governor.decide(0.003, 10.0, MOST), Decision::GoOn);
        assert_eq!(governor.decide(0.012, 10.0, MOST), Decision::Tell(LOWEST * 2));
        assert_eq!(governor.decide(0.006, 3_000.0, MOST), Decision::Tell(LOWEST * 4));
        assert_eq!(governor.decide(0.006, 1_000.0, MOST), Decision::GoOn);
        assert_eq!(governor.decide(0.003, 10.0, MOST), Decision::Tell(LOWEST * 2));
        assert_eq!(governor.decide(0.003, 10.0, MOST), Decision::Tell(LOWEST));
        assert_eq!(governor.decide(0.003, 10.0, MOST), Decision::GoOn);
        assert_eq!(governor.highest(), LOWEST * 4);
    }

    #[test]
    fn it_ends_above_its_budget_and_where_telling_less_does_not_help() {
        assert_eq!(Governor::new().decide(0.041, 0.0, MOST), Decision::GiveUp);
        let mut governor = Governor::new();
        assert_eq!(governor.decide(0.021, 0.0, MOST), Decision::Tell(LOWEST * 2), "once may be chance");
        assert_eq!(governor.decide(0.001, 0.0, MOST), Decision::Tell(LOWEST));
        assert_eq!(governor.decide(0.021, 0.0, MOST), Decision::Tell(LOWEST * 2));
        assert_eq!(governor.decide(0.021, 0.0, MOST), Decision::GiveUp);
        let mut governor = Governor::new();
        let decided = |governor: &mut Governor| governor.decide(0.015, 0.0, MOST);
        for _ in 0..4 {
            assert!(matches!(decided(&mut governor), Decision::Tell(_)));
        }
        assert_eq!(decided(&mut governor), Decision::GiveUp);
    }
}
