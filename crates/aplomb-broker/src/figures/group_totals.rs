//! What a shard shows of its groups in all, and how the lists of those that are shown one by one
//! change hands.

use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use aplomb_coordinator::group::{GroupEvent, GroupState};

use super::ShardFigures;
use super::groups::{CoordinatorCounts, GroupNotes, GroupTotals, LoadTimes, NewGroups};
use super::notes::try_lock;

impl GroupNotes {
    /// Hands over the new ones, unless a page takes some out just now.
    pub(crate) fn hand_over(&mut self, figures: &ShardFigures) {
        if !self.is_empty()
            && let Some(mut unseen) = try_lock(&figures.new_groups)
        {
            self.add_to(&mut unseen);
        }
    }
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

    /// Offsets that groups have committed, all together.
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
