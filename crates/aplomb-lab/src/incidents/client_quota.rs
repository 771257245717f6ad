//! A quota of the broker's own for its producers: a look-alike.

use super::calm::nothing;
use super::{Action, Incident, Step, Whom};

/// A tenth of what the load's producers send.
const BYTES: u64 = 400_000;

pub(super) fn incident() -> Incident {
    Incident {
        name: "client-quota",
        causes: &["client-quota"],
        title: "A quota slows producers down",
        explanation: "Somebody gives the load's producers a quota, producer_byte_rate, of a tenth of what they send. The disk is left alone.\n\n\
            A client above its quota is answered at once, and then its connection is not read from for as long as it was too fast. To producers this is a slow broker: \
            records wait in their buffers and in sockets. In the broker no thread waits for anything.",
        look_alike: true,
        during: vec![Step::first(Action::ProduceQuota(BYTES))],
        disturbance: "a quota lets producers send a tenth of what they have",
        hurts: Whom::Everybody,
        ..nothing()
    }
}
