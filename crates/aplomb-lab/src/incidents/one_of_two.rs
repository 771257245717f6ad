//! One of two log directories is on a disk that answers nothing for a while.

use super::calm::nothing;
use super::freeze::{for_two_thirds, twice_in_a_commit};
use super::journal::JOURNAL;
use super::{Action, Aim, Incident, OnDisk, Step, Whom};
use crate::slow_disk::Filesystem;
use crate::workload::neighbour::Habit;

pub(super) fn incident() -> Incident {
    Incident {
        name: "one-of-two-dirs",
        causes: &["one-of-two-dirs"],
        title: "One of two log directories stalls",
        explanation: "Half of the partitions are in a log directory on ext4 that answers nothing for 3 s, twice; the other half is on a disk that nobody \
            disturbs.\n\n\
            A request handler that waits for the one disk serves nobody of the other, and each producer's connection waits behind its oldest request.",
        filesystem: Filesystem::Ext4,
        on_disk: OnDisk::OneOfTwo,
        during: twice_in_a_commit(),
        disturbance: "the disk of one of two log directories answers nothing for 3 s, twice",
        signatures: vec![JOURNAL],
        hurts: Whom::Kafka,
        ..nothing()
    }
}

/// The same, and many producers send it large batches: producers of the other directory are not to
/// miss what is held for them.
pub(super) fn crowded() -> Incident {
    Incident {
        name: "crowd",
        causes: &["crowd"],
        title: "Large batches for a log directory that stalls",
        explanation: "Eighty producers send batches of 1 MB, 40 MB a second and up to five of each on their way, to the partitions of a log directory on \
            ext4 that answers nothing for 3 s, twice. The figures are those of producers of small records whose partitions are in the other directory.\n\n\
            A broker that keeps requests in memory until their disk answers runs out of request handlers, or of memory for requests, and then reads \
            from no connection.",
        aim: Aim::Neighbours,
        disturbance: "the disk of one of two log directories answers nothing for 3 s, twice, while eighty producers send it batches of 1 MB",
        ..incident()
    }
}

/// The same for twenty seconds.
pub(super) fn crowded_for_long() -> Incident {
    let mut during = vec![Step::first(Action::Neighbour(Habit::Marks))];
    during.extend(for_two_thirds());
    Incident {
        name: "long-crowd",
        causes: &["long-crowd"],
        title: "Large batches for a log directory that stalls for twenty seconds",
        during,
        disturbance: "the disk of one of two log directories answers nothing for two thirds of the time, while eighty producers send it batches of 1 MB",
        ..crowded()
    }
}
