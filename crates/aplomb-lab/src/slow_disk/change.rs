//! What can be done to a disk while it runs, now or on a schedule.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::delay::Delay;
use super::operation::Operation;

/// A change of how the disk behaves. Each holds until the next of its kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Requests of this kind that arrive from now on are delayed so much.
    Delay {
        /// Which requests.
        operation: Operation,
        /// How much.
        delay: Delay,
    },
    /// Nothing is answered any more.
    Freeze,
    /// What was held by a freeze is answered, at once if its delay is over.
    Thaw,
    /// Requests of these kinds that arrive from now on end in EIO; those of other kinds do not.
    Fail {
        /// Which requests.
        operations: Vec<Operation>,
    },
    /// No request fails.
    Heal,
}

/// A change and its moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduledChange {
    /// Milliseconds from the moment at which the schedule was given.
    pub at_ms: u64,
    /// What happens then.
    pub change: Change,
}

/// Changes to come. Those of the same moment happen in the order in which they stand here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Schedule {
    steps: Vec<ScheduledChange>,
}

impl Schedule {
    /// Without steps, which takes an earlier schedule away.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a step, at any moment: steps need not be added in order.
    #[must_use]
    pub fn at(mut self, at: Duration, change: Change) -> Self {
        self.steps.push(ScheduledChange { at_ms: u64::try_from(at.as_millis()).unwrap_or(u64::MAX), change });
        self
    }

    /// The steps, by their moments.
    pub fn in_order(mut self) -> Vec<ScheduledChange> {
        self.steps.sort_by_key(|step| step.at_ms);
        self.steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_come_by_their_moments_and_those_of_one_moment_as_they_were_given() {
        let ms = Duration::from_millis;
        let schedule = Schedule::new()
            .at(ms(300), Change::Heal)
            .at(ms(100), Change::Freeze)
            .at(ms(300), Change::Thaw)
            .in_order();
        assert_eq!(
            schedule.into_iter().map(|step| (step.at_ms, step.change)).collect::<Vec<_>>(),
            [(100, Change::Freeze), (300, Change::Heal), (300, Change::Thaw)]
        );
    }
}
