//! The coordinators of a shard, and when each of them has something to do: a turn looks at those
//! that it has changed, however many there are.
//!
//! What always holds: who was handed out to be changed is looked at again before the turn is over
//! ([`Table::settle`]); what is known of the others is still so.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use aplomb_model::Instant;

use super::Coordinator;
use crate::calls::PartitionKey;

/// Coordinators by their partitions.
#[derive(Debug, Default)]
pub(super) struct Table {
    all: BTreeMap<PartitionKey, Hosted>,
    /// May be others than when they were looked at last.
    touched: BTreeSet<PartitionKey>,
    /// By when they have something to do.
    wakes: BTreeSet<(Instant, PartitionKey)>,
    /// Have groups that others do not see, and will when there is room.
    unshown: BTreeSet<PartitionKey>,
    /// Whose turn it was last to show groups.
    last_shown: Option<PartitionKey>,
}

#[derive(Debug)]
struct Hosted {
    coordinator: Coordinator,
    /// Its place in `wakes`.
    wakes_at: Option<Instant>,
}

impl Table {
    pub(super) fn get(&self, key: PartitionKey) -> Option<&Coordinator> {
        self.all.get(&key).map(|entry| &entry.coordinator)
    }

    /// One that is to be changed.
    pub(super) fn get_mut(&mut self, key: PartitionKey) -> Option<&mut Coordinator> {
        let entry = self.all.get_mut(&key)?;
        self.touched.insert(key);
        Some(&mut entry.coordinator)
    }

    /// One that is there, and is to be changed.
    pub(super) fn change(&mut self, key: PartitionKey) -> &mut Coordinator {
        self.get_mut(key).expect("the coordinator is there")
    }

    pub(super) fn insert(&mut self, key: PartitionKey, coordinator: Coordinator) {
        let before = self.all.insert(key, Hosted { coordinator, wakes_at: None });
        assert!(before.is_none(), "a partition has one coordinator");
        self.touched.insert(key);
    }

    pub(super) fn remove(&mut self, key: PartitionKey) -> Option<Coordinator> {
        let Hosted { coordinator, wakes_at } = self.all.remove(&key)?;
        wakes_at.map(|at| self.wakes.remove(&(at, key)));
        self.unshown.remove(&key);
        self.touched.remove(&key);
        Some(coordinator)
    }

    pub(super) fn keys(&self) -> Vec<PartitionKey> {
        self.all.keys().copied().collect()
    }

    /// Those that may have been changed since the last turn.
    pub(super) fn touched(&self) -> Vec<PartitionKey> {
        self.touched.iter().copied().collect()
    }

    /// The turn is over: looks at those that may have been changed.
    pub(super) fn settle(&mut self) {
        while let Some(key) = self.touched.pop_first() {
            let entry = self.all.get_mut(&key).expect("who is gone is not touched");
            let wakes_at = entry.coordinator.wake_at();
            if wakes_at != entry.wakes_at {
                entry.wakes_at.map(|at| self.wakes.remove(&(at, key)));
                self.wakes.extend(wakes_at.map(|at| (at, key)));
                entry.wakes_at = wakes_at;
            }
            if entry.coordinator.has_unshown() {
                self.unshown.insert(key);
            } else {
                self.unshown.remove(&key);
            }
        }
        debug_assert!(self.all.values().all(|entry| entry.coordinator.wake_at() == entry.wakes_at));
    }

    /// When one of them has something to do.
    pub(super) fn wake_at(&self) -> Option<Instant> {
        match self.behind().next() {
            Some(_) => Some(Instant::START),
            None => self.wakes.first().map(|(at, _)| *at),
        }
    }

    /// Those that have something to do by now.
    pub(super) fn due(&self, now: Instant) -> Vec<PartitionKey> {
        self.wakes.iter().take_while(|(at, _)| *at <= now).map(|(_, key)| *key).collect()
    }

    /// The next one that has groups to be shown, for which there is room.
    pub(super) fn next_behind(&mut self) -> Option<PartitionKey> {
        let after = self.last_shown.map_or(Bound::Unbounded, Bound::Excluded);
        let next = self.unshown.range((after, Bound::Unbounded)).copied().find(|key| self.is_behind(*key));
        let next = next.or_else(|| self.behind().next())?;
        self.last_shown = Some(next);
        Some(next)
    }

    fn behind(&self) -> impl Iterator<Item = PartitionKey> {
        self.unshown.iter().copied().filter(|key| self.is_behind(*key))
    }

    fn is_behind(&self, key: PartitionKey) -> bool {
        self.get(key).is_some_and(Coordinator::is_behind)
    }
}
