//! A frozen device with the limit of dirty pages near.

use super::calm::nothing;
use super::freeze::twice;
use super::{Action, Incident, Step, Whom};
use crate::disk::Filesystem;
use crate::evidence::signatures::Signature;
use crate::record::Role;

pub(super) fn incident() -> Incident {
    let mut during = vec![Step::first(Action::DirtyLimit { limit: 8 << 20, background: 4 << 20 })];
    during.extend(twice());
    Incident {
        name: "dirty-limit",
        title: "The limit of dirty pages",
        explanation: "The device answers nothing for 3 s, twice, and the machine takes only 8 MiB of dirty pages: what a machine with much memory meets \
            after a longer stall, or one with a strict vm.dirty_ratio at once.\n\n\
            Whoever dirties a page beyond the limit is put to sleep until enough has been written: every request handler that appends.",
        filesystem: Filesystem::Xfs,
        during,
        disturbance: "the device answers nothing for 3 s, twice; writers wait beyond a few MiB of dirty pages",
        signatures: vec![Signature::wait(
            "a request handler is held up for its dirty pages",
            &[Role::Request],
            &[&["balance_dirty_pages"], &["vfs_write", "ksys_write", "vfs_writev"]],
        )],
        hurts: Whom::Kafka,
        ..nothing()
    }
}
