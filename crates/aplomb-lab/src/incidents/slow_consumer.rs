//! A consumer that takes nothing: a look-alike.

use super::calm::nothing;
use super::{Action, Incident, LOAD, Step, Whom};

pub(super) fn incident() -> Incident {
    Incident {
        name: "slow-consumer",
        causes: &["slow-consumer"],
        title: "A consumer takes nothing of what it has asked for",
        explanation: "A consumer asks for 50 MB of the topic that is written to, and reads nothing of the answer: it works on its last records, or stands in a pause \
            of its own. The disk is left alone.\n\n\
            The answer fills two sockets, and the rest of it waits. In the broker's figures that is a slow fetch, with most of its time in ResponseSendTimeMs; \
            nobody else waits for it, and no latency of producers may suffer.",
        look_alike: true,
        during: vec![Step::first(Action::Pause { topic: LOAD, partitions: 8 })],
        disturbance: "a consumer asks for 50 MB and reads nothing",
        hurts: Whom::Nobody,
        ..nothing()
    }
}
