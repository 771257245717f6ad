//! Many scenarios on several threads: those of a corpus, then fresh seeds.
//!
//! What always holds: a scenario runs on one thread and does not know of the others. The number of
//! threads changes the order in which failures are told, and nothing else.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Failure, Outcome, Scenario, Summary, Syncs, run_on, shrink};

/// Which scenarios, and what is done with those that fail.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// Scenarios to run before the seeds.
    pub kept: Vec<Scenario>,
    /// The first seed.
    pub from: u64,
    /// How many seeds.
    pub count: u64,
    /// How far each is from the one before: seeds differ in kind by what they can be divided by.
    pub stride: u64,
    /// Threads; 0 is taken as 1.
    pub threads: usize,
    /// Whether it goes on after a failure; otherwise scenarios under way end, and no others begin.
    pub keep_going: bool,
    /// Whether failing scenarios are made smaller.
    pub shrink: bool,
    /// What the disks do with what they are told to sync.
    pub syncs: Syncs,
}

/// A scenario that fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// As it was run.
    pub scenario: Scenario,
    /// What went wrong in it.
    pub failure: Failure,
    /// The smallest that still fails, and how, if that was asked for.
    pub smaller: Option<(Scenario, Failure)>,
}

/// What a campaign did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Scenarios that ran.
    pub scenarios: u64,
    /// Those of them that failed.
    pub failed: u64,
    /// Batches that were acknowledged.
    pub acknowledged: u64,
    /// Batches that were read.
    pub read: u64,
    /// Acknowledged batches that power cuts took, within the contract.
    pub lost: u64,
    /// How often brokers came up.
    pub starts: u64,
}

impl Tally {
    fn add(&mut self, summary: &Summary) {
        self.scenarios += 1;
        self.acknowledged += summary.acknowledged;
        self.read += summary.read;
        self.lost += summary.lost;
        self.starts += summary.starts;
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { scenarios, failed, acknowledged, read, lost, starts } = self;
        write!(
            f,
            "{failed} failed; {scenarios} scenarios, {acknowledged} batches acknowledged, {read} read, {lost} lost to power cuts, {starts} starts"
        )
    }
}

impl Campaign {
    /// Runs it. Each failure is told as soon as it is found.
    ///
    /// # Panics
    /// When `told` does.
    pub fn run(&self, told: &(dyn Fn(Found) + Sync)) -> Tally {
        let next = AtomicU64::new(0);
        let kept = self.kept.len() as u64;
        let end = kept.saturating_add(self.count);
        let tally = Mutex::new(Tally::default());
        let one = || {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= end {
                    return;
                }
                let scenario = match usize::try_from(number).ok().and_then(|at| self.kept.get(at)) {
                    Some(scenario) => scenario.clone(),
                    None => {
                        Scenario::of_seed(self.from.wrapping_add((number - kept).wrapping_mul(self.stride)))
                    }
                };
                let Outcome { failure, summary, .. } = run_on(&scenario, self.syncs, false);
                let failed = u64::from(failure.is_some());
                if failed > 0 && !self.keep_going {
                    next.store(end, Ordering::Relaxed);
                }
                {
                    let mut tally = tally.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    tally.add(&summary);
                    tally.failed += failed;
                }
                if let Some(failure) = failure {
                    let smaller = if self.shrink { shrink(&scenario, self.syncs) } else { None };
                    told(Found { scenario, failure, smaller });
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..self.threads.max(1) {
                scope.spawn(one);
            }
        });
        tally.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_runs_once_whatever_the_number_of_threads() {
        let short = |seed| Scenario { millis: Some(40), ..Scenario::of_seed(seed) };
        let campaign = |threads| Campaign {
            kept: (0..5).map(short).collect(),
            from: 0,
            count: 0,
            stride: 1,
            threads,
            keep_going: false,
            shrink: true,
            syncs: Syncs::Kept,
        };
        let tally = campaign(1).run(&|found| panic!("{found:?}"));
        assert_eq!(tally.scenarios, 5);
        assert!(tally.starts >= 5, "each has a broker that came up: {tally}");
        assert_eq!(campaign(3).run(&|found| panic!("{found:?}")), tally);
    }
}
