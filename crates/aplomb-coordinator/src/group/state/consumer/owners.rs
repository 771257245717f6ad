//! Whose partitions are: how many members have each, whether assigned or not given up yet.
//!
//! What always holds: it is what the members' current assignments say. Between the members of a
//! group that lives here no partition has two owners; while a compacted log is read it may, and
//! after it, if the log has lost records: those owners are taken out (`gaps`).

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use aplomb_model::TopicId;

use super::member::Current;

/// How many members have each partition.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Owners {
    owners: HashMap<(TopicId, i32), u32>,
    /// How many partitions have more than one.
    shared: usize,
}

impl Owners {
    /// How many members have it.
    pub(crate) fn of(&self, topic: TopicId, partition: i32) -> u32 {
        self.owners.get(&(topic, partition)).copied().unwrap_or(0)
    }

    pub(crate) fn add(&mut self, current: &Current) {
        for partition in current.partitions() {
            let owners = self.owners.entry(partition).or_default();
            *owners += 1;
            self.shared += usize::from(*owners == 2);
        }
    }

    pub(crate) fn remove(&mut self, current: &Current) {
        for partition in current.partitions() {
            let Entry::Occupied(mut owners) = self.owners.entry(partition) else {
                panic!("what a member has is counted");
            };
            *owners.get_mut() -= 1;
            self.shared -= usize::from(*owners.get() == 1);
            if *owners.get() == 0 {
                owners.remove();
            }
        }
    }

    /// How many partitions have an owner.
    pub(crate) fn len(&self) -> usize {
        self.owners.len()
    }

    /// Whether a partition has more than one owner.
    pub(crate) fn is_shared(&self) -> bool {
        self.shared > 0
    }
}
