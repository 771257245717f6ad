//! Whose turn it is to be loaded on a disk, and how many logs a job of it takes.
//!
//! A job takes as many as the disk loads in a few milliseconds: one hand-over for each log is most
//! of the work where everything is in memory, and on a slow disk the one that a client asks for
//! waits for all of a job. So the number follows how long jobs take.
//!
//! What always holds: a job takes 1 to [`MOST`] logs; while [`JOBS`] are under way none is begun,
//! but for those of a partition that is in several directories.

use std::collections::VecDeque;
use std::time::Duration;

use crate::calls::PartitionKey;

/// Jobs of one disk that are under way at the same time: enough for its threads to find the next
/// one waiting.
const JOBS: usize = 4;

/// Logs of one job, at most: few, since the shard takes all of them in within one turn.
pub(super) const MOST: usize = 32;

/// A job that took less is followed by larger ones.
const QUICK: Duration = Duration::from_millis(2);

/// A job that took longer is followed by smaller ones.
const SLOW: Duration = Duration::from_millis(8);

/// The turns of one disk.
pub(super) struct Turns {
    /// All of them, in the order in which they were found; some were loaded out of turn.
    order: VecDeque<PartitionKey>,
    /// Those that were asked for.
    wanted: VecDeque<PartitionKey>,
    /// Jobs.
    under_way: usize,
    /// Logs of the next job.
    size: usize,
}

impl Default for Turns {
    fn default() -> Self {
        Self { order: VecDeque::new(), wanted: VecDeque::new(), under_way: 0, size: 1 }
    }
}

impl Turns {
    /// It comes after the others.
    pub(super) fn add(&mut self, key: PartitionKey) {
        self.order.push_back(key);
    }

    /// It comes before those that were not asked for. To be said once of each.
    pub(super) fn want(&mut self, key: PartitionKey) {
        self.wanted.push_back(key);
    }

    /// Whether the disk is to be given a further job.
    pub(super) fn has_room(&self) -> bool {
        self.under_way < JOBS
    }

    /// Logs that the next job takes.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// The next one; perhaps it has been given out before. `None`: that was all.
    pub(super) fn next(&mut self) -> Option<PartitionKey> {
        self.wanted.pop_front().or_else(|| self.order.pop_front())
    }

    /// A job is begun.
    pub(super) fn on_begin(&mut self) {
        self.under_way += 1;
    }

    /// A job of so many logs has ended.
    pub(super) fn on_end(&mut self, logs: usize, took: Duration) {
        assert!(self.under_way > 0 && logs > 0, "it was begun, with something to do");
        self.under_way -= 1;
        // One that had less to do than it might have says nothing about more.
        if took < QUICK && logs >= self.size {
            self.size = (2 * self.size).min(MOST);
        } else if took > SLOW {
            self.size = (self.size / 2).max(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use aplomb_model::{PartitionIndex, Uuid};

    use super::*;

    fn key(index: i32) -> PartitionKey {
        PartitionKey { topic: Uuid::ONE, partition: PartitionIndex(index) }
    }

    fn end(turns: &mut Turns, logs: usize, took: Duration) -> usize {
        turns.on_begin();
        turns.on_end(logs, took);
        turns.size()
    }

    #[test]
    fn what_is_asked_for_comes_first_and_the_others_in_their_order() {
        let mut turns = Turns::default();
        (0..4).for_each(|index| turns.add(key(index)));
        turns.want(key(2));
        turns.want(key(3));
        let order: Vec<i32> = std::iter::from_fn(|| turns.next()).map(|key| key.partition.0).collect();
        assert_eq!(order, [2, 3, 0, 1, 2, 3]);
    }

    #[test]
    fn jobs_grow_on_a_quick_disk_up_to_what_a_shard_takes_in_at_once_and_shrink_on_a_slow_one() {
        let mut turns = Turns::default();
        let grow = |turns: &mut Turns| {
            let logs = turns.size();
            end(turns, logs, Duration::from_millis(1))
        };
        assert_eq!([grow(&mut turns), grow(&mut turns), grow(&mut turns)], [2, 4, 8]);
        assert_eq!(end(&mut turns, 4, Duration::from_millis(1)), 8, "it was not full");
        assert_eq!(end(&mut turns, 8, Duration::from_millis(5)), 8, "neither quick nor slow");
        assert_eq!([grow(&mut turns), grow(&mut turns), grow(&mut turns)], [16, MOST, MOST]);
        let shrink = |turns: &mut Turns| end(turns, 1, Duration::from_millis(50));
        let sizes: Vec<usize> = (0..6).map(|_| shrink(&mut turns)).collect();
        assert_eq!(sizes, [16, 8, 4, 2, 1, 1]);
    }

    #[test]
    fn a_disk_has_room_until_its_jobs_are_under_way() {
        let mut turns = Turns::default();
        for _ in 0..JOBS {
            assert!(turns.has_room());
            turns.on_begin();
        }
        assert!(!turns.has_room());
        turns.on_end(1, Duration::ZERO);
        assert!(turns.has_room());
    }
}
