//! The broker is killed under load, and started again on a disk that is slow.

use super::calm::{in_the_loads_topic, nothing};
use super::{Action, Aim, Incident, Step, Whom};
use crate::evidence::signatures::{Mark, Signature};
use crate::slow_disk::{Filesystem, Operation};

pub(super) fn incident() -> Incident {
    let slow = |operation| Action::slow(operation, 20);
    // What a container had in the page cache goes with its memory group.
    let during = [Action::Kill, Action::Evict(None), Action::StartAgain];
    let during = during.map(|action| Step::at(0.05, std::time::Duration::ZERO, action));
    Incident {
        name: "kill-9-recovery",
        causes: &["kill-9-recovery"],
        title: "Killed, and started again on a slow disk",
        explanation: "Every read and every write of the disk takes 20 ms, from before the load on. Under load the broker is killed with kill -9, what was in \
            the page cache is written and dropped, as when a container is killed for its memory, and the broker is started again with the same \
            directories.\n\n\
            Apache Kafka reads every segment again that it had not flushed, which by its defaults is the whole active segment, before it answers: it has to \
            wait for as many bytes as there are. Aplomb has what was not on the disk in its tail, in memory that outlives the process, and looks at the \
            end of each log only.\n\n\
            A factor of latencies says nothing of a broker that is away. What counts is how long it is until a record is acknowledged again, and \
            that every record which was acknowledged, before and after, is there when all is read back at the end.",
        aim: Aim::Recovery,
        filesystem: Filesystem::Xfs,
        history: vec![in_the_loads_topic(200)],
        before: vec![Action::Sync, slow(Operation::Read), slow(Operation::Write)],
        during: during.into(),
        disturbance: "the broker is killed and started again",
        signatures: vec![Signature {
            name: "unflushed segments are read again at the start",
            mark: Mark::LogLine(&[&["Recovering unflushed segment"]]),
        }],
        hurts: Whom::Kafka,
        ..nothing()
    }
}
