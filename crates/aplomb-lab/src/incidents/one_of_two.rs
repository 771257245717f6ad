//! One of two log directories is on a disk that answers nothing for a while.

use super::calm::nothing;
use super::freeze::twice_in_a_commit;
use super::journal::JOURNAL;
use super::{Incident, OnDisk, Whom};
use crate::slow_disk::Filesystem;

pub(super) fn incident() -> Incident {
    Incident {
        name: "one-of-two-dirs",
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
