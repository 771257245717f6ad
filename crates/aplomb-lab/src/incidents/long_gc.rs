//! A collector with much to copy: a look-alike, of brokers in a JVM.

use super::calm::nothing;
use super::{Action, Incident, Step, Whom};

pub(super) fn incident() -> Incident {
    Incident {
        name: "long-gc",
        causes: &["long-gc"],
        title: "The collector has much to copy",
        explanation: "A small program in the broker's JVM fills half of the heap with small objects that live for some seconds, a hundred MB of them a second, \
            as a cache or a plugin does. It reads and writes nothing, and the disk is left alone.\n\n\
            In a pause every thread of the JVM stands, and what is alive has to be copied: the more, the longer. A pause that waits for a disk (see gc-log) looks the same \
            from outside; in this one the collector works all the while. A broker without a JVM has no such thing.",
        look_alike: true,
        before: vec![Action::CompileLiveSet],
        during: vec![Step::first(Action::LiveSet)],
        disturbance: "half of the JVM's heap is alive and replaced all the time",
        hurts: Whom::Kafka,
        ..nothing()
    }
}
