//! Makes a failing scenario smaller: less time, fewer clients, fewer faults, as long as it fails.

use super::{Failure, Outcome, Scenario, Syncs, run_on};

/// The smallest scenario found that still fails, and how. `None` if this one does not fail.
#[must_use]
pub fn shrink(scenario: &Scenario, syncs: Syncs) -> Option<(Scenario, Failure)> {
    let fails = |scenario: &Scenario| {
        let Outcome { failure, .. } = run_on(scenario, syncs, false);
        failure
    };
    let mut failure = fails(scenario)?;
    let mut smallest = scenario.clone();
    loop {
        let before = smallest.clone();
        // Nothing after the failure matters; often less time than that will do.
        let millis = u64::try_from(failure.at.as_millis()).unwrap_or(u64::MAX);
        for candidate in [millis / 4, millis / 2, millis * 3 / 4, millis * 9 / 10, millis + 1] {
            let shorter = Scenario { millis: Some(candidate), ..smallest.clone() };
            if candidate < smallest.millis.unwrap_or(u64::MAX)
                && let Some(found) = fails(&shorter)
            {
                (smallest, failure) = (shorter, found);
                break;
            }
        }
        let plan = smallest.plan();
        for (number, ..) in &plan.faults {
            let mut fewer = smallest.clone();
            fewer.without_faults.insert(*number);
            if let Some(found) = fails(&fewer) {
                (smallest, failure) = (fewer, found);
            }
        }
        for (number, _) in &plan.clients {
            let mut fewer = smallest.clone();
            fewer.without_clients.insert(*number);
            if let Some(found) = fails(&fewer) {
                (smallest, failure) = (fewer, found);
            }
        }
        if smallest == before {
            return Some((smallest, failure));
        }
    }
}
