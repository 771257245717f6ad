//! A lagging consumer of another topic occupies a network thread, and with it everybody who shares
//! it.

use super::calm::nothing;
use super::inode_lock::SENDFILE;
use super::{Action, History, Incident, OLD, Step, Whom};
use crate::slow_disk::{Filesystem, Operation};

pub(super) fn incident() -> Incident {
    Incident {
        name: "network-thread",
        causes: &["network-thread"],
        title: "A lagging consumer starves the connections beside it",
        explanation: "A consumer reads an old topic from the beginning while producers write to another. A read takes 300 ms.\n\n\
            In Apache Kafka one network thread serves many connections, and hands old records to a consumer by sendfile. When that misses the page \
            cache, the thread waits for the disk, and so does every other connection that it serves, whatever they want. KAFKA-7504, open since 2018.",
        filesystem: Filesystem::Xfs,
        history: vec![History {
            topic: OLD.to_owned(),
            partitions: 8,
            configs: Vec::new(),
            bytes: 400 << 20,
        }],
        before: vec![Action::Sync, Action::Evict(Some(OLD))],
        during: vec![Step::first(Action::slow(Operation::Read, 300)), Step::first(Action::Lag(OLD))],
        disturbance: "reads take 300 ms, and a consumer reads an old topic",
        signatures: vec![SENDFILE],
        hurts: Whom::Kafka,
        ..nothing()
    }
}
