//! Nothing at all is done: what a run shows by itself, on this machine, today.

use super::{Aim, Incident, LOAD, OnDisk, Whom};
use crate::slow_disk::Filesystem;

/// The control.
pub(super) fn incident() -> Incident {
    Incident {
        name: "calm",
        causes: &[],
        title: "Nothing happens",
        explanation: "A run of the same length in which nothing is disturbed. Whatever it shows is the machine's own noise, and what an incident shows \
            has to be a good deal more.",
        control: true,
        look_alike: false,
        aim: Aim::Latency,
        filesystem: Filesystem::Xfs,
        on_disk: OnDisk::Records,
        settings: &[],
        configs: &[],
        keys: None,
        history: Vec::new(),
        before: Vec::new(),
        during: Vec::new(),
        disturbance: "",
        signatures: Vec::new(),
        hurts: Whom::Nobody,
    }
}

/// What other incidents differ from.
pub(super) fn nothing() -> Incident {
    Incident { control: false, ..incident() }
}

/// The load's own topic, with so many MiB in it already.
pub(super) fn in_the_loads_topic(mebibytes: u64) -> super::History {
    super::History { topic: LOAD.to_owned(), partitions: 8, configs: Vec::new(), bytes: mebibytes << 20 }
}
