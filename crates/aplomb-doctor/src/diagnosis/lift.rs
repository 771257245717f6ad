//! Whether two things that were seen at the same time belong together, or were there all the time.
//!
//! A wait whose holder is known needs none of this. Where a profiler's samples or background
//! threads only show what went on meanwhile, the question is how much oftener that was so than it
//! would be by chance.

use super::evidence::Waits;
use super::finding::percent;
use super::spans::Spans;
use crate::recording::Wait;

/// What is so much oftener there in slow moments than in calm ones belongs to them.
const ENOUGH: f64 = 2.0;
/// Of fewer waits there is no telling.
const LEAST_WAITS: usize = 10;
/// By chance is what comes out if holders' waits are moved by so much, each way.
const SHIFTS_MS: std::ops::RangeInclusive<u32> = 1..=10;
const SHIFT_MS: f64 = 800.0;

/// How much of the slow time and of the calm time something was there, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lift {
    slow: f64,
    calm: f64,
}

impl Lift {
    /// Of `ground` in the moments in which a cause was `felt`, against those in which nothing was
    /// `slow`; `None` where one of them is too short to tell.
    pub(super) fn of(ground: &Spans, felt: &Spans, slow: &Spans, whole: &Spans, least: f64) -> Option<Self> {
        let calm = whole.without(slow);
        let long = |spans: &Spans| spans.total_ms() > least * whole.total_ms();
        let told = !ground.is_empty() && !felt.is_empty() && long(&calm);
        told.then(|| Self { slow: felt.share_in(ground), calm: calm.share_in(ground) })
    }

    /// Whether it belongs to the slow moments.
    pub(super) fn is_enough(self) -> bool {
        self.slow >= ENOUGH * self.calm
    }

    /// For people.
    pub(super) fn said(self, what: &str) -> String {
        format!(
            "{what}: in {} of these moments, in {} of the calm ones",
            percent(self.slow),
            percent(self.calm)
        )
    }
}

/// How often waits end together with those of other threads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct EndsTogether {
    together: usize,
    by_chance: f64,
    all: usize,
}

impl EndsTogether {
    /// Of `waits` with `others`, which both are known to half of `interval_ms`.
    pub(super) fn of(waits: &Waits<'_>, others: &Waits<'_>, interval_ms: f64) -> Self {
        let mut ends: Vec<(f64, u32)> = others.waits().map(|wait| (wait.to_ms, wait.tid)).collect();
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        let near = interval_ms / 2.0;
        let together = |shift: f64| {
            let meets = |wait: &&Wait| {
                let at = wait.to_ms + shift;
                let first = ends.partition_point(|(end, _)| *end < at - near);
                ends[first..].iter().take_while(|(end, _)| *end <= at + near).any(|(_, tid)| *tid != wait.tid)
            };
            waits.waits().filter(meets).count()
        };
        let shifts = SHIFTS_MS.flat_map(|step| [f64::from(step) * SHIFT_MS, -f64::from(step) * SHIFT_MS]);
        let moved: Vec<usize> = shifts.map(together).collect();
        let by_chance = moved.iter().sum::<usize>() as f64 / moved.len() as f64;
        Self { together: together(0.0), by_chance, all: waits.waits().count() }
    }

    /// Whether they do so more often than by chance, and there are enough of them to tell.
    pub(super) fn is_enough(self) -> bool {
        self.all >= LEAST_WAITS && self.together as f64 >= ENOUGH * self.by_chance.max(1.0)
    }

    /// For people. Never that one holds the other: samples do not tell that.
    pub(super) fn said(self) -> String {
        format!("{} of {} end together, {:.0} would by chance", self.together, self.all, self.by_chance)
    }
}

#[cfg(test)]
mod tests {
    use super::super::evidence::Evidence;
    use super::super::story::{HANDLER, LENGTH_MS, NETWORK, Story};
    use super::super::verdict::Span;
    use super::*;
    use crate::recording::WaitClass;

    fn spans(times: &[(f64, f64)]) -> Spans {
        times.iter().map(|&(from_ms, to_ms)| Span { from_ms, to_ms }).collect()
    }

    #[test]
    fn what_is_always_there_does_not_belong_to_the_slow_moments() {
        let whole = spans(&[(0.0, 1_000.0)]);
        let felt = spans(&[(400.0, 500.0)]);
        let lift = |ground: &Spans| Lift::of(ground, &felt, &felt, &whole, 0.05).expect("there is calm time");
        assert!(!lift(&whole).is_enough());
        assert!(!lift(&spans(&[(0.0, 700.0)])).is_enough());
        assert!(lift(&felt).is_enough() && lift(&spans(&[(380.0, 900.0)])).is_enough());
        assert_eq!(
            lift(&spans(&[(400.0, 450.0), (900.0, 945.0)])).said("a sync"),
            "a sync: in 50 % of these moments, in 5 % of the calm ones"
        );
        assert_eq!(Lift::of(&whole, &whole, &whole, &whole, 0.05), None, "there is no calm time");
        assert_eq!(Lift::of(&Spans::default(), &felt, &felt, &whole, 0.05), None);
    }

    #[test]
    fn ends_that_meet_by_chance_are_no_evidence() {
        let ends = |story: &Story| {
            let evidence = Evidence::of(&story.0);
            let of = |tid| evidence.waits(move |seen| seen.thread.tid == tid);
            EndsTogether::of(&of(HANDLER), &of(NETWORK), 20.0)
        };
        // A second apart each: also moved by a second or two most would meet, but not by 0.8 s.
        let with = Story::of_kafka("xfs").waits(HANDLER, WaitClass::Other, 15, 200.0, "").waits(
            NETWORK,
            WaitClass::Page,
            15,
            205.0,
            "",
        );
        let found = ends(&with);
        assert_eq!((found.together, found.all), (15, 15));
        assert!(found.by_chance < 7.0 && found.is_enough(), "{found:?}");
        let without = Story::of_kafka("xfs").waits(HANDLER, WaitClass::Other, 15, 200.0, "").waits(
            NETWORK,
            WaitClass::Page,
            15,
            400.0,
            "",
        );
        assert!(!ends(&without).is_enough());
        let few = Story::of_kafka("xfs").waits(HANDLER, WaitClass::Other, 5, 200.0, "").waits(
            NETWORK,
            WaitClass::Page,
            5,
            200.0,
            "",
        );
        assert!(!ends(&few).is_enough(), "of five there is no telling");
        let mut busy = Story::of_kafka("xfs").waits(HANDLER, WaitClass::Other, 15, 200.0, "");
        let often = (LENGTH_MS / 25.0) as u32;
        busy = busy.waits(NETWORK, WaitClass::Page, often, 20.0, "");
        for (at, wait) in busy.0.waits.iter_mut().filter(|wait| wait.tid == NETWORK).enumerate() {
            (wait.from_ms, wait.to_ms) = (at as f64 * 25.0, at as f64 * 25.0 + 20.0);
        }
        assert!(!ends(&busy).is_enough(), "a reader that reads all the time ends with everything");
    }
}
