//! Where the parts of a run begin and end, from the beginning of measuring on.

use std::ops::Range;
use std::time::Duration;

use super::Plan;
use crate::record::{Phase, PhaseName};

/// Where the parts of a run begin and end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) disturbed: Duration,
    pub(super) calmed: Duration,
    pub(super) end: Duration,
}

impl Bounds {
    pub(super) fn new(plan: Plan) -> Self {
        Self { disturbed: plan.calm, calmed: plan.calm + plan.during, end: plan.length() }
    }

    pub(super) fn of(self, phase: PhaseName) -> Range<Duration> {
        match phase {
            PhaseName::Calm => Duration::ZERO..self.disturbed,
            PhaseName::During => self.disturbed..self.calmed,
            PhaseName::After => self.calmed..self.end,
        }
    }

    /// Parts are whole seconds long.
    pub(super) fn seconds(self, phase: PhaseName) -> Range<usize> {
        let Range { start, end } = self.of(phase);
        start.as_secs() as usize..end.as_secs() as usize
    }

    pub(super) fn phase_of(self, second: usize) -> PhaseName {
        let all = [PhaseName::Calm, PhaseName::During];
        all.into_iter().find(|phase| second < self.seconds(*phase).end).unwrap_or(PhaseName::After)
    }

    pub(super) fn phases(self, disturbance: &str) -> Vec<Phase> {
        [PhaseName::Calm, PhaseName::During, PhaseName::After]
            .map(|name| {
                let Range { start, end } = self.of(name);
                let disturbance = if name == PhaseName::During { disturbance } else { "" };
                let ms = |time: Duration| time.as_secs_f64() * 1e3;
                Phase { name, from_ms: ms(start), to_ms: ms(end), disturbance: disturbance.to_owned() }
            })
            .into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_belong_to_the_part_in_which_they_begin() {
        let bounds = Bounds::new(Plan::SHORT);
        let of = |second| bounds.phase_of(second);
        assert_eq!(
            (of(0), of(1), of(2), of(9)),
            (PhaseName::Calm, PhaseName::Calm, PhaseName::During, PhaseName::During)
        );
        assert_eq!((of(10), of(99)), (PhaseName::After, PhaseName::After));
        let phases = bounds.phases("slow");
        assert_eq!(
            (phases[1].from_ms, phases[1].to_ms, phases[1].disturbance.as_str()),
            (2_000.0, 10_000.0, "slow")
        );
    }
}
