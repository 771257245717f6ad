//! What the coordinators of a shard have, all together, kept as each of them changes.
//!
//! What always holds: the totals are the sum of what the coordinators have that answer; what has
//! happened stays counted when a coordinator goes.

use aplomb_coordinator::group::{GroupCounts, GroupEvents, Groups};
use aplomb_coordinator::runtime::{Runtime, Stage};

use super::shown::ShownGroups;
use crate::figures::GroupTotals;

/// What one coordinator adds to the totals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Share {
    stage: Option<Stage>,
    counts: GroupCounts,
    offsets: usize,
    events: GroupEvents,
    /// Groups and offsets that are not shown one by one.
    left_out: (usize, usize),
    bytes: usize,
}

impl Share {
    /// Of a coordinator as it is now. One that does not answer has no groups yet, or no more.
    pub(super) fn of(runtime: &Runtime<Groups>, shown: &ShownGroups) -> Self {
        let groups = runtime.machine();
        let (stage, bytes, events) = (Some(runtime.stage()), groups.bytes(), groups.events());
        if runtime.stage() != Stage::Active {
            return Self { stage, bytes, events, ..Self::default() };
        }
        let (counts, offsets, left_out) = (groups.counts(), groups.offsets(), shown.left_out(groups));
        Self { stage, counts, offsets, events, left_out, bytes }
    }

    /// Of the same coordinator when it is gone.
    pub(super) fn gone(&self) -> Self {
        Self { events: self.events, ..Self::default() }
    }
}

/// A coordinator is another than it was.
pub(super) fn replace(totals: &mut GroupTotals, before: &Share, after: &Share) {
    totals.counts.add(&after.counts);
    totals.counts.subtract(&before.counts);
    totals.events.add(&after.events.since(&before.events));
    let change = |total: &mut usize, before: usize, after: usize| *total = *total + after - before;
    change(&mut totals.offsets, before.offsets, after.offsets);
    change(&mut totals.groups_left_out, before.left_out.0, after.left_out.0);
    change(&mut totals.offsets_left_out, before.left_out.1, after.left_out.1);
    change(&mut totals.bytes, before.bytes, after.bytes);
    let coordinators = &mut totals.coordinators;
    for (stage, total) in [
        (Stage::Loading, &mut coordinators.loading),
        (Stage::Active, &mut coordinators.active),
        (Stage::Failed, &mut coordinators.failed),
    ] {
        let is_in = |share: &Share| usize::from(share.stage == Some(stage));
        change(total, is_in(before), is_in(after));
    }
}
