//! The partitions of a shard.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ops::Bound;
use std::time::Duration;

use aplomb_disk_api::DiskIndex;
use aplomb_model::Instant;

use super::append::Retried;
use super::checks::{Lane, SLICE, Sliced};
use super::gate::Gate;
use super::{Effects, Partition};
use crate::calls::{Asker, PartitionKey};
use crate::ports::Now;

/// How soon appends that wait for memory are tried again.
const RETRY: Duration = Duration::from_millis(2);

/// Bytes that are tried again in a turn, and what the last batch has beyond: a disk that answers
/// again makes room for much at once, and clients of other disks are served in between.
const RETRIED_A_TURN: usize = 256 << 10;

/// All partitions of a shard, and which of them have appends that wait for memory, or are validated
/// in turns.
#[derive(Debug, Default)]
pub(crate) struct Partitions {
    /// Boxed, since a table that grows moves all that is in it within one turn.
    by_key: HashMap<PartitionKey, Box<Partition>>,
    starved: BTreeSet<PartitionKey>,
    /// The one whose turn it was last.
    retried: Option<PartitionKey>,
    retry_at: Option<Instant>,
    /// For those that were turned away.
    gate: Gate,
    /// Batches that are validated in turns. Some may wait no longer.
    near: VecDeque<(PartitionKey, Asker)>,
    far: VecDeque<(PartitionKey, Asker)>,
    check_at: Option<Instant>,
}

impl Partitions {
    pub(crate) fn get(&self, key: PartitionKey) -> Option<&Partition> {
        self.by_key.get(&key).map(Box::as_ref)
    }

    pub(crate) fn get_mut(&mut self, key: PartitionKey) -> Option<&mut Partition> {
        self.by_key.get_mut(&key).map(Box::as_mut)
    }

    /// The partition, if it is still on the disk that it was on when it had moved so many times.
    pub(crate) fn get_on(&mut self, key: PartitionKey, residence: u32) -> Option<&mut Partition> {
        self.get_mut(key).filter(|partition| partition.residence() == residence)
    }

    pub(crate) fn insert(&mut self, partition: Partition) {
        let key = partition.key();
        let before = self.by_key.insert(key, Box::new(partition));
        assert!(before.is_none(), "{key:?} is here already");
    }

    pub(crate) fn remove(&mut self, key: PartitionKey) -> Option<Partition> {
        self.starved.remove(&key);
        self.by_key.remove(&key).map(|partition| *partition)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Partition> {
        self.by_key.values().map(Box::as_ref)
    }

    /// All keys, in an order that a simulation can repeat.
    pub(crate) fn keys(&self) -> Vec<PartitionKey> {
        let mut keys: Vec<PartitionKey> = self.by_key.keys().copied().collect();
        keys.sort_unstable();
        keys
    }

    /// The keys of those on a disk, in an order that a simulation can repeat.
    pub(crate) fn keys_on(&self, disk: DiskIndex) -> Vec<PartitionKey> {
        let here = self.iter().filter(|partition| partition.disk() == disk);
        let mut keys: Vec<PartitionKey> = here.map(Partition::key).collect();
        keys.sort_unstable();
        keys
    }

    /// Appends of a partition wait for memory.
    pub(crate) fn on_starved(&mut self, key: PartitionKey, now: Instant) {
        self.starved.insert(key);
        self.retry_at.get_or_insert(now + RETRY);
    }

    /// A batch of a partition is validated in turns.
    pub(crate) fn on_checking(&mut self, key: PartitionKey, asker: Asker, now: Instant) {
        self.near.push_back((key, asker));
        self.check_at.get_or_insert(now);
    }

    /// How many batches are validated in turns.
    pub(crate) fn checking(&self) -> usize {
        self.near.len() + self.far.len()
    }

    /// When [`Self::retry_starved`] or [`Self::check_on`] has something to do.
    pub(crate) fn wake_at(&self) -> Option<Instant> {
        self.retry_at.into_iter().chain(self.check_at).min()
    }

    /// Goes on with what is validated in turns: a slice for each lane.
    pub(crate) fn check_on(&mut self, now: Now, fx: &mut Effects) {
        if self.check_at.take_if(|at| *at <= now.instant).is_none() {
            return;
        }
        for lane in [Lane::Near, Lane::Far] {
            self.check_lane(lane, now, fx);
        }
        if self.checking() > 0 {
            self.check_at = Some(now.instant);
        }
    }

    fn check_lane(&mut self, lane: Lane, now: Now, fx: &mut Effects) {
        let mut slice = SLICE;
        while slice > 0 {
            let line = if lane == Lane::Near { &mut self.near } else { &mut self.far };
            let Some((key, asker)) = line.pop_front() else { return };
            let Some(partition) = self.by_key.get_mut(&key) else { continue };
            match partition.check_on(asker, &mut slice, lane, now, fx) {
                Sliced::Over => {}
                Sliced::Paused => return line.push_front((key, asker)),
                Sliced::Far => self.far.push_back((key, asker)),
            }
        }
    }

    /// Tries again what waits for memory, if its time has come: so much, the partitions in turn.
    /// Lets some in that were turned away.
    /// Whether some of it waits for memory that the disk has and that others hold.
    pub(crate) fn retry_starved(&mut self, now: Now, fx: &mut Effects) -> bool {
        if self.retry_at.take_if(|at| *at <= now.instant).is_none() {
            return false;
        }
        let (mut short, mut slice) = (false, RETRIED_A_TURN);
        for _ in 0..self.starved.len() {
            let Some(key) = self.next_starved().filter(|_| slice > 0) else { break };
            self.retried = Some(key);
            let partition = self.by_key.get_mut(&key).expect("a partition that goes is not starved");
            partition.let_in(&mut self.gate, now, fx);
            match partition.retry_waiting(&mut slice, now, fx) {
                Retried::All => {
                    self.starved.remove(&key);
                }
                Retried::NoRoom => short |= partition.log().tail().share().shortage() > 0,
                Retried::Paused => {}
            }
        }
        if !self.starved.is_empty() {
            self.retry_at = Some(if slice == 0 { now.instant } else { now.instant + RETRY });
        }
        short
    }

    /// The one that comes after the last, of those that wait for memory.
    fn next_starved(&self) -> Option<PartitionKey> {
        let from = self.retried.map_or(Bound::Unbounded, Bound::Excluded);
        self.starved.range((from, Bound::Unbounded)).next().or_else(|| self.starved.first()).copied()
    }
}
