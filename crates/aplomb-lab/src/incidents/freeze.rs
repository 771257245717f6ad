//! The device answers nothing for three seconds, twice; or for long.

use std::time::Duration;

use super::calm::nothing;
use super::journal::JOURNAL;
use super::{Action, Incident, Step, Whom};
use crate::slow_disk::{Change, Filesystem};
use crate::workload::neighbour::Habit;

/// How long it is frozen.
const FROZEN: Duration = Duration::from_secs(3);

/// Frozen twice.
pub(super) fn twice() -> Vec<Step> {
    let freeze = |share, plus| Step::at(share, plus, Action::Disk(Change::Freeze));
    let thaw = |share, plus| Step::at(share, plus, Action::Disk(Change::Thaw));
    vec![freeze(0.05, Duration::ZERO), thaw(0.05, FROZEN), freeze(0.6, Duration::ZERO), thaw(0.6, FROZEN)]
}

/// Frozen once, for two thirds of the disturbance: for 20 s of 30.
pub(super) fn for_two_thirds() -> Vec<Step> {
    [(0.05, Change::Freeze), (0.05 + 2.0 / 3.0, Change::Thaw)]
        .map(|(share, change)| Step::at(share, Duration::ZERO, Action::Disk(change)))
        .into()
}

/// Frozen twice, while somebody keeps the journal committing.
pub(super) fn twice_in_a_commit() -> Vec<Step> {
    let mut steps = vec![Step::first(Action::Neighbour(Habit::Marks))];
    steps.extend(twice());
    steps
}

/// On ext4.
pub(super) fn incident() -> Incident {
    Incident {
        name: "freeze",
        causes: &["freeze"],
        title: "The disk answers nothing for three seconds",
        explanation: "A network disk fails over, a controller resets, a cloud volume is throttled: the device answers nothing for 3 s, twice.\n\n\
            Appends go to the page cache, so they would not have to notice. On ext4 they do, since a write waits for the journal's commit, and the commit \
            for the device. A neighbour that makes, syncs and removes a file, as many programs do, has the journal commit whenever the device \
            stops.",
        filesystem: Filesystem::Ext4,
        during: twice_in_a_commit(),
        disturbance: "the device answers nothing for 3 s, twice",
        signatures: vec![JOURNAL],
        hurts: Whom::Kafka,
        ..nothing()
    }
}

/// On XFS, with few dirty pages: a control.
pub(super) fn far_from_the_limit() -> Incident {
    Incident {
        name: "freeze-xfs",
        causes: &[],
        title: "The same, on XFS and far from the limit of dirty pages",
        explanation: "A control: XFS logs a time stamp without waiting for the log's last write, and as long as few pages are dirty nobody who appends has \
            to wait for a device that answers nothing for 3 s.",
        control: true,
        filesystem: Filesystem::Xfs,
        during: twice(),
        hurts: Whom::Nobody,
        ..incident()
    }
}
