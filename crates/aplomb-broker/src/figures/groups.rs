//! Groups, as others see them: how many there are in each state and what has happened to them, and
//! how far those have come that are shown one by one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use aplomb_coordinator::group::{GroupCounts, GroupEvent, GroupEvents, GroupState};

use super::FEW;

/// A group that is shown.
#[derive(Debug)]
pub struct GroupFigures {
    id: Arc<str>,
    members: AtomicU64,
    gone: AtomicBool,
}

impl GroupFigures {
    pub(crate) fn new(id: Arc<str>, members: usize) -> Self {
        Self { id, members: AtomicU64::new(members as u64), gone: AtomicBool::new(false) }
    }

    /// Its id.
    #[must_use]
    pub const fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// How many members it has.
    #[must_use]
    pub fn members(&self) -> u64 {
        self.members.load(Ordering::Relaxed)
    }

    pub(crate) fn set_members(&self, members: usize) {
        self.members.store(members as u64, Ordering::Relaxed);
    }

    /// Whether it was deleted, or is another coordinator's now.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }

    pub(crate) fn set_gone(&self) {
        self.gone.store(true, Ordering::Relaxed);
    }
}

/// How far a group has come in a partition.
#[derive(Debug)]
pub struct OffsetFigures {
    group: Arc<GroupFigures>,
    topic: Arc<str>,
    partition: i32,
    committed: AtomicI64,
    gone: AtomicBool,
}

impl OffsetFigures {
    pub(crate) fn new(group: Arc<GroupFigures>, topic: Arc<str>, partition: i32, committed: i64) -> Self {
        let committed = AtomicI64::new(committed);
        Self { group, topic, partition, committed, gone: AtomicBool::new(false) }
    }

    /// The group that has committed it.
    #[must_use]
    pub const fn group(&self) -> &Arc<GroupFigures> {
        &self.group
    }

    /// The topic's name.
    #[must_use]
    pub const fn topic(&self) -> &Arc<str> {
        &self.topic
    }

    /// The partition's number.
    #[must_use]
    pub const fn partition(&self) -> i32 {
        self.partition
    }

    /// The committed offset.
    #[must_use]
    pub fn committed(&self) -> i64 {
        self.committed.load(Ordering::Relaxed)
    }

    pub(crate) fn set_committed(&self, committed: i64) {
        self.committed.store(committed, Ordering::Relaxed);
    }

    /// Whether it was deleted, has expired, or its group is gone.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed) || self.group.is_gone()
    }

    pub(crate) fn set_gone(&self) {
        self.gone.store(true, Ordering::Relaxed);
    }
}

/// Groups and offsets that are shown, and have not been taken out yet.
#[derive(Debug, Default)]
pub struct NewGroups {
    /// Groups that were not shown before.
    pub groups: Vec<Arc<GroupFigures>>,
    /// Offsets, each after its group.
    pub offsets: Vec<Arc<OffsetFigures>>,
}

/// What a shard has to show of groups, before it hands it over.
#[derive(Debug, Default)]
pub(crate) struct GroupNotes(NewGroups);

impl GroupNotes {
    /// A group is shown from here on.
    pub(crate) fn welcome(&mut self, group: &Arc<GroupFigures>) {
        self.0.groups.push(group.clone());
    }

    /// An offset is shown from here on.
    pub(crate) fn welcome_offset(&mut self, offset: &Arc<OffsetFigures>) {
        self.0.offsets.push(offset.clone());
    }

    /// Whether all has been handed over.
    pub(super) fn is_empty(&self) -> bool {
        self.0.groups.is_empty() && self.0.offsets.is_empty()
    }

    /// Adds the new ones to those that no page has taken out yet.
    pub(super) fn add_to(&mut self, unseen: &mut NewGroups) {
        extend(&mut unseen.groups, &mut self.0.groups, GroupFigures::is_gone);
        extend(&mut unseen.offsets, &mut self.0.offsets, OffsetFigures::is_gone);
    }
}

/// Adds those. What is gone again makes room where there is none, so that a list that is not taken
/// out does not grow.
fn extend<T>(unseen: &mut Vec<Arc<T>>, more: &mut Vec<Arc<T>>, is_gone: impl Fn(&T) -> bool) {
    for one in more.drain(..) {
        if unseen.len() >= FEW && unseen.len() == unseen.capacity() {
            unseen.retain(|one| !is_gone(one));
        }
        unseen.push(one);
    }
}

/// How many coordinators are how far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoordinatorCounts {
    /// Their logs are being read.
    pub loading: usize,
    /// They answer.
    pub active: usize,
    /// Their logs cannot be read.
    pub failed: usize,
}

/// How long it took to load coordinators.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadTimes {
    /// How many were loaded.
    pub count: u64,
    /// How long it took, all together.
    pub total: Duration,
}

/// What a shard's coordinators have, all together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupTotals {
    /// Groups, by state.
    pub counts: GroupCounts,
    /// Committed offsets.
    pub offsets: usize,
    /// What has happened since the start.
    pub events: GroupEvents,
    /// The coordinators themselves.
    pub coordinators: CoordinatorCounts,
    /// Groups that are not shown one by one, because there are too many.
    pub groups_left_out: usize,
    /// Offsets that are not.
    pub offsets_left_out: usize,
    /// How long loading took since the start.
    pub loads: LoadTimes,
    /// What groups and offsets take in memory, in bytes.
    pub bytes: usize,
}

/// The same, for others to read at any time.
#[derive(Debug, Default)]
pub(super) struct ShownTotals {
    pub(super) counts: [AtomicU64; GroupState::ALL.len()],
    pub(super) events: [AtomicU64; GroupEvent::ALL.len()],
    pub(super) offsets: AtomicU64,
    pub(super) coordinators: [AtomicU64; 3],
    pub(super) left_out: [AtomicU64; 2],
    pub(super) loads: [AtomicU64; 2],
    pub(super) longest_load: AtomicU64,
    pub(super) bytes: AtomicU64,
}
