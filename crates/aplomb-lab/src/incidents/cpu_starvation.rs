//! Others want the processors: a look-alike.

use super::calm::nothing;
use super::{Action, Incident, Step, Whom};

/// Busy programs for each processor: as many as a machine has on which a batch job was started.
const BUSY: usize = 8;

pub(super) fn incident() -> Incident {
    Incident {
        name: "cpu-starvation",
        causes: &["cpu-starvation"],
        title: "Others want the processors",
        explanation: "Eight busy programs for each processor, with the broker's own priority: a backup that compresses, a build, a query beside the broker. \
            The disk is left alone.\n\n\
            A request goes through several threads, and each of them waits for a processor in its turn, in any broker. In the broker's own figures every stage grows, \
            as it does when a disk is slow.",
        look_alike: true,
        during: vec![Step::first(Action::Busy(BUSY))],
        disturbance: "eight busy programs want each processor",
        hurts: Whom::Everybody,
        ..nothing()
    }
}
