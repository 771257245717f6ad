//! Coordinators by their partitions, and when each of them has something to do: a turn looks at
//! those that it has changed, however many there are.
//!
//! What always holds: who was handed out to be changed is looked at again before the turn is over
//! ([`Table::settle`]); what is known of the others is still so.

use std::collections::{BTreeMap, BTreeSet};

use aplomb_model::Instant;

use super::kind::{Coordinator, CoordinatorKind};
use crate::calls::PartitionKey;

/// Coordinators by their partitions.
#[derive(Debug)]
pub(super) struct Table<K: CoordinatorKind> {
    all: BTreeMap<PartitionKey, Hosted<K>>,
    /// May be others than when they were looked at last.
    touched: BTreeSet<PartitionKey>,
    /// By when they have something to do.
    wakes: BTreeSet<(Instant, PartitionKey)>,
}

#[derive(Debug)]
struct Hosted<K: CoordinatorKind> {
    coordinator: Coordinator<K>,
    /// Its place in `wakes`.
    wakes_at: Option<Instant>,
}

impl<K: CoordinatorKind> Table<K> {
    pub(super) fn new() -> Self {
        Self { all: BTreeMap::new(), touched: BTreeSet::new(), wakes: BTreeSet::new() }
    }

    pub(super) fn get(&self, key: PartitionKey) -> Option<&Coordinator<K>> {
        self.all.get(&key).map(|entry| &entry.coordinator)
    }

    /// One that is to be changed.
    pub(super) fn get_mut(&mut self, key: PartitionKey) -> Option<&mut Coordinator<K>> {
        let entry = self.all.get_mut(&key)?;
        self.touched.insert(key);
        Some(&mut entry.coordinator)
    }

    /// One that is there, and is to be changed.
    pub(super) fn change(&mut self, key: PartitionKey) -> &mut Coordinator<K> {
        self.get_mut(key).expect("the coordinator is there")
    }

    pub(super) fn insert(&mut self, key: PartitionKey, coordinator: Coordinator<K>) {
        let before = self.all.insert(key, Hosted { coordinator, wakes_at: None });
        assert!(before.is_none(), "a partition has one coordinator");
        self.touched.insert(key);
    }

    pub(super) fn remove(&mut self, key: PartitionKey) -> Option<Coordinator<K>> {
        let Hosted { coordinator, wakes_at } = self.all.remove(&key)?;
        wakes_at.map(|at| self.wakes.remove(&(at, key)));
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

    /// The turn is over: looks at those that may have been changed, and shows them.
    pub(super) fn settle(&mut self, mut show: impl FnMut(PartitionKey, &Coordinator<K>)) {
        while let Some(key) = self.touched.pop_first() {
            let entry = self.all.get_mut(&key).expect("who is gone is not touched");
            let wakes_at = entry.coordinator.wake_at();
            if wakes_at != entry.wakes_at {
                entry.wakes_at.map(|at| self.wakes.remove(&(at, key)));
                self.wakes.extend(wakes_at.map(|at| (at, key)));
                entry.wakes_at = wakes_at;
            }
            show(key, &entry.coordinator);
        }
        debug_assert!(self.all.values().all(|entry| entry.coordinator.wake_at() == entry.wakes_at));
    }

    /// When one of them has something to do.
    pub(super) fn wake_at(&self) -> Option<Instant> {
        self.wakes.first().map(|(at, _)| *at)
    }

    /// Those that have something to do by now.
    pub(super) fn due(&self, now: Instant) -> Vec<PartitionKey> {
        self.wakes.iter().take_while(|(at, _)| *at <= now).map(|(_, key)| *key).collect()
    }
}
