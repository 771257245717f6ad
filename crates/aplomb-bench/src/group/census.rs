//! What becomes of groups: when each is stable for the first time, how often it rebalances after
//! that, and for how long partitions have no owner.
//!
//! What always holds: a group is stable while all its partitions have an owner, and all its members
//! are of one generation and have their share.

use std::time::Duration;

use aplomb_model::Instant;

use crate::stats::{Precise, precise};

#[derive(Debug)]
struct GroupState {
    /// Of each member: its generation or epoch, and how many partitions it owns.
    members: Vec<(i32, usize)>,
    owned: usize,
    first_join: Option<Instant>,
    stable_at: Option<Instant>,
    /// The newest generation that the group was stable in.
    stable_in: i32,
    /// Since when partitions have no owner, though they had.
    gap_since: Option<Instant>,
    /// Since when it is not stable, though it was.
    unrest_since: Option<Instant>,
}

/// All groups.
#[derive(Debug)]
pub(super) struct Census {
    partitions: usize,
    groups: Vec<GroupState>,
    stable: usize,
    /// Microseconds from a group's first join to when it was stable.
    pub(super) to_stable: Precise,
    pub(super) first_join: Option<Instant>,
    pub(super) all_stable_at: Option<Instant>,
    /// When each rebalance began.
    pub(super) rebalances: Vec<Instant>,
    pub(super) gaps: Precise,
    /// When each gap began, and for how long it lasted.
    pub(super) gaps_at: Vec<(Instant, Duration)>,
    pub(super) unowned: Duration,
}

impl Census {
    pub(super) fn new(groups: usize, members: usize, partitions: usize) -> Self {
        let group = || GroupState {
            members: vec![(-1, 0); members],
            owned: 0,
            first_join: None,
            stable_at: None,
            stable_in: -1,
            gap_since: None,
            unrest_since: None,
        };
        Self {
            partitions,
            groups: (0..groups).map(|_| group()).collect(),
            stable: 0,
            to_stable: precise(),
            first_join: None,
            all_stable_at: None,
            rebalances: Vec::new(),
            gaps: precise(),
            gaps_at: Vec::new(),
            unowned: Duration::ZERO,
        }
    }

    /// A member asks to be let in.
    pub(super) fn joins(&mut self, group: usize, now: Instant) {
        self.first_join.get_or_insert(now);
        self.groups[group].first_join.get_or_insert(now);
    }

    /// How many groups have been stable.
    pub(super) fn stable(&self) -> usize {
        self.stable
    }

    /// Groups of which partitions have no owner now, though they had.
    pub(super) fn without_owner(&self) -> usize {
        self.groups.iter().filter(|group| group.gap_since.is_some()).count()
    }

    /// A member has so many partitions in this generation.
    pub(super) fn owns(&mut self, group: usize, member: usize, generation: i32, owned: usize, now: Instant) {
        let all = self.groups.len();
        let group = &mut self.groups[group];
        group.owned = group.owned - group.members[member].1 + owned;
        group.members[member] = (generation, owned);
        let newest = group.members.iter().map(|(generation, _)| *generation).max().expect("it has members");
        let is_whole = group.owned == self.partitions;
        // The first member of a consumer group has everything until the next assignment.
        let share = self.partitions / group.members.len();
        let is_one = group.members.iter().all(|(of, owned)| *of == newest && *owned >= share);
        if is_whole && is_one {
            let unrest = group.unrest_since.take();
            if group.stable_at.is_none() {
                group.stable_at = Some(now);
                let since = group.first_join.expect("who owns has joined");
                self.to_stable.saturating_record(micros(now.since(since)).max(1));
                self.stable += 1;
                if self.stable == all {
                    self.all_stable_at = Some(now);
                }
            } else if group.stable_in != newest {
                self.rebalances.push(unrest.unwrap_or(now));
            }
            group.stable_in = newest;
        } else if group.stable_at.is_some() {
            group.unrest_since.get_or_insert(now);
        }
        match group.gap_since {
            None if !is_whole && group.stable_at.is_some() => group.gap_since = Some(now),
            Some(since) if is_whole => {
                group.gap_since = None;
                self.close_gap(since, now);
            }
            _ => {}
        }
    }

    fn close_gap(&mut self, since: Instant, now: Instant) {
        let lasted = now.since(since);
        self.gaps.saturating_record(micros(lasted).max(1));
        self.gaps_at.push((since, lasted));
        self.unowned += lasted;
    }

    /// The end: gaps that are open count until now, and rebalances that have begun count.
    pub(super) fn end(&mut self, now: Instant) {
        let open: Vec<_> =
            self.groups.iter_mut().map(|group| (group.gap_since.take(), group.unrest_since.take())).collect();
        for (gap, unrest) in open {
            self.rebalances.extend(unrest);
            if let Some(since) = gap {
                self.close_gap(since, now);
            }
        }
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::START + Duration::from_millis(millis)
    }

    #[test]
    fn a_group_is_stable_when_all_partitions_are_owned_in_one_generation() {
        let mut census = Census::new(1, 2, 4);
        census.joins(0, at(5));
        census.owns(0, 0, 1, 4, at(10));
        assert_eq!(census.stable(), 0, "the other has not come yet");
        census.owns(0, 0, 2, 2, at(20));
        census.owns(0, 1, 2, 2, at(25));
        assert_eq!((census.stable(), census.rebalances.len()), (1, 0));
        assert_eq!(census.all_stable_at, Some(at(25)));
        assert!((19_950..=20_050).contains(&census.to_stable.max()), "in three digits");
    }

    #[test]
    fn a_rebalance_is_counted_once_with_the_time_without_owners() {
        let mut census = Census::new(1, 2, 4);
        census.joins(0, at(0));
        census.owns(0, 0, 1, 2, at(1));
        census.owns(0, 1, 1, 2, at(1));
        census.owns(0, 0, 1, 0, at(10));
        census.owns(0, 1, 1, 0, at(12));
        assert_eq!(census.without_owner(), 1);
        census.owns(0, 0, 2, 2, at(30));
        census.owns(0, 1, 2, 2, at(40));
        assert_eq!(census.rebalances, [at(10)], "it began when the first had lost its partitions");
        assert_eq!(census.unowned, Duration::from_millis(30));
        census.owns(0, 0, 2, 0, at(50));
        census.end(at(60));
        assert_eq!((census.rebalances.len(), census.unowned), (2, Duration::from_millis(40)));
        assert_eq!(
            census.gaps_at,
            [(at(10), Duration::from_millis(30)), (at(50), Duration::from_millis(10))]
        );
        census.end(at(70));
        assert_eq!((census.rebalances.len(), census.gaps_at.len()), (2, 2), "the end comes once");
    }
}
