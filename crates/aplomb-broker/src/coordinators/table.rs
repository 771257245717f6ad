//! Coordinators by their partitions, and when each of them has something to do: a turn looks at
//! those that it has changed, however many there are.
//!
//! What always holds: who was handed out to be changed is looked at again before the turn is over
//! ([`Table::settle`]); what is known of the others is still so.

use std::collections::BTreeSet;

use aplomb_model::Instant;
use rustc_hash::FxHashMap;

use super::kind::{Coordinator, CoordinatorKind};
use crate::calls::PartitionKey;

/// Coordinators by their partitions.
#[derive(Debug)]
pub(super) struct Table<K: CoordinatorKind> {
    all: FxHashMap<PartitionKey, Hosted<K>>,
    /// May be others than when they were looked at last; each is here once.
    touched: Vec<PartitionKey>,
    /// By when they have something to do.
    wakes: BTreeSet<(Instant, PartitionKey)>,
}

#[derive(Debug)]
struct Hosted<K: CoordinatorKind> {
    coordinator: Coordinator<K>,
    /// Whether it is in `touched`.
    is_touched: bool,
    /// Its place in `wakes`.
    wakes_at: Option<Instant>,
}

impl<K: CoordinatorKind> Table<K> {
    pub(super) fn new() -> Self {
        Self { all: FxHashMap::default(), touched: Vec::new(), wakes: BTreeSet::new() }
    }

    pub(super) fn get(&self, key: PartitionKey) -> Option<&Coordinator<K>> {
        self.all.get(&key).map(|entry| &entry.coordinator)
    }

    /// One that is to be changed.
    pub(super) fn get_mut(&mut self, key: PartitionKey) -> Option<&mut Coordinator<K>> {
        let entry = self.all.get_mut(&key)?;
        if !std::mem::replace(&mut entry.is_touched, true) {
            self.touched.push(key);
        }
        Some(&mut entry.coordinator)
    }

    /// One that is there, and is to be changed.
    pub(super) fn change(&mut self, key: PartitionKey) -> &mut Coordinator<K> {
        self.get_mut(key).expect("the coordinator is there")
    }

    pub(super) fn insert(&mut self, key: PartitionKey, coordinator: Coordinator<K>) {
        let before = self.all.insert(key, Hosted { coordinator, is_touched: true, wakes_at: None });
        assert!(before.is_none(), "a partition has one coordinator");
        self.touched.push(key);
    }

    pub(super) fn remove(&mut self, key: PartitionKey) -> Option<Coordinator<K>> {
        let Hosted { coordinator, is_touched, wakes_at } = self.all.remove(&key)?;
        wakes_at.map(|at| self.wakes.remove(&(at, key)));
        if is_touched {
            self.touched.retain(|other| *other != key);
        }
        Some(coordinator)
    }

    /// All of them, in their order.
    pub(super) fn keys(&self) -> Vec<PartitionKey> {
        let mut keys: Vec<_> = self.all.keys().copied().collect();
        keys.sort_unstable(); // a simulation can repeat it
        keys
    }

    /// Those that may have been changed since the last turn, one after the other.
    pub(super) fn each_touched(&mut self, mut does: impl FnMut(PartitionKey, &mut Coordinator<K>)) {
        self.touched.sort_unstable(); // in an order that a simulation can repeat
        for key in &self.touched {
            let entry = self.all.get_mut(key).expect("who is gone is not touched");
            does(*key, &mut entry.coordinator);
        }
    }

    /// The turn is over: looks at those that may have been changed, and shows them.
    pub(super) fn settle(&mut self, mut show: impl FnMut(PartitionKey, &Coordinator<K>)) {
        self.touched.sort_unstable(); // as above
        for key in self.touched.drain(..) {
            let entry = self.all.get_mut(&key).expect("who is gone is not touched");
            assert!(std::mem::take(&mut entry.is_touched), "it knows");
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
