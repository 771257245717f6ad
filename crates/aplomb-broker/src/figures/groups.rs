//! Groups, as others see them: how many there are in each state and what has happened to them, and
//! how far those have come that are shown one by one.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use aplomb_coordinator::group::{GroupCounts, GroupEvent, GroupEvents, GroupState};

use super::notes::try_lock;
use super::{FEW, ShardFigures};

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

    /// Whose it is.
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
    /// Groups.
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

    /// Hands over the new ones, unless a page takes some out just now.
    pub(crate) fn hand_over(&mut self, figures: &ShardFigures) {
        let Self(NewGroups { groups, offsets }) = self;
        if groups.is_empty() && offsets.is_empty() {
            return;
        }
        if let Some(mut unseen) = try_lock(&figures.new_groups) {
            extend(&mut unseen.groups, groups, GroupFigures::is_gone);
            extend(&mut unseen.offsets, offsets, OffsetFigures::is_gone);
        }
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
    counts: [AtomicU64; GroupState::ALL.len()],
    events: [AtomicU64; GroupEvent::ALL.len()],
    offsets: AtomicU64,
    coordinators: [AtomicU64; 3],
    left_out: [AtomicU64; 2],
    loads: [AtomicU64; 2],
    longest_load: AtomicU64,
    bytes: AtomicU64,
}

impl ShardFigures {
    /// Groups and offsets that are shown since this was asked last, to be kept by the one who asks
    /// until they are gone.
    #[must_use]
    pub fn take_new_groups(&self) -> NewGroups {
        std::mem::take(&mut self.new_groups.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Groups in this state.
    #[must_use]
    pub fn groups(&self, state: GroupState) -> u64 {
        self.groups.counts[state as usize].load(Ordering::Relaxed)
    }

    /// How often this has happened since the start.
    #[must_use]
    pub fn group_events(&self, event: GroupEvent) -> u64 {
        self.groups.events[event as usize].load(Ordering::Relaxed)
    }

    /// Committed offsets.
    #[must_use]
    pub fn committed_offsets(&self) -> u64 {
        self.groups.offsets.load(Ordering::Relaxed)
    }

    /// Coordinators that load, answer, or have failed.
    #[must_use]
    pub fn coordinators(&self) -> [u64; 3] {
        std::array::from_fn(|n| self.groups.coordinators[n].load(Ordering::Relaxed))
    }

    /// Groups, and offsets, that are not shown one by one, because there are too many.
    #[must_use]
    pub fn groups_left_out(&self) -> [u64; 2] {
        std::array::from_fn(|n| self.groups.left_out[n].load(Ordering::Relaxed))
    }

    /// How many coordinators were loaded since the start, and how long that took.
    #[must_use]
    pub fn loads(&self) -> LoadTimes {
        let [count, nanos] = std::array::from_fn(|n| self.groups.loads[n].load(Ordering::Relaxed));
        LoadTimes { count, total: Duration::from_nanos(nanos) }
    }

    /// The longest that one took to load since this was asked last.
    #[must_use]
    pub fn take_longest_load(&self) -> Duration {
        Duration::from_nanos(self.groups.longest_load.swap(0, Ordering::Relaxed))
    }

    /// What groups and offsets take in memory, in bytes.
    #[must_use]
    pub fn group_bytes(&self) -> u64 {
        self.groups.bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn set_groups(&self, totals: &GroupTotals) {
        let shown = &self.groups;
        let set = |place: &AtomicU64, value: usize| place.store(value as u64, Ordering::Relaxed);
        for state in GroupState::ALL {
            set(&shown.counts[state as usize], totals.counts.of(state));
        }
        for event in GroupEvent::ALL {
            shown.events[event as usize].store(totals.events.of(event), Ordering::Relaxed);
        }
        set(&shown.offsets, totals.offsets);
        set(&shown.bytes, totals.bytes);
        let CoordinatorCounts { loading, active, failed } = totals.coordinators;
        for (place, count) in shown.coordinators.iter().zip([loading, active, failed]) {
            set(place, count);
        }
        set(&shown.left_out[0], totals.groups_left_out);
        set(&shown.left_out[1], totals.offsets_left_out);
        let nanos = u64::try_from(totals.loads.total.as_nanos()).unwrap_or(u64::MAX);
        shown.loads[0].store(totals.loads.count, Ordering::Relaxed);
        shown.loads[1].store(nanos, Ordering::Relaxed);
    }

    pub(crate) fn note_load(&self, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.groups.longest_load.fetch_max(nanos, Ordering::Relaxed);
    }
}
