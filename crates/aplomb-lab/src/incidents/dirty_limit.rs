//! A frozen device with the limit of dirty pages near: for three seconds, and for twenty.

use super::calm::nothing;
use super::freeze::{for_two_thirds, twice};
use super::{Action, Incident, Step, Whom};
use crate::evidence::signatures::Signature;
use crate::record::Role;
use crate::slow_disk::Filesystem;

/// Whoever dirties a page waits until others are clean.
pub(super) const HELD_UP: Signature = Signature::wait(
    "a request handler is held up for its dirty pages",
    &[Role::Request],
    &[&["balance_dirty_pages"], &["vfs_write", "ksys_write", "vfs_writev"]],
);

/// Twice for three seconds.
pub(super) fn incident() -> Incident {
    let mut during = vec![Step::first(Action::DirtyLimit { limit: 8 << 20, background: 4 << 20 })];
    during.extend(twice());
    Incident {
        name: "dirty-limit",
        causes: &["dirty-limit"],
        title: "The limit of dirty pages",
        explanation: "The device answers nothing for 3 s, twice, and the machine takes only 8 MiB of dirty pages: what a machine with much memory meets \
            after a longer stall, or one with a strict vm.dirty_ratio at once.\n\n\
            Whoever dirties a page beyond the limit is put to sleep until enough has been written: every request handler that appends.",
        filesystem: Filesystem::Xfs,
        during,
        disturbance: "the device answers nothing for 3 s, twice; writers wait beyond a few MiB of dirty pages",
        signatures: vec![HELD_UP],
        hurts: Whom::Kafka,
        ..nothing()
    }
}

/// Once, for twenty seconds.
pub(super) fn long() -> Incident {
    let mut during = vec![Step::first(Action::DirtyLimit { limit: 16 << 20, background: 8 << 20 })];
    during.extend(for_two_thirds());
    Incident {
        name: "long-freeze",
        causes: &["long-freeze"],
        title: "The disk answers nothing for twenty seconds",
        explanation: "A network disk that fails over slowly: the device answers nothing for 20 s (two thirds of the disturbance), and the machine takes \
            16 MiB of dirty pages, so that the page cache has no more room after the first seconds.\n\n\
            Apache Kafka's request handlers then stand in their writes, and producers wait until the disk comes back. Aplomb takes records as long as \
            the disk's share of the tail has room: 256 MiB by default, which is a minute of this load. A stall that is longer than that is felt \
            by producers of this disk there too.",
        during,
        disturbance: "the device answers nothing for two thirds of the time; writers wait beyond a few MiB of dirty pages",
        ..incident()
    }
}
