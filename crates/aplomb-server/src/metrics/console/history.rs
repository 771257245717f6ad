//! The last hour in steps: numbers by name, each step with all of them.
//!
//! What always holds: there are [`STEPS`] at most, of as many numbers as there are names, which are
//! known from the beginning.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// How long a step is.
pub(super) const STEP: Duration = Duration::from_secs(5);

/// An hour.
const STEPS: usize = 720;

/// What was measured.
#[derive(Debug)]
pub(super) struct History {
    names: Vec<String>,
    steps: VecDeque<Step>,
    /// How many there ever were.
    next: u64,
}

#[derive(Debug)]
struct Step {
    /// When it ended, in seconds since 1970.
    at: i64,
    /// In the order of the names; NaN where there was nothing to measure.
    values: Box<[f32]>,
}

/// Some of the steps: the number of the first, when each ended, and what was measured.
#[derive(Debug)]
pub(super) struct Excerpt<'a> {
    pub(super) first: u64,
    pub(super) times: Vec<i64>,
    pub(super) series: BTreeMap<&'a str, Vec<f32>>,
}

impl History {
    pub(super) fn new(names: Vec<String>) -> Self {
        Self { names, steps: VecDeque::new(), next: 0 }
    }

    /// Adds a step that ended at `at`.
    pub(super) fn push(&mut self, at: i64, values: Vec<f32>) {
        assert_eq!(values.len(), self.names.len(), "each name has a value");
        if self.steps.len() == STEPS {
            self.steps.pop_front();
        }
        // What is shown has no more digits.
        let values = values.into_iter().map(|value| (value * 1000.0).round() / 1000.0).collect();
        self.steps.push_back(Step { at, values });
        self.next += 1;
    }

    /// The steps from a number on, or all where there is none of that number.
    pub(super) fn since(&self, from: u64) -> Excerpt<'_> {
        let oldest = self.next - self.steps.len() as u64;
        let first = if (oldest..=self.next).contains(&from) { from } else { oldest };
        let steps = || self.steps.iter().skip((first - oldest) as usize);
        let names = self.names.iter().enumerate();
        let series = names.map(|(n, name)| (name.as_str(), steps().map(|step| step.values[n]).collect()));
        Excerpt { first, times: steps().map(|step| step.at).collect(), series: series.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_hour_is_kept_and_given_from_any_step_on() {
        let mut history = History::new(vec!["a".to_owned(), "b".to_owned()]);
        assert_eq!(history.since(0).times, [0; 0]);
        for n in 0..1000_u16 {
            history.push(i64::from(n) * 5, vec![f32::from(n) + 0.000_4, f32::NAN]);
        }
        let all = history.since(0);
        assert_eq!((all.first, all.times.len(), all.times[0]), (280, STEPS, 280 * 5));
        let last = history.since(998);
        assert_eq!((last.first, &last.times[..]), (998, &[998 * 5, 999 * 5][..]));
        assert_eq!(last.series["a"], [998.0, 999.0]);
        assert!(last.series["b"].iter().all(|value| value.is_nan()));
        assert_eq!(history.since(1000).times, [0; 0], "it has them all");
        assert_eq!(history.since(5000).first, 280, "it has those of an earlier process");
    }
}
